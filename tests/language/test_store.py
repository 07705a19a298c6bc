"""fw.store: the value itself, in memory, whatever reads it and wherever it is."""

import numpy as np
import pytest

import flatweave as fw
from tests.language.agreement import SIZES, agree, same

ROWS = fw.ragged([[3.0, 1.0], [], [2.0], [4.0, 5.0, 6.0]])
MATRIX = np.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize("n", SIZES)
def test_the_value_is_the_same(target, n):
    """Of arrays of any length, read in order, elsewhere, and by a filter."""
    x = np.arange(n) % 7

    def program(x):
        y = fw.store(x * 3)
        return y, fw.sum(y), fw.reverse(y), fw.filter(lambda v: v > 5, y)

    y = x * 3
    agree(program, (y, y.sum(), y[::-1], y[y > 5]), x)


def test_structures(target):
    """Each array in a structure; numbers, complex ones and floats of 16 bits are themselves."""
    x = np.arange(5.0)
    halves = x.astype(np.float16)
    agree(lambda x: fw.store({"a": x + 1, "b": (2 * x, 3)}), {"a": x + 1, "b": (2 * x, 3)}, x)
    agree(lambda x: fw.store(x * 1j)[1:], x[1:] * 1j, x)
    agree(lambda h: fw.store(h[1:])[1:], halves[2:], halves)
    assert fw.store(3).item() == 3
    same(fw.store([1, 2]), np.array([1, 2]))
    with pytest.raises(fw.ArgumentError):
        fw.store("text")


def test_in_an_element_function(target):
    """Rows of a matrix, of a Ragged and in two levels; of an element nothing is stored."""
    turned = fw.jit(lambda rows: fw.map(lambda row: fw.store(row * 2)[::-1] + row, rows))
    assert turned(ROWS).tolist() == [[r * 2 + s for r, s in zip(row[::-1], row, strict=True)]
                                     for row in ROWS.tolist()]  # fmt: skip
    agree(lambda m: fw.map(lambda row: fw.store(row + 1)[0] - row, m),
          MATRIX[:, :1] + 1 - MATRIX, MATRIX)  # fmt: skip
    agree(lambda m: fw.map(lambda v: fw.store(v) + 1, m[0]), MATRIX[0] + 1, MATRIX)
    weighted = fw.jit(lambda rows: fw.map(lambda row: fw.map(
        lambda v: fw.sum(fw.store(row * v) * fw.iota(row.shape[0])), row), rows))
    wanted = [[sum(k * v * w for k, w in enumerate(row)) for v in row] for row in ROWS.tolist()]
    assert weighted(ROWS).tolist() == wanted


def test_of_a_ragged(target):
    """The values are stored, and rows stay of the lengths they are known to have."""
    f = fw.jit(lambda rows: fw.store(rows * 2) + rows)

    assert f(ROWS).tolist() == (ROWS * 3).tolist()


def test_behind_a_filter_in_a_row(target):
    """What a filter keeps is stored, though it is only added up."""
    f = fw.jit(lambda rows: fw.map(
        lambda row: fw.sum(fw.store(fw.filter(lambda v: v > 2, row))), rows))
    assert f(ROWS).tolist() == [3, 0, 0, 15]


def kept(program, *args):
    """The arrays that are stored and are no results, and the number of passes."""
    stages = fw.jit(program, target="cpu").stages(*args)
    return [array for array in stages.manifest if not array.is_result], stages.kernels


def test_the_manifest_names_it():
    """Each of these programs would be one pass that stores nothing."""
    x = np.arange(9.0)
    programs = {
        "flat": (lambda x: fw.sum(fw.store(x * 2)), x),
        "scan": (lambda x: fw.sum(fw.store(fw.cumsum(x))), x),
        "of a row": (lambda m: fw.map(lambda row: fw.sum(fw.store(row * 2)), m), MATRIX),
        "of a Ragged": (lambda r: fw.sum(fw.store(r * 2).values), ROWS),
    }
    for name, (program, arg) in programs.items():
        arrays, kernels = kept(program, arg)
        assert len(arrays) == 1, name
        assert kernels == 2, name


def test_kept_elements_are_stored():
    """A filter of which a sum is made stores nothing; with a store its elements are an array."""
    arrays, _ = kept(lambda x: fw.sum(fw.store(fw.filter(lambda v: v > 2, x)) * 2), np.arange(9.0))
    assert arrays


def test_nothing_is_copied_that_is_there():
    """Arguments and numbers are in memory; an unread value is not stored."""
    x = np.arange(9.0)
    assert kept(lambda x: fw.sum(fw.store(x)), x) == ([], 1)
    assert kept(lambda x: fw.map(lambda v: fw.store(v * 2) + 1, x), x)[0] == []
    assert kept(lambda x: (fw.store(x * 2), fw.sum(x))[1], x) == ([], 1)


def test_notes_say_why():
    """The reason is the call."""
    stages = fw.jit(lambda x: fw.sum(fw.store(x * 2)), target="cpu").stages(np.arange(9.0))
    assert any("fw.store keeps it in memory" in str(note) for note in stages.notes)
