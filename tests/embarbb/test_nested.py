"""EmbArBB's nested vectors: applied, taken off, looked into, changed, combined; in and out."""

import numpy as np

import flatweave as fw

VALUES = np.array([3, 1, 4, 1, 5, 9])
LENGTHS = np.array([2, 0, 3, 1])
ROWS = [[3, 1], [], [4, 1, 5], [9]]


def test_nesting_is_applied_and_taken_off(target):
    """By lengths, offsets or flags; values, lengths, offsets come back; one nesting for others."""

    def nested(values, lengths, offsets, flags):
        by_lengths = fw.ragged(values, lengths=lengths)
        alike = fw.ragged(values * 10, offsets=by_lengths.offsets)
        return (by_lengths, fw.ragged(values, offsets=offsets), fw.ragged(values, flags=flags),
                alike, by_lengths.lengths, by_lengths.offsets, by_lengths.values)  # fmt: skip

    offsets = np.array([0, 2, 2, 5, 6])
    flags = np.array([False, False, True, False, False, True])
    first, second, third, alike, lengths, found, values = fw.jit(nested)(
        VALUES, LENGTHS, offsets, flags
    )

    assert first.tolist() == second.tolist() == ROWS
    assert third.tolist() == [row for row in ROWS if row]
    assert alike.tolist() == [[10 * x for x in row] for row in ROWS]
    assert lengths.tolist() == LENGTHS.tolist()
    assert found.tolist() == offsets.tolist()
    assert values.tolist() == VALUES.tolist()


def test_segments_are_read_and_replaced(target):
    """A segment, an element of one, a replaced segment."""

    def looked(rows, i, row):
        return rows[i], rows[2, 1], fw.replace(rows, i, row)

    segment, element, changed = fw.jit(looked)(fw.ragged(ROWS), 2, np.array([8, 8]))

    assert segment.tolist() == [4, 1, 5]
    assert int(element) == 1
    assert changed.tolist() == [[3, 1], [], [8, 8], [9]]


def test_segmented_reductions_and_scans(target):
    """Sums, greatest, truth of each segment; prefixes within segments; a value for each."""

    def combined(rows):
        return (fw.sum(rows, axis=1), fw.max(rows, axis=1, initial=0), fw.any(rows > 4, axis=1),
                fw.cumsum(rows, axis=1), rows + fw.iota(4))  # fmt: skip

    sums, most, some, prefixes, distributed = fw.jit(combined)(fw.ragged(ROWS))

    assert sums.tolist() == [sum(row) for row in ROWS]
    assert most.tolist() == [max(row, default=0) for row in ROWS]
    assert some.tolist() == [any(x > 4 for x in row) for row in ROWS]
    assert prefixes.tolist() == [np.cumsum(row).tolist() for row in ROWS]
    assert distributed.tolist() == [[x + i for x in row] for i, row in enumerate(ROWS)]


def test_nested_vectors_come_in_and_go_out():
    """What EmbArBB could not copy: a Ragged as argument and result; going in, it is not copied."""
    offsets = np.array([0, 2, 2, 5, 6])
    rows = fw.ragged(VALUES, offsets=offsets)

    assert np.shares_memory(np.asarray(rows.values), VALUES)
    assert fw.jit(lambda rows: rows * 2)(rows).tolist() == [[2 * x for x in row] for row in ROWS]


def test_deeper_nesting(target):
    """Rows of rows, which EmbArBB has not."""
    deep = fw.ragged([[[1, 2], []], [], [[3]]])

    assert fw.sum(deep, axis=2).tolist() == [[3, 0], [], [3]]
