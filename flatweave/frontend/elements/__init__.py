"""Work on single elements: scalars, broadcasting, and element functions as lambdas of the program.

The table's scalar functions take tracers of rank 0; `broadcasting.py` brings arrays of several
shapes to them. The functions that users pass to `map`, `reduce` and the like become lambdas here,
checked for what they take and give.
"""
