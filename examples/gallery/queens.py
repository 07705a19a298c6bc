"""Queens: the number of ways to place n queens on a board so that none threatens another.

    python examples/gallery/queens.py

All ways to fill the first rows are an array; each iteration expands a way by the free columns of
the next row. Columns and diagonals that are threatened are bits.

Before: a loop in Python, compiled by Numba.
"""

import flatweave as fw

PEER = "Numba"


def free(way, n):
    """The columns of the next row that no queen threatens, as bits."""
    columns, left, right = way
    return ~(columns | left | right) & ((1 << n) - 1)


def put(way, i, n):
    """The way with a queen in free column number i of the next row."""
    rest = fw.fori_loop(0, i, lambda _, bits: bits & (bits - 1), free(way, n))
    queen = rest & -rest
    return way[0] | queen, (way[1] | queen) << 1, (way[2] | queen) >> 1


@fw.jit
def program(n):
    """How many ways there are on a board of n * n."""
    one = (fw.full(1, 0), fw.full(1, 0), fw.full(1, 0))

    def row(_, ways):
        return fw.expand(lambda way: fw.popcount(free(way, n)), lambda way, i: put(way, i, n), ways)

    return fw.fori_loop(0, n, row, one)[0].shape[0]


def before(n):
    """Depth first, with a stack."""
    found, full, stack = 0, (1 << n) - 1, [(0, 0, 0)]
    while stack:
        columns, left, right = stack.pop()
        bits = full & ~(columns | left | right)
        found += columns == full
        while bits:
            queen = bits & -bits
            bits ^= queen
            stack.append((columns | queen, (left | queen) << 1, (right | queen) >> 1))
    return found


def inputs(size=12):
    """The board's extent."""
    return (size,)


def main():
    """Boards of up to eight."""
    print([int(program(n)) for n in range(1, 9)])


if __name__ == "__main__":
    main()
