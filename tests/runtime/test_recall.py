"""A second process runs what the first one compiled, and neither lowers nor imports LLVM."""

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from flatweave.runtime.cache import MAGIC, seal
from flatweave.runtime.systems import system
from tests.quick import every

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [
    pytest.mark.skipif(os.uname().machine != "x86_64", reason="images are for x86-64"),
    pytest.mark.skipif(not system().has_images, reason="the portable runtime maps no images"),
]

TOLD = """
    import sys
    import numpy as np
    import flatweave as fw
    def opened():
        compiler = ("flatweave.pipeline", "flatweave.lower", "flatweave.codegen", "llvmlite")
        return any(name in sys.modules for name in compiler)
"""

PROGRAMS = """
    from tests.runtime.kept_programs import expanded, softmax
    def branches(xs):
        return fw.cond(fw.sum(xs) > 0, lambda: fw.sort(xs), lambda: fw.cumsum(xs))
    xs = np.sin(np.arange(1025.0))
    pairs = (xs, np.arange(1025, dtype=np.int8))
    rows = fw.ragged([list(xs[:300]), [], [1.0], [np.nan, 2.0]])
    results = [
        fw.jit(lambda x, y: fw.sum(x * y))(xs, xs[::-1]),
        fw.jit(lambda x: fw.sort(x))(xs),
        fw.jit(lambda x: fw.filter(lambda v: v > 0.5, x))(xs),
        fw.jit(lambda k: fw.histogram(50, k))(np.arange(1025) % 50),
        fw.jit(lambda rows: fw.map(softmax, rows))(rows).values,
        fw.jit(expanded)(np.arange(129)),
        fw.jit(branches)(xs), fw.jit(branches)(-xs - 2),
        fw.jit(lambda p: fw.scan(lambda a, b: (a[0] * b[0], a[1] + b[1]), (1.0, 0), p))(pairs)[0],
        fw.jit(lambda x: fw.max(x, initial=-1.0))(xs[:0]),
        fw.jit(lambda n: fw.while_loop(lambda s: s < n, lambda s: s * 3 + 1, 0))(10**5),
        fw.map(lambda x: fw.erf(x) * 1e-300 + np.nan_to_num(-0.0), xs),
        fw.sum(xs) + fw.cumsum(xs)[1023],
    ]
    print(opened(), [np.asarray(result).tobytes().hex() for result in results])
"""


