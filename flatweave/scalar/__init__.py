"""The scalar language: what can be computed on single values.

function.py    what one row of the table states
arithmetic.py  rows: sums, products, quotients, order, rounding
bits.py        rows: logic, shifts, comparisons, choice, counting bits
elementary.py  rows: roots, exponentials, trigonometry, error functions
ops.py         THE TABLE of all rows; result types and values
cast.py        conversions between dtypes
c_text.py      C spellings and the C functions behind them
"""
