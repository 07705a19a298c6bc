"""Small programs for tests: parameters for arrays with their extents, operators, one op to run."""

import numpy as np

from flatweave.array_ir.interp import run
from flatweave.array_ir.syntax import Program
from flatweave.base.dtypes import as_dtype, i64
from flatweave.terms.build import Builder
from flatweave.terms.syntax import ArrayType, Lambda, Var


def program_of(write, *arrays):
    """The program whose body `write(b, *array_vars)` emits, and its arguments for these arrays."""
    b = Builder()
    params, args, xs = [], [], []
    for array in arrays:
        extents = [b.var("n", i64) for _ in array.shape]
        params += extents
        args += array.shape
        xs.append(b.var("xs", ArrayType(as_dtype(array.dtype), tuple(extents))))
        params.append(xs[-1])
        args.append(array)
    results = write(b, *xs)
    return Program("test", b.close(params, results)), args


def evaluate(write, *arrays):
    """The results of the program that `write` emits over these arrays."""
    program, args = program_of(write, *arrays)
    return run(program, args)


def one_op(op, *arrays):
    """The results of `op(*array_vars)` over these arrays."""
    return evaluate(lambda b, *xs: b.emit(op(*xs)), *arrays)


def function(types, body):
    """A lambda without free scalars: `body(b, *params)` gives its results."""
    return Builder().function(types, body)


def affine_operator(dtype):
    """(a, b) . (c, d) = (a c, b c + d): associative, not commutative."""

    def body(b, a1, b1, a2, b2):
        return b.mul(a1, a2), b.add(b.mul(b1, a2), b2)

    return function([dtype] * 4, body)


def last_operator(dtype):
    """(a, b) => b: associative, not commutative."""
    a, b = Var("a", dtype), Var("b", dtype)
    return Lambda((a, b), (), (b,))


def numbers(n, low=-9, high=9):
    return np.random.default_rng(n).integers(low, high, n)


def affine_loop(a, b, exclusive=False, reverse=False):
    """The prefixes of the affine operator by a loop, and the last of them."""
    total, rows = (1, 0), []
    order = range(len(a))[:: -1 if reverse else 1]
    for i in order:
        left, right = ((a[i], b[i]), total) if reverse else (total, (a[i], b[i]))
        after = (left[0] * right[0], left[1] * right[0] + right[1])
        rows.append(total if exclusive else after)
        total = after
    rows = np.array(rows, np.int64).reshape(-1, 2)[:: -1 if reverse else 1]
    return rows[:, 0], rows[:, 1], total
