"""Every public function that has a counterpart in NumPy, and what it is called with.

    table.py        a line for each function: dtypes, arguments
    inputs.py       the arrays that arguments name, for a dtype and a number of elements
    compare.py      one call next to NumPy's, in a separate process
"""
