"""The scalar language: what can be computed on single values.

One table has a row for each function: its types, meaning in NumPy, spelling in C, laws and cost.
Every stage and target reads that table; LLVM's texts are in `codegen/llvm/math`.

    function.py      what one row states; its C spelling and C functions; conversions of dtypes
    arithmetic.py    rows: arithmetic, elementary functions, floats of 16 bits
    ops.py           rows: logic, shifts, comparisons, choice, counting bits; and THE TABLE of all
                     rows; result types and values
"""
