"""Locations: the user's line, the caret below the call, and locations without source."""

import linecache
import os
import pickle

from flatweave.base.source import (
    UNKNOWN,
    Location,
    characters,
    function_location,
    shown_path,
    user_location,
)

# `inner` and `outer` play our own functions: their frames must be passed over
OURS: dict[str, object] = {"__name__": "flatweave.frontend.functions", "take": user_location}
exec("def inner(*_): return take()\ndef outer(*_): return inner()", OURS)
outer = OURS["outer"]


def run(text: str, file: str) -> Location:
    """Run a user's text as if it stood in `file`; it leaves a location in `here`."""
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope = {"__name__": "user", "outer": outer}
    exec(compile(text, file, "exec"), scope)
    return scope["here"]


def test_the_user_is_the_innermost_frame_that_is_not_ours():
    """However deep the call goes inside flatweave, the user's own line is named."""
    here = outer()

    assert here.file.endswith("test_source.py")
    assert here.text.strip() == "here = outer()"
    assert here.text[here.column : here.end_column] == "outer()"
    assert here.function == "test_the_user_is_the_innermost_frame_that_is_not_ours"


def test_frames_of_python_are_not_the_users():
    """`random.choice(tracer)` is called by the user; a module of the user's may have that name."""
    scope = {"__name__": "random", "outer": outer}
    exec(compile("here = outer()", os.__file__.replace("os.py", "random.py"), "exec"), scope)
    assert scope["here"].file.endswith("test_source.py")

    exec(compile("here = outer()", "mine/random.py", "exec"), scope)
    assert scope["here"].file == "mine/random.py"


def test_the_caret_stands_below_the_call():
    """Of two calls on one line the underlined one is the one at fault."""
    here = run("def f(x):\n    return 1 + outer(x) * 2\nhere = None\n", "example.py")
    assert here is None

    here = run("xs = []\nhere = (1,   outer(xs), 2)[1]\n", "example.py")

    assert here.excerpt() == (
        "example.py:2:    here = (1,   outer(xs), 2)[1]\n"
        "                              ^~~~~~~~~"
    )


def test_indentation_is_cut_off():
    """A deeply indented line is shown from its first character."""
    here = run("if True:\n        here = outer()\n", "example.py")

    assert here.excerpt() == "example.py:2:    here = outer()\n                        ^~~~~~~"


def test_a_call_over_several_lines_is_underlined_to_the_end_of_its_first():
    """The first line of the call is the one shown."""
    here = run("here = outer(1,\n  2,\n)\n", "example.py")

    assert here.excerpt() == "example.py:1:    here = outer(1,\n                        ^~~~~~~~"


def test_columns_count_characters():
    """Letters that take several bytes do not push the caret away."""
    here = run("größe = 'äöü'; here = outer(größe)\n", "example.py")

    assert here.text[here.column : here.end_column] == "outer(größe)"
    assert characters("äx", 2) == 1


def test_a_place_without_source_shows_file_and_line():
    """A REPL or `exec` has no text to look at."""
    scope = {"__name__": "__main__", "outer": outer}
    exec(compile("\n\nhere = outer()", "<stdin>", "exec"), scope)

    assert scope["here"].excerpt() == "<stdin>:3"


def test_generated_code_of_ours_is_not_the_user():
    """The `__init__` that a dataclass of ours generates has no file."""
    exec(compile("def made(): return take()", "<string>", "exec"), OURS)

    assert OURS["made"]().file.endswith("test_source.py")


def test_paths_below_the_working_directory_are_short(tmp_path, monkeypatch):
    """What the user can open from where he stands is shown as he would type it."""
    monkeypatch.chdir(tmp_path)

    assert shown_path(str(tmp_path / "a" / "b.py")) == "a/b.py"
    assert shown_path("/elsewhere/b.py") == "/elsewhere/b.py"
    assert shown_path("<stdin>") == "<stdin>"


def test_locations_are_values():
    """Two locations that are the same are equal, also after pickling."""
    here = outer()

    assert pickle.loads(pickle.dumps(here)) == here
    assert hash(here) == hash(Location(*here.spot))
    assert here != outer()
    assert str(Location("a.py", 3)) == "a.py:3"
    assert not UNKNOWN.is_known


def test_a_function_has_a_place_too():
    """Messages can say where an operator was defined."""
    place = function_location(run.__code__)

    assert place.text.startswith("def run(")
    assert place.excerpt().endswith("    def run(text: str, file: str) -> Location:")


def test_the_line_is_that_of_the_file_as_it_is_now(tmp_path):
    """A file that is edited and reloaded shows its new lines, not those that were read before."""
    file = tmp_path / "edited.py"

    def reloaded(text: str) -> tuple[Location, Location]:
        file.write_text(text)
        scope = {"__name__": "user", "outer": outer}
        exec(compile(text, str(file), "exec"), scope)
        return scope["here"], function_location(scope["f"].__code__)

    before = [place.text for place in reloaded("here = outer()\ndef f(): pass\n")]
    after = [place.text for place in reloaded("# longer\nhere = outer(1 + 2)\ndef f(x): pass\n")]

    assert before == ["here = outer()", "def f(): pass"]
    assert after == ["here = outer(1 + 2)", "def f(x): pass"]
