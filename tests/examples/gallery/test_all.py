"""examples/gallery: every program agrees with what its author would have used before."""

import numpy as np
import pytest

import flatweave as fw
from tests.shape.tree import ROOT

FOLDER = ROOT / "examples" / "gallery"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))
SIZES = {  # few enough for loops in Python; at one element, and past a block where that is cheap
    "alignment": (1, 20),
    "byte_pairs": (0, 1, 400),
    "csv_columns": (0, 1, 130),
    "escape_times": (1, 30),
    "json_index": (0, 1, 130),
    "labelling": (1, 40),
    "life": (1, 40),
    "log_lines": (0, 1, 130),
    "box_filter": (1, 40),
    "minhash": (1, 12),
    "option": (1000, 3000),
    "polygons": (1, 1025),
    "queens": (0, 1, 7),
    "top_k": (1, 129),
}
ANY = (0, 1, 129, 1025)
LONG = ("alignment", "option")  # take a second and more to compile
SOME = [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in NAMES]


def loaded(example, name):
    """A program, where what its author would have used before is installed."""
    if "scipy" in (FOLDER / f"{name}.py").read_text(encoding="utf-8"):
        pytest.importorskip("scipy")
    return example(f"gallery.{name}")


def leaves(value):
    """The arrays of a result."""
    parts = value if isinstance(value, tuple) else (value,)
    return [np.asarray(part) for part in parts]


def same(ours, theirs):
    """Whether the same arrays were found, floats but for rounding."""
    pairs = list(zip(leaves(ours), leaves(theirs), strict=True))
    assert [a.shape for a, _ in pairs] == [b.shape for _, b in pairs]
    return all(np.allclose(a, b, rtol=1e-9, atol=1e-11) for a, b in pairs)


def agrees(module, args):
    """Whether the program finds for these arguments what was found before."""
    ours, theirs = module.program(*args), module.before(*args)
    own = getattr(module, "agree", same)
    return (
        own(ours, theirs, *args) if module.__name__.endswith("word_counts") else own(ours, theirs)
    )


@pytest.mark.sampled
@pytest.mark.filterwarnings("ignore:overflow encountered")
@pytest.mark.parametrize("name", SOME)
def test_a_program_agrees_with_what_was_used_before(example, name):
    """From no element, where there may be none, to more than one block."""
    module = loaded(example, name)

    for size in SIZES.get(name, ANY):
        assert agrees(module, module.inputs(size)), size


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:overflow encountered")
@pytest.mark.parametrize("name", NAMES)
def test_the_interpreter_agrees(example, name):
    """The definition of the language says the same on small input."""
    module = loaded(example, name)
    size = min(max(SIZES.get(name, ANY)), 40)

    with fw.target("interp"):
        assert agrees(module, module.inputs(200 if name == "option" else size))


@pytest.mark.parametrize("name", SOME)
def test_it_shows_a_result(example, capsys, name):
    """`python examples/gallery/NAME.py` prints a few lines."""
    loaded(example, name).main()

    assert 1 <= len(capsys.readouterr().out.splitlines()) <= 5
