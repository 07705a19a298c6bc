"""From Python calls to programs of the array language.

tree.py         tuples, dicts, dataclasses of arrays: taken apart and put together again
scope.py        the trace and its nested bodies: where lets are emitted, which names are known
array.py        Array: what users hold, on the host or inside a trace; its operators
misuse.py       what Python may not ask of a traced array, and what to do instead
interop.py      NumPy, DLPack and scalars as arrays of ours
values.py       any value as a traced array of the innermost body
promotion.py    dtypes of mixed operands (NEP 50)
operation.py    the public functions: recorded inside a trace, run at once outside
eager.py        running them at once
trace.py        a Python function becomes a program
elements.py     element functions and operators become lambdas
extents.py      arithmetic and checks on extents
broadcast.py    operands of several shapes brought to one
scalars.py      elementwise functions
sources.py combinators.py rows.py reading.py indexing.py writing.py shapes.py axes.py stencil.py
control.py      the rest of what users call, by meaning
"""
