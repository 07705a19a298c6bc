"""EmbArBB's operations on dense vectors, each by its name here or by an idiom of its page."""

import numpy as np

import flatweave as fw
from tests.language.agreement import same

V = np.array([5, 2, 9, 2, 7, 1, 8, 3])
M = np.array([[3, 1, 4, 1], [5, 9, 2, 6], [5, 3, 5, 8]])
CUBE = np.arange(24).reshape(2, 3, 4)
MASK = np.array([True, False, True, True, False, False, True, False])


def agree(f, wanted, *args):
    """The jitted function gives what NumPy gives."""
    same(fw.jit(f)(*args), wanted)


def test_reductions_along_rows_columns_and_pages(target):
    """Seven operators, by an axis."""

    def reductions(cube, flags):
        names = (fw.sum, fw.prod, fw.max, fw.min)
        truths = (fw.all, fw.any)
        odd = fw.sum(flags.astype(fw.i64), axis=0) % 2 == 1
        return (
            [f(cube, axis=axis) for f in names for axis in range(3)],
            [f(flags, axis=axis) for f in truths for axis in range(2)],
            odd,
        )

    flags = M % 2 == 1
    wanted = (
        [f(CUBE, axis=axis) for f in (np.sum, np.prod, np.max, np.min) for axis in range(3)],
        [f(flags, axis=axis) for f in (np.all, np.any) for axis in range(2)],
        np.logical_xor.reduce(flags, axis=0),
    )
    agree(reductions, wanted, CUBE, flags)


def test_reductions_with_their_places():
    """The greatest of each row and where it is: the first of equal ones, in one pass."""
    both = fw.jit(lambda m: (fw.max(m, axis=1), fw.argmax(m, axis=1)))

    same(both(M), (M.max(axis=1), M.argmax(axis=1)))
    assert both.stages(M).kernels == 1


def test_scans_in_both_directions(target):
    """Inclusive and exclusive, from either end; along an axis; of truth values, too."""

    def scans(v, m, flags):
        return (
            fw.scan(fw.add, 0, v), fw.scan(fw.add, 0, v, exclusive=True),
            fw.scan(fw.maximum, 0, v, reverse=True), fw.cumsum(m, axis=1),
            fw.flip(fw.cumprod(fw.flip(m, axis=0), axis=0), axis=0),
            fw.scan(fw.logical_xor, False, flags),
        )  # fmt: skip

    sums = np.cumsum(V)
    wanted = (
        sums, sums - V, np.maximum.accumulate(V[::-1])[::-1], np.cumsum(M, axis=1),
        np.cumprod(M[::-1], axis=0)[::-1], np.logical_xor.accumulate(MASK),
    )  # fmt: skip
    agree(scans, wanted, V, M, MASK)


def test_merging_by_addition(target):
    """addMerge: elements with one index are added up; an index outside is dropped."""
    idx = np.array([0, 3, 0, 5, -1, 3, 3, 1])
    wanted = np.zeros(5, V.dtype)
    np.add.at(wanted, idx[(idx >= 0) & (idx < 5)], V[(idx >= 0) & (idx < 5)])

    agree(lambda idx, v: fw.histogram(5, idx, v), wanted, idx, V)


def test_pack_and_unpack(target):
    """The elements where a mask holds, and back to their indices."""

    def there_and_back(v, mask):
        packed = v[mask]
        return packed, fw.replace(fw.full(v.shape[0], -1), mask, packed)

    agree(there_and_back, (V[MASK], np.where(MASK, V, -1)), V, MASK)
    none = np.zeros(8, bool)
    agree(there_and_back, (V[none], np.full(8, -1)), V, none)


def test_shuffle_and_unshuffle(target):
    """Two vectors interleaved, and separated again."""

    def there_and_back(a, b):
        mixed = fw.stack([a, b], axis=1).reshape(-1)
        return mixed, fw.concat([mixed[0::2], mixed[1::2]])

    a, b = V[:4], V[4:]
    agree(there_and_back, (np.array([5, 7, 2, 1, 9, 8, 2, 3]), V), a, b)


def test_stretch_and_distribute(target):
    """Each element as often as others, or as often as it says."""
    counts = V % 3

    agree(lambda v, k: (fw.repeat(v, 3), fw.repeat(v, k)),
          (np.repeat(V, 3), np.repeat(V, counts)), V, counts)  # fmt: skip


def test_repeated_rows_columns_and_pages(target):
    """A vector as every row, or every column; a matrix as every page; a sequence."""

    def repeated(v, m):
        return (
            fw.broadcast_to(v, (3, 8)), fw.broadcast_to(v[:, None], (8, 2)),
            fw.broadcast_to(m, (2, 3, 4)), fw.full(4, 7), 10 + 3 * fw.iota(5),
        )  # fmt: skip

    wanted = (
        np.tile(V, (3, 1)), np.tile(V[:, None], (1, 2)), np.tile(M, (2, 1, 1)), np.full(4, 7),
        np.arange(10, 25, 3),
    )  # fmt: skip
    agree(repeated, wanted, V, M)


def test_sections_rows_columns_and_pages(target):
    """Offsets, lengths and strides along each axis; what is cut out is put in again."""

    def cut(v, m, cube):
        return (
            v[1 : 1 + 3 * 2 : 2], m[1:3, 0:4:3], cube[:, 2, 1:3], m[1], m[:, 2], cube[1],
            fw.replace(m, 1, m[0]), fw.replace(m, (slice(None), 2), m[:, 0]),
            fw.replace(cube, 0, cube[1]), fw.replace(v, slice(2, 6), 0),
        )  # fmt: skip

    def into(xs, key, values):
        copy = xs.copy()
        copy[key] = values
        return copy

    wanted = (
        V[1:7:2], M[1:3, 0:4:3], CUBE[:, 2, 1:3], M[1], M[:, 2], CUBE[1], into(M, 1, M[0]),
        into(M, (slice(None), 2), M[:, 0]), into(CUBE, 0, CUBE[1]), into(V, slice(2, 6), 0),
    )  # fmt: skip
    agree(cut, wanted, V, M, CUBE)


def test_rotations_exchanges_and_shapes(target):
    """Turned in a ring, from last to first, rows and columns exchanged, end to end, reshaped."""

    def moved(v, m, i, j):
        rows = fw.replace(m, fw.stack([i, j]), m[fw.stack([j, i])])
        return (
            fw.rotate(v, 1), fw.rotate(v, -1), fw.reverse(v), fw.transpose(m), rows,
            fw.concat([v, v]), v.reshape(2, 4), m.reshape(-1),
        )  # fmt: skip

    wanted = (
        np.roll(V, -1), np.roll(V, 1), V[::-1], M.T, M[[2, 1, 0]], np.concatenate([V, V]),
        V.reshape(2, 4), M.reshape(-1),
    )  # fmt: skip
    agree(moved, wanted, V, M, 0, 2)


def test_sorting_with_ranks(target):
    """Sorted, and where each element was."""
    order = np.argsort(V, kind="stable")

    agree(lambda v: fw.sort_by_key(v, fw.iota(v.shape[0])), (V[order], order), V)


def test_elements_know_where_they_are(target):
    """Coordinates in a function of elements, together with neighbours."""

    def near(m):
        side = fw.stencil(lambda n: n[-1, 0] + n[0, 1], m, (3, 3), boundary=("constant", 0))
        return fw.map(lambda row, i: row + i, side, fw.iota(m.shape[0]))

    above = np.pad(M, 1)[:-2, 1:-1]
    right = np.pad(M, 1)[1:-1, 2:]
    agree(near, above + right + np.arange(3)[:, None], M)
