"""From Python calls to programs of the array language.

The machinery, from the ground up:

    tree.py         tuples, dicts, dataclasses of arrays: taken apart and put together again
    scope.py        the trace and its nested bodies: where lets go, what is known of variables
    misuse.py       what Python may not ask of a traced array, and what to do instead
    sugar.py        Python's operators: each calls the public function of that meaning
    array.py        Array: what users hold, on the host or inside a trace
    interop.py      NumPy, DLPack and lists as values that a program can be given
    promotion.py    dtypes of mixed operands (NEP 50)
    values.py       any value as a traced array of the innermost body
    trace.py        a Python function becomes a program
    faults.py       what went wrong in a run becomes the user's error
    compiled.py     compiled traces and their calls; variants that broadcast
    signature.py    arguments of a call: the key of its program, and what that is given
    operation.py    public functions: recorded inside a trace, run at once outside
    eager.py        running them at once

What users call, by meaning:

    extents.py      arithmetic and checks on extents
    broadcast.py    operands of several shapes brought to one
    scalars.py      elementwise functions on traced values; elementwise.py names them all
    elements.py     element functions and operators become lambdas
    rows.py         operators on rows of arrays become operators on scalars
    combinators.py  map, reduce, scan, filter, partition
    sources.py      generate, iota, full, replicate, empty
    reading.py      gather, backpermute; indexing.py: xs[..]
    shapes.py       reshape, transpose, reverse, rotate, concat
    axes.py         sum, prod, min, .., cumsum, dot
    writing.py      scatter, permute, reduce_by_index, histogram
    sorting.py      sort, argsort, sort_by_key
    stencil.py      functions of a neighbourhood
    control.py      while_loop, fori_loop, cond; branches.py: the two bodies of cond
"""
