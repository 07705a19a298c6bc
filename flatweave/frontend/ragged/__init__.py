"""Ragged values: how they are made and checked, and `map` over their rows.

A Ragged is flat values and offsets. A function that is mapped over its rows is traced once, on a
row of unknown length, and then distributed: what it computes for the row as a whole is computed for
every row, what it computes for each element is computed over the flat values.
"""
