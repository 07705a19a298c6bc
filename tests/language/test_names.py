"""What `import flatweave` and `from flatweave import *` bring."""

import builtins
import re
import types

import flatweave as fw
from tests.shape.tree import ROOT


def test_a_star_import_hides_no_builtin():
    """`sum`, `map` and their like stay Python's; they are reached as fw.sum."""
    found: dict[str, object] = {}
    exec("from flatweave import *", found)

    assert not {name for name in found if hasattr(builtins, name)} - {"__builtins__"}
    assert found["scan"] is fw.scan
    assert callable(fw.sum)


def test_every_public_name_is_in_the_star_import():
    """But for those of builtins."""
    public = {name for name, value in vars(fw).items() if name[0] != "_" and callable(value)}

    assert {name for name in public - set(fw.__all__) if not hasattr(builtins, name)} == set()


def test_dir_lists_what_users_call():
    """Nothing internal: the star import's names, those of builtins, three modules."""
    beside = {name for name in dir(fw) if hasattr(builtins, name)}

    modules = {name for name in dir(fw) if isinstance(getattr(fw, name), types.ModuleType)}
    assert modules == {"fft", "linalg", "random"}
    assert set(dir(fw)) - beside == set(fw.__all__)
    assert beside <= vars(fw).keys()


def test_the_language_page_names_everything():
    """The first column of each of its tables: what `dir(fw)` gives, each name once."""
    page = (ROOT / "docs" / "language.md").read_text(encoding="utf-8")
    cells = [line.split(" | ")[0] for line in page.splitlines() if line.startswith("| `")]
    named = [name for cell in cells for name in re.findall(r"`(\w+)", cell)]

    assert sorted(named) == dir(fw)


def test_submodules_stay_importable():
    """What `dir` leaves out is there for whoever asks."""
    from flatweave.array_ir import syntax

    assert fw.array_ir.syntax is syntax
