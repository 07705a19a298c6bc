"""The meaning of the array language, in NumPy: slow and clear.

    run(program, [4, xs])        with total(n: i64, xs: f32[n]) => ..

Element functions are run on all elements at once, on a *batch*: a scalar variable holds one value
for every element (an array of rank 1), or one for all of them (rank 0). An array variable always
holds one array: element functions that make or take arrays are run element by element.

The file of an op defines it, as `evaluate(interp, env)`; scalar work and control are
here, the combining of elements by an operator in `operators.py`; and the extents of arrays for the
arguments of a call, as far as they are known without a run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from flatweave.array_ir.syntax import NEGATIVE, Fault, Program, memory_fault
from flatweave.base.dtypes import DType, as_dtype, i64
from flatweave.base.errors import CompilerBug, UserError
from flatweave.base.source import Location
from flatweave.scalar import ops as scalar
from flatweave.scalar.function import evaluate_cast
from flatweave.terms.batch import Env, Reader, Value, Values, assign, empty_columns, spread
from flatweave.terms.control import Apply, Cast, For, If, While
from flatweave.terms.syntax import ArrayType, Atom, Const, Lambda, Let, Op, Var
from flatweave.terms.traverse import free_vars, lambdas_in, scalars_only


def run(program: Program, args: Sequence[Any], interp: Interp | None = None) -> list[Any]:
    """The program's results for arguments that match its parameters: extents, scalars, arrays."""
    params = program.fn.params
    if len(args) != len(params):
        raise CompilerBug(f"{program.name} takes {len(params)} arguments, got {len(args)}.")
    interp, env = interp or Interp(), Env()
    values = tuple(_argument(param, arg) for param, arg in zip(params, args, strict=True))
    return [value if value.ndim else value[()] for value in interp.call(env, program.fn, values)]


def _argument(param: Var, arg: Any) -> Value:
    """An argument as a value of its parameter's type; scalars are converted, arrays are not."""
    if isinstance(param.type, DType):
        return np.asarray(arg, param.type.numpy)
    value = np.asarray(arg)
    assert isinstance(param.type, ArrayType)
    if value.dtype != param.type.dtype.numpy or value.ndim != param.type.rank:
        raise CompilerBug(f"{param}: {param.type} cannot be {value.dtype}{list(value.shape)}.")
    return value


