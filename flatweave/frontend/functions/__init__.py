"""Functions on arrays and Ragged values alike, and control flow.

`map`, `reduce`, `scan`, `filter`, reductions along axes, `expand`, loops and `cond`.
"""
