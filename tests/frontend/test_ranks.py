"""Calls outside a trace: arrays of any rank share a program where the meaning permits."""

import gc
import weakref

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.errors import DTypeError, ShapeError
from flatweave.frontend.call import eager
from flatweave.frontend.call.direct import Known
from flatweave.frontend.call.operation import OPERATIONS

SHAPES = [(12,), (3, 4), (1, 12), (2, 1, 6), (2, 3, 2), (1, 1, 1, 12)]


@pytest.fixture
def compiled(monkeypatch):
    """The names of what is compiled; nothing has been before."""
    names: list[str] = []
    real = eager.compile_program

    def compile_program(program, *rest):
        names.append(program.name)
        return real(program, *rest)

    monkeypatch.setattr(eager, "compile_program", compile_program)
    monkeypatch.setattr(eager, "_KNOWN", Known())
    monkeypatch.setattr(eager, "_entries", {})
    monkeypatch.setattr(eager, "_programs", {})
    for each in OPERATIONS.values():
        each.direct.forget()
    return names


def numbers(shape, start=0):
    return np.arange(start, start + np.prod(shape), dtype=np.float64).reshape(shape)


def same(ours, theirs):
    """Equal in values, shape and dtype, and nobody may write."""
    assert isinstance(ours, fw.Array)
    np.testing.assert_array_equal(np.asarray(ours), theirs, strict=True)
    assert not np.asarray(ours).flags.writeable
    assert np.asarray(ours).flags.c_contiguous


def test_elementwise_calls_of_one_shape_are_one_program(compiled):
    """Arrays of NumPy and ours, and numbers; each call twice, the second found quickly."""
    for shape in SHAPES * 2:
        a, b = numbers(shape), fw.asarray(numbers(shape, 5))
        same(fw.subtract(a, b), a - np.asarray(b))
        same(fw.subtract(b, a), np.asarray(b) - a)
        same(b - 2.5, np.asarray(b) - 2.5)
        same(fw.where(a > 3, a, b), np.where(a > 3, a, np.asarray(b)))

    assert compiled == ["sub", "sub", "where"]


def test_reductions_of_all_elements_are_one_program(compiled):
    """In flat order: positions are those of the flat array."""
    for shape in SHAPES * 2:
        xs = numbers(shape) % 7
        assert float(fw.sum(xs)) == xs.sum()
        assert int(fw.argmax(xs)) == xs.argmax()
        assert float(fw.asarray(xs).max()) == xs.max()

    assert sorted(compiled) == ["argmax", "max", "sum"]


def test_reductions_along_the_last_axis_are_one_program(compiled):
    """However the axis is written."""
    for shape in SHAPES[1:] * 2:
        xs = numbers(shape) % 5
        for axis in (-1, len(shape) - 1):
            same(fw.sum(xs, axis=axis), xs.sum(axis=axis))
            same(fw.sum(xs, axis), xs.sum(axis=axis))
            same(fw.argmin(xs, axis=axis), xs.argmin(axis=axis))

    assert sorted(compiled) == ["argmin", "sum"]


def test_reductions_that_ask_for_more_are_as_they_are_written(compiled):
    """Axes that stay, other axes, an initial element, a mask, another dtype."""
    xs = numbers((2, 3, 4))
    mask = xs % 2 == 0
    for named in (
        {"axis": -1, "keepdims": True}, {"keepdims": True}, {"axis": 0}, {"axis": (0, 2)},
        {"initial": 3.0}, {"where": mask}, {"where": False}, {"axis": 2, "where": mask},
        {"axis": -1, "initial": 2.0},
    ):  # fmt: skip
        np.testing.assert_array_equal(np.asarray(fw.sum(xs, **named)), xs.sum(**named), strict=True)
    assert fw.sum(xs, dtype=fw.f32).dtype == np.float32


@pytest.mark.parametrize("first", [((3, 4), (3, 4)), ((3, 4), (1, 4))], ids=["equal", "broadcast"])
def test_arrays_that_are_broadcast_stay_as_they_are(compiled, first):
    """Whatever was compiled before them for the same ranks."""
    pairs = [first, ((3, 4), (3, 1)), ((3, 4), (3, 4)), ((3, 4), (1, 4)), ((4, 3), (4, 3))]
    for left, right in pairs:
        a, b = numbers(left), numbers(right, 3)
        same(fw.subtract(a, b), a - b)
    a, row = numbers((3, 4)), [1.0, 2.0, 3.0, 4.0]
    same(fw.subtract(a, np.array(row)), a - row)
    same(fw.subtract(a, row), a - row)
    same(fw.subtract(a, np.float64(2)), a - 2)
    same(fw.subtract(a, np.array(2.0)), a - 2)


def test_a_list_as_long_as_the_array_is_no_part_of_it(compiled):
    """It is broadcast along the last axis, or does not fit."""
    a, row = numbers((1, 12)), list(range(12))
    same(fw.subtract(a, row), a - np.array(row))
    with pytest.raises(ShapeError):
        fw.subtract(numbers((3, 4)), row)


@pytest.mark.parametrize(
    "change",
    [lambda xs: xs.T, lambda xs: xs[::-1], lambda xs: xs[:, ::2], np.asfortranarray,
     lambda xs: xs.astype(">f8")],
    ids=["transposed", "reversed", "strided", "Fortran", "other byte order"],
)  # fmt: skip
def test_arrays_that_are_not_contiguous_are_read_in_their_order(compiled, change):
    """As NumPy reads them, not in the order of memory."""
    xs = change(numbers((3, 4)))
    native = xs.astype(np.float64)
    for _ in range(2):
        same(fw.subtract(xs, xs[::-1]), native - native[::-1])
        same(fw.sum(xs, axis=-1), native.sum(axis=-1))
        assert int(fw.argmax(xs)) == native.argmax()


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (2, 0, 3), (0, 0)])
def test_arrays_without_elements(compiled, shape):
    """Sums of no elements are 0; results have the shape all the same."""
    xs = np.zeros(shape)
    same(fw.subtract(xs, 1.0), xs - 1)
    same(fw.sum(xs, axis=-1), xs.sum(axis=-1))
    assert float(fw.sum(xs)) == 0


def test_errors_tell_of_the_arrays_as_they_are(compiled):
    """Though another program was tried first, and one of equal shapes has been compiled."""
    a = numbers((3, 4))
    same(fw.subtract(a, a), a - a)
    with pytest.raises(ShapeError, match=r"\(3, 4\)|\[3, 4\]|3 and 5|4 and 5"):
        fw.subtract(a, numbers((3, 5)))
    with pytest.raises(DTypeError) as failure:
        fw.bitwise_and(a, a)
    assert "12" not in str(failure.value)


def test_a_call_keeps_no_arrays(compiled):
    """What is remembered of a call are dtypes and ranks."""

    a = np.ones((30, 40))
    gone = weakref.ref(a)
    fw.subtract(a, a)
    del a
    gc.collect()

    assert gone() is None
