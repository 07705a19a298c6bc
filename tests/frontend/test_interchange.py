"""Every row of docs/interchange.md is true: what is shared has one address, what is copied two."""

import importlib
import warnings

import numpy as np
import pytest

import flatweave as fw
from flatweave.frontend.values.arrow_interface import capsules, chunks_of, numbers
from tests.frontend.interchange import COPIED, IN, OUT, SHARED, table
from tests.shape.tree import ROOT

PAGE = (ROOT / "docs" / "interchange.md").read_text(encoding="utf-8")
GIVEN = ("rows", "numbers", "image", "ys")
SLOW = ("jax", "torch", "numba")
LIBRARIES = {row.library for row in (*IN, *OUT)}


class Dlpack:
    """Another library's array, which has DLPack's interface and no other."""

    def __init__(self, values):
        self.values = values

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


class Arrow:
    """Another library's column, which has Arrow's interface and no other."""

    def __init__(self, values):
        self.values = values

    def __arrow_c_array__(self, requested_schema=None):
        return capsules(numbers(self.values))


class Taken:
    """A consumer of Arrow's interface."""

    def __init__(self, given):
        self.given = given
        chunk = next(chunks_of(self))
        self.values = chunk.buffer(1, np.float64, chunk.offset, chunk.length)

    def __arrow_c_array__(self):
        return self.given


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """What the code of a row may use."""
    file = tmp_path_factory.mktemp("interchange") / "numbers"
    np.arange(6.0).tofile(file)
    ys = fw.iota(6) * 1.0
    return {
        "np": np, "fw": fw, "Dlpack": Dlpack, "Arrow": Arrow, "Taken": Taken, "file": file,
        "ys": ys, "rows": fw.ragged(ys, lengths=[2, 0, 4]), "numbers": fw.iota(6, fw.i32),
        "at": fw.iota(6, fw.i32), "ends": fw.iota(7, fw.i32),
        "image": fw.full((3, 4), 7, dtype=fw.u8),
    }  # fmt: skip


@pytest.fixture(scope="module")
def identity():
    """A compiled function that gives back what it is given."""
    return fw.jit(lambda xs: xs)


def imported(row, names):
    """The names of a row, with its libraries; the test is skipped where one is missing."""
    found = dict(names)
    for name in row.modules.split():
        pytest.importorskip(name)
        found[name.partition(".")[0]] = importlib.import_module(name.partition(".")[0])
    return found


def how(a, b):
    """Whether two arrays are one memory."""
    return SHARED if np.shares_memory(np.asarray(a), np.asarray(b)) else COPIED


def rows(table):
    """The rows as parameters; libraries that take seconds to load are for the long run of tests."""
    slow = pytest.mark.slow
    return [pytest.param(row, marks=slow if row.modules in SLOW else ()) for row in table]


@pytest.mark.parametrize("row", rows(IN), ids=lambda row: f"{row.library}: {row.what}")
def test_what_comes_in(row, names, identity):
    """The values are theirs, and so is the memory where the row says so."""
    known = imported(row, names)
    known["xs"] = xs = eval(row.xs, known)
    ours = eval(row.ours, known)
    memory = eval(row.memory, known)

    assert isinstance(ours, fw.Array)
    assert how(ours, memory) == row.taken
    if how(ours, memory) == SHARED:
        assert not np.asarray(ours).flags.writeable
    if row.passed in (SHARED, COPIED):
        found = identity(xs)
        assert how(found, memory) == row.passed
        np.testing.assert_array_equal(np.asarray(found).view(np.asarray(ours).dtype), ours)
    elif row.passed == "refused":
        with pytest.raises(fw.ArgumentError):
            identity(xs)


@pytest.mark.parametrize("row", rows(OUT), ids=lambda row: f"{row.library}: {row.zs}")
def test_what_goes_out(row, names):
    """The values are ours, and so is the memory where the row says so."""
    known = imported(row, names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch says that it can write to what it must not
        known["zs"] = eval(row.zs, known)
    memory = np.asarray(eval(row.memory, known))
    name = next(name for name in GIVEN if name in row.zs)
    given = names[name].values if name == "rows" else names[name]

    assert how(memory, given) == row.taken
    np.testing.assert_array_equal(memory.reshape(-1), np.asarray(given).reshape(-1))


def test_the_page_has_these_rows():
    """Made by python -m tests.frontend.interchange."""
    assert table() in PAGE


def test_there_are_sixteen_libraries():
    """That is how many the page speaks of, in one direction or both."""
    assert len(LIBRARIES) == 16


@pytest.mark.parametrize("xs", [np.arange(3), np.ones(3) * 1j, np.ones(3, np.float16)])
def test_python_calls_an_array_by_its_public_name(xs):
    """Messages that are not ours name the class that users know."""
    array = fw.asarray(xs)

    for ask in (lambda: hash(array), lambda: setattr(array, "length", 3), lambda: array.length):
        with pytest.raises((TypeError, AttributeError)) as caught:
            ask()
        assert "Host" not in str(caught.value)
        assert "Array" in str(caught.value)
    assert not hasattr(array, "length")
