"""Ragged values: how they are made and checked, and `map` over their rows.

A Ragged is flat values and offsets. A function that is mapped over its rows is traced once, on a
row of unknown length, and then distributed: what it computes for the row as a whole is computed for
every row, what it computes for each element is computed over the flat values.

    built       cutting.py: from offsets, lengths, flags, matrices, lists (row_lists.py), columns of
                Awkward and of what has Arrow's interface (exchange.py)
    read        rearranging.py: rows[i], rows[a:b]; inner_indexing.py: rows[i, j], rows[:, a:b]
    computed    elementwise.py, reductions.py, rearranging.py (also concat, sort, replace)
    mapped      map_rows.py
"""