class Interp(Reader):
    """Runs lambdas; what `evaluate` of an op may ask for."""

    def __init__(self) -> None:
        self._batched: dict[Lambda, bool] = {}
        self.where: Location | None = None  # the line of the let at hand

    # -- lambdas ----------------------------------------------------------------------------------

    def columns(self, env: Env, atoms: Sequence[Atom]) -> Values:
        """The values of several scalars, each as one value for every element of the batch."""
        return spread(self.atoms(env, atoms), env.size)

    def shape(self, env: Env, extents: Sequence[Atom]) -> tuple[int, ...]:
        """The values of extents, none of them negative."""
        shape = tuple(int(self.atom(env, extent)) for extent in extents)
        for extent in shape:
            if extent < 0:
                raise Fault(NEGATIVE, value=extent)
        return shape

    def call(self, env: Env, fn: Lambda, args: Sequence[Value]) -> Values:
        """The results of a lambda over the batch of `env`."""
        inside = env.inner()
        inside.values.update(zip(fn.params, args, strict=True))
        for let in fn.lets:
            self._let(inside, let)
        return self.atoms(inside, fn.results)

    def _let(self, env: Env, let: Let) -> None:
        self.where = let.where
        try:
            results = self.evaluate(env, let.op)
        except Fault as fault:
            fault.where = fault.where or let.where
            raise
        except (MemoryError, ValueError) as failure:
            refused = self._no_memory(env, failure, let)
            raise refused or failure from None
        for var, value in zip(let.vars, results, strict=True):
            env.values[var] = value
        for var, value in zip(let.vars, results, strict=True):
            self._agree(env, var, value)

    def _no_memory(self, env: Env, failure: Exception, let: Let) -> Fault | None:
        """The fault for what NumPy has no memory for: the let's array, else NumPy's own.

        Of more bytes than there are addresses NumPy says that the shape makes no sense.
        """
        count, dtype = 0, i64
        for var in let.vars:
            type_ = var.type
            if isinstance(type_, ArrayType) and all(
                isinstance(extent, Const) or env.knows(extent) for extent in type_.shape
            ):
                count, dtype = self._count(env, type_), type_.dtype
                break
        if isinstance(failure, ValueError) and count < 2**59:
            return None
        if not count and hasattr(failure, "shape"):
            count, dtype = math.prod(failure.shape), as_dtype(getattr(failure, "dtype", i64))
        return memory_fault(count, dtype, let.where)

    def _count(self, env: Env, type_: ArrayType) -> int:
        """The number of elements of an array whose extents are one for all elements of a batch."""
        return math.prod(int(np.max(extent, initial=0)) for extent in self.atoms(env, type_.shape))

    def _agree(self, env: Env, var: Var, value: Value) -> None:
        """Refuse a value that is not of its variable's type."""
        type_ = var.type
        if isinstance(type_, DType):
            fits = value.dtype == type_.numpy and value.shape in ((), (env.size,))
        else:
            assert isinstance(type_, ArrayType)
            fits = value.dtype == type_.dtype.numpy and value.ndim == type_.rank
            for extent, found in zip(type_.shape, value.shape):
                known = isinstance(extent, Const) or env.knows(extent)
                fits = fits and (not known or int(self.atom(env, extent)) == found)
        if not fits:
            raise CompilerBug(f"{var}: {var.type} got {value.dtype}{list(value.shape)}.")

    def evaluate(self, env: Env, op: Op) -> Values:
        """What an op gives."""
        match op:
            case Apply(fn=fn, args=args):
                return (scalar.evaluate(fn, *self.atoms(env, args)),)
            case Cast(dtype=dtype, arg=arg):
                return (evaluate_cast(self.atom(env, arg), dtype),)
            case If():
                return self._if(env, op)
            case While():
                return self._while(env, op)
            case For():
                return self._for(env, op)
        results: Values = getattr(op, "evaluate")(self, env)  # noqa: B009
        return results

    # -- control ----------------------------------------------------------------------------------

    def _if(self, env: Env, op: If) -> Values:
        """Each body runs on the elements that chose it; a body that nobody chose does not run."""
        condition = self.atom(env, op.condition)
        if condition.ndim == 0:
            return self.call(env, op.then if condition else op.other, ())
        assert env.size is not None
        results = empty_columns(op.then, env.size)
        for fn, chosen in ((op.then, condition), (op.other, ~condition)):
            index = np.flatnonzero(chosen)
            if index.size:
                assign(results, index, self.call(env.take(index), fn, ()))
        return results

    def _while(self, env: Env, op: While) -> Values:
        """Turns on the elements whose condition still holds."""
        if env.size is None:
            state = self.atoms(env, op.init)
            while self.call(env, op.condition, state)[0]:
                state = self.call(env, op.body, state)
            return state
        state = tuple(column.copy() for column in self.columns(env, op.init))
        active = np.arange(env.size)
        while True:
            now = tuple(column[active] for column in state)
            holds = spread(self.call(env.take(active), op.condition, now), active.size)[0]
            active = active[holds]
            if not active.size:
                return state
            now = tuple(column[holds] for column in now)
            assign(state, active, self.call(env.take(active), op.body, now))

    def _for(self, env: Env, op: For) -> Values:
        """Turns over one range for all elements, or over each element's own range."""
        lo, hi, step = self.atoms(env, (op.lo, op.hi, op.step))
        state = self.atoms(env, op.init)
        if lo.ndim == hi.ndim == step.ndim == 0:
            for turn in range(int(lo), int(hi), int(step)):
                state = self.call(env, op.body, (np.asarray(turn, lo.dtype), *state))
            return state
        lo, hi, step = spread((lo, hi, step), env.size)
        state = tuple(column.copy() for column in spread(state, env.size))
        i = lo.copy()
        while (active := np.flatnonzero(i < hi)).size:
            now = tuple(column[active] for column in state)
            assign(state, active, self.call(env.take(active), op.body, (i[active], *now)))
            i[active] += step[active]
        return state

    # -- element functions ------------------------------------------------------------------------

    def is_batched(self, fn: Lambda) -> bool:
        """Whether a lambda is scalar work only, so that it can run on a whole batch."""
        if fn not in self._batched:
            self._batched[fn] = scalars_only(fn.params) and all(map(self._is_scalar, fn.lets))
        return self._batched[fn]

    def _is_scalar(self, let: Let) -> bool:
        op = let.op
        if isinstance(op, Apply | Cast):
            return True
        if not scalars_only(let.vars):
            return False
        control = isinstance(op, If | While | For) or getattr(op, "batched", False)
        return control and all(map(self.is_batched, lambdas_in(op)))

    def each(
        self, env: Env, fn: Lambda, columns: Sequence[Value], size: int,
        positions: Value | None = None,
    ) -> Values:
        """The results of an element function for `size` elements, along axis 0."""
        if self.is_batched(fn):
            return spread(self.call(env.batch(size, positions), fn, columns), size)
        rows = self.one_by_one(env, fn, columns, size, positions)
        if not rows:
            return tuple(self.no_rows(env, atom) for atom in fn.results)
        return tuple(np.stack(column) for column in zip(*rows, strict=True))

    def one_by_one(
        self, env: Env, fn: Lambda, columns: Sequence[Value], size: int,
        positions: Value | None = None,
    ) -> list[Values]:
        """The results of an element function for each of `size` elements."""
        rows: list[Values] = []
        for k in range(size):
            try:
                rows.append(self.call(env, fn, [np.asarray(column[k]) for column in columns]))
            except Fault as fault:
                fault.index = k if positions is None else int(positions[k])
                raise
            except UserError as failure:
                failure.name_element(k if positions is None else int(positions[k]))
                raise
        return rows

    def no_rows(self, env: Env, result: Atom) -> Value:
        """An array of no rows; extents that only a row would tell are 0."""
        if isinstance(result.type, DType):
            return np.empty(0, result.type.numpy)
        assert isinstance(result.type, ArrayType)
        shape = [
            int(self.atom(env, extent)) if isinstance(extent, Const) or env.knows(extent) else 0
            for extent in result.type.shape
        ]
        return np.empty((0, *shape), result.type.dtype.numpy)


