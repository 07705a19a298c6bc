"""Ragged values: how they are made and checked, and `map` over their rows.

A Ragged is flat values and offsets. A function that is mapped over its rows is traced once, on a
row of unknown length, and then distributed: what it computes for the row as a whole is computed for
every row, what it computes for each element is computed over the flat values.

    made        cutting.py: from offsets, lengths, flags; given.py: of lists (nested.py), matrices,
                columns of Awkward (awkward.py) and of what has Arrow's interface (arrow.py)
    read        selection.py: rows[i], rows[a:b], rows[mask]; places.py: rows[i, j], rows[:, a:b]
    computed    elementwise.py, along.py (reductions), ordering.py (sort), concat.py, replacing.py
    mapped      map_rows.py, scan_rows.py
"""