@pytest.fixture
def run(tmp_path):
    """Run a script in a separate process, with a cache of this test: its output."""

    def ran(script, path=ROOT, **environment):
        whole = textwrap.dedent(TOLD) + textwrap.dedent(script)
        file = tmp_path / "script.py"
        file.write_text(whole, encoding="utf-8")
        home = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "FLATWEAVE_VERIFY": "0"}
        done = subprocess.run(
            [sys.executable, str(file)], cwd=tmp_path, capture_output=True, text=True, timeout=150,
            env=os.environ | home | {"PYTHONPATH": str(path)} | environment,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    return ran


def test_a_second_process_does_without_the_compiler(run):
    """All kinds of programs, branches and kernels made later among them: the same bits."""
    first, second = run(PROGRAMS), run(PROGRAMS)

    assert first.startswith("True [")
    assert second == first.replace("True", "False")


SIZES = """
    f = fw.jit(lambda xs: xs * 3 + 1)  # a kernel that goes around the caches for long arrays
    print([float(f(np.arange(float(n)))[-1]) for n in COUNTS], opened())
"""


def test_a_kernel_that_no_process_has_needed_is_made_and_kept(run):
    """Other sizes ask for other kernels: one process imports the compiler, the next does not."""
    small, both = SIZES.replace("COUNTS", "[2]"), SIZES.replace("COUNTS", "[2, 8_000_001]")
    large = "[4.0, 24000001.0]"

    assert [run(small), run(small)] == ["[4.0] True\n", "[4.0] False\n"]
    assert [run(both), run(both)] == [f"{large} True\n", f"{large} False\n"]


FAULT = """
    def pick(xs, at):
        ys = xs * 2
        return ys[at]
    f = fw.jit(pick)
    print(float(f(np.arange(5.0), 3)))
    try:
        f(np.arange(5.0), 7)
    except fw.IndexOutOfBounds as error:
        print(error)
    print(opened())
"""


def test_messages_show_the_line_of_this_process(run):
    """What is kept knows the operation, not the file: the line may have moved meanwhile."""
    first, second, moved = run(FAULT), run(FAULT), run("# above\n" + textwrap.dedent(FAULT))
    line = 1 + (textwrap.dedent(TOLD) + textwrap.dedent(FAULT)).splitlines().index(
        "    return ys[at]"
    )

    assert f"script.py:{line}:    return ys[at]" in first
    assert second == first.replace("True", "False")
    assert moved == second.replace(f"script.py:{line}:", f"script.py:{line + 1}:")


STAGES = """
    f = fw.jit(lambda xs: fw.sum(fw.filter(lambda x: x > 3, xs)))
    xs = np.arange(10.0)
    print(float(f(xs)), opened())
    with fw.profile() as p:
        f(xs)
    print(f._repr_html_() is None, opened())
    stages = f.stages(xs)
    print(stages.cpu, opened())
    print(stages.kernels, sorted(stages.text), stages.launched, stages.notes, stages.manifest)
    print(stages.text["array"], stages.text["kernel"], len(stages.text["asm"]) > 100)
    print(float(f(xs)), sorted(stages.seconds) != [], opened())
    print([(row["kernel"], row["bytes"], row["launches"]) for row in p.rows()])
"""


def test_stages_of_a_recalled_program(run):
    """The compiler is imported for them, and they say what they say of a program it made."""
    first, second = run(STAGES).splitlines(), run(STAGES).splitlines()

    assert (first[0], second[0]) == ("39.0 True", "39.0 False")
    assert (first[1], second[1]) == ("False True", "True False")
    assert first[2].split()[0] == second[2].split()[0]
    assert second[2].split()[1] == "False"
    assert second[3:] == first[3:]
    assert second[-1].endswith(", 80, 1)]")


def files(folder):
    """What is kept, by name."""
    return {path.name: path for path in (folder / "cache" / "flatweave").glob("*.fwc")}


SELDOM = [pytest.param(wrong, marks=pytest.mark.slow)
          for wrong in ("gone", "cut", "empty", "numbers", "damaged")]  # fmt: skip


@pytest.mark.parametrize("wrong", ["garbage", *SELDOM])
def test_what_is_wrong_is_made_anew(run, tmp_path, wrong):
    """Each file sealed for its name with other content, or not sealed: the same results."""
    first = run(PROGRAMS)
    for name, path in files(tmp_path).items():
        key, payload = name.removesuffix(".fwc"), path.read_bytes()[len(MAGIC) + 32 :]
        if wrong == "gone":
            path.unlink()
        elif wrong == "damaged":
            path.write_bytes(path.read_bytes()[:-9] + b"\1" * 9)
        else:
            path.write_bytes(seal(key, {
                "garbage": b"\xfe what is this" * 40, "empty": b"",
                "numbers": b"\xe9\x01\x00\x00\x00", "cut": payload[: len(payload) // 2],
            }[wrong]))  # fmt: skip

    assert run(PROGRAMS) == first
    assert run(PROGRAMS) == first.replace("True", "False")


ONE = """
    print(float(fw.jit(lambda xs: fw.sum(xs) * 5)(np.arange(4.0))), opened())
"""


@pytest.fixture
def copied(tmp_path):
    """A copy of the package whose files may change."""
    shutil.copytree(
        ROOT / "flatweave", tmp_path / "copy" / "flatweave",
        ignore=shutil.ignore_patterns("__pycache__"),
    )  # fmt: skip
    return tmp_path / "copy"


def test_versions_of_the_sources_do_not_mix(run, copied):
    """A file that changes in place: what was compiled before is not recalled."""
    changed = copied / "flatweave" / "passes" / "fuse.py"
    assert [run(ONE, copied), run(ONE, copied)] == ["30.0 True\n", "30.0 False\n"]
    times, text = changed.stat(), changed.read_text(encoding="utf-8")
    changed.write_text(text.replace("Fuse", "fUSE"), encoding="utf-8")
    os.utime(changed, ns=(times.st_atime_ns, times.st_mtime_ns))  # even of one size and time

    assert [run(ONE, copied), run(ONE, copied)] == ["30.0 True\n", "30.0 False\n"]


def test_what_two_versions_made_together_is_not_kept(run, copied):
    """A file changes between the import and the first call: the compiler is of the new one."""
    changed = copied / "flatweave" / "passes" / "fuse.py"
    meanwhile = f"""
        with open({str(changed)!r}, "a") as file:
            file.write("# changed\\n")
    """

    assert run(textwrap.dedent(meanwhile) + textwrap.dedent(ONE), copied) == "30.0 True\n"
    assert run(ONE, copied) == "30.0 True\n"


@pytest.mark.parametrize("switch", every(3, [
    {"FLATWEAVE_VERIFY": "1"}, {"FLATWEAVE_NO_CACHE": "1"}, {"FLATWEAVE_DUMP": "fuse"},
    {"FLATWEAVE_TIME": "1"}, {"FLATWEAVE_STOP_AFTER": "fuse"}, {"FLATWEAVE_CPU": "x86-64-v2"},
    {"FLATWEAVE_SCHEDULE": "store=plain"}, {"FLATWEAVE_TARGET": "interp"},
]), ids=lambda switch: next(iter(switch)))  # fmt: skip
def test_switches_that_the_compiler_reads(run, switch):
    """They ask for another program, or want to see the compiler at work."""
    run(ONE)

    assert run(ONE, **switch) == "30.0 True\n"
    assert run(ONE) == "30.0 False\n"


def test_checks_and_constants_are_part_of_the_name(run):
    """Programs that differ in one of them alone are different programs."""
    script = """
        g = fw.jit(lambda xs, at: xs[at] + CONSTANT, checks=CHECKS)
        print(float(g(np.arange(3.0), 1)), opened())
    """
    variants = {
        textwrap.dedent(script).replace("CONSTANT", constant).replace("CHECKS", checks): said
        for constant, said in [("0.0", "1.0"), ("-0.0", "1.0"), ("0.5", "1.5")]
        for checks in (["True", "False"] if constant == "0.0" else ["True"])
    }
    for text, said in variants.items():
        assert run(text) == f"{said} True\n"

    everything = "\n".join(variants)
    assert run(everything) == "".join(f"{said} False\n" for said in variants.values())


PARTS = """
    from flatweave.runtime import support
    f, xs = fw.jit(lambda x: fw.sum(x * 3)), np.arange(5.0)
    parts = [(float(f(xs)), sorted(support._PARTS)) for _ in range(2)]
    print(parts, opened())
"""


def test_the_code_of_calls_is_made_when_a_process_enters_its_first_call(run):
    """Its second call of a signature; the next process maps it."""
    parts = "[(30.0, ['support']), (30.0, ['calls', 'support'])]"

    assert [run(PARTS), run(PARTS)] == [f"{parts} True\n", f"{parts} False\n"]