# The extents of a program's arrays for the arguments of a call, without running it.
#
#     f(n: i64, xs: f64[n]) =>  m: i64 = mul n 2   ys: f64[m] = ..        n = 3   ==>   m = 6
#
# What an extent needs is computed by the interpreter, as long as it is work on numbers of the
# host and single elements of the arguments: the last offset of ragged rows, say. How many
# elements a filter keeps, only a run tells.


Extents = Mapping[Var, int]


def extents_of(program: Program, args: Sequence[Any] | None) -> Extents:
    """The whole numbers of the host that are known for flat arguments; none without them."""
    fn = program.fn
    if args is None or len(args) != len(fn.params):
        return {}
    given = [_readable(param, arg) for param, arg in zip(fn.params, args, strict=True)]
    unread = {param for param, arg in zip(fn.params, given, strict=True) if arg is None}
    known = dict.fromkeys(fn.params)
    lets: list[Let] = []
    for let in fn.lets:
        if _is_simple(let) and all(var in known and var not in unread for var in free_vars(let.op)):
            known.update(dict.fromkeys(let.vars))
            lets.append(let)
    wanted = [v for v in known if isinstance(v.type, DType) and v.type.kind in "iu"]
    params = tuple(param for param in fn.params if param not in unread)
    part = Program(program.name, Lambda(params, tuple(lets), tuple(wanted)))
    try:
        found = run(part, [arg for arg in given if arg is not None])
    except Fault:
        return {}
    return {var: int(value) for var, value in zip(wanted, found, strict=True)}


def _is_simple(let: Let) -> bool:
    """Whether it gives numbers of others and single elements, in no time to speak of."""
    numbers = bool(let.vars) and all(isinstance(var.type, DType) for var in let.vars)
    return numbers and not lambdas_in(let.op) and not let.op.effect


def _readable(param: Var, arg: Any) -> Any:
    """An argument whose elements can be read; None for an array on a device, or of pairs."""
    if not isinstance(param.type, ArrayType):
        return arg
    fits = isinstance(arg, np.ndarray) and arg.dtype == param.type.dtype.numpy
    return arg if fits and arg.ndim == param.type.rank else None


def bytes_of(type_: ArrayType, extents: Extents) -> int | None:
    """The size of an array; None where an extent is not known."""
    sizes = [int(e.value) if isinstance(e, Const) else extents.get(e) for e in type_.shape]
    known = [size for size in sizes if size is not None]
    return math.prod(known) * type_.dtype.numpy.itemsize if len(known) == len(sizes) else None
