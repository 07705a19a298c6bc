"""From Python calls to programs of the array language.

Seven rooms, each of which imports only from those above it in this list:

    values/      arrays and tracers, scopes, trees of tuples and dicts, NumPy and DLPack, promotion
    trace/       a Python function becomes a program: any value as a tracer, checks, extents
    call/        public functions and jitted ones are called: signature, compilation, run
    elements/    scalar functions, broadcasting, element functions and operators as lambdas
    arrays/      functions on n-dimensional arrays
    ragged/      Ragged values, and map over their rows
    functions/   functions on arrays and Ragged values, and control flow

Where public functions are written:

    elements/elementwise.py    sqrt, add, .., one name for each scalar function of the table
    elements/scalars.py        where, clip, astype, power, .., which are more than one row of it
    arrays/sources.py          iota, full, replicate, empty
    arrays/reading.py          gather, backpermute; indexing.py: xs[..]
    arrays/writing.py          scatter, permute, reduce_by_index, histogram
    arrays/shapes.py           reshape, transpose, reverse, rotate, concat
    arrays/sorting.py          sort, argsort, sort_by_key
    arrays/stencil.py          functions of a neighbourhood
    ragged/cutting.py          ragged
    functions/combinators.py   map, generate, reduce, scan, filter, partition
    functions/reductions.py    sum, prod, min, ..; scans.py: cumsum, cumprod
    standard/products.py       dot
    functions/scans.py      segmented_scan, segmented_reduce, segmented_iota
    functions/expand.py        expand, expand_reduce, replicated_iota
    functions/control.py       while_loop, fori_loop, cond
    call/contexts.py           schedule
"""
