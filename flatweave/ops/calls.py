"""What a program calls as it was written, kernels and Python functions; checks that may end it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from flatweave.array_ir.syntax import INDEX, Fault, index_fault
from flatweave.base.dtypes import DType, i64
from flatweave.base.plan import FUNCTIONS, LOCAL, Function, HostCall, Operand, Plan
from flatweave.base.records import record
from flatweave.base.source import Location
from flatweave.terms.build import index
from flatweave.terms.control import with_extents
from flatweave.terms.syntax import (
    ArrayType,
    Atom,
    Lambda,
    Let,
    Op,
    Part,
    Type,
    Var,
    condition_misfits,
    function_misfits,
    index_misfits,
    op,
    types_misfit,
    types_of,
)
from flatweave.terms.traverse import Substitution

if TYPE_CHECKING:
    from flatweave.array_ir.interp import Interp
    from flatweave.terms.batch import Env, Value, Values

# What a program calls as it was written: kernels of the kernel tier, and Python functions.
#
#     (n: i64) (ys: f32[n]) = call_kernel sums_3f2a [m, xs]
#
# The arguments are the parameters of the kernel's host: the extents of each array, then the
# array. It binds for each array that the kernel gives the extents that are known at run time
# only, then the array. What the name stands for is in KERNELS; the name has a digest of the
# kernel's text in it.
#
#     y: f64[n] = callback inv_3f2a none [] [argument xs [n] f64 false] [returned f64 [n] f64 []]
#
# A Python function is called once; or, where there are `rows`, by `method` for all rows of a
# nest: then mapped operands are flat, row after row, and so are the results. The extents are
# those of one row; one that differs from row to row is an array.
#
#     y: f64 = custom f (x: f64 => .. in fx) [x] ((x: f64, dx: f64 => .. in fx, dfx)) () () 0
#
# A function with rules for its derivative. Derivatives replace it by a rule. Where no derivative
# is taken, its body replaces it, before any pass.


@record
class KernelProgram:
    """A kernel as it was traced for a machine: host code and what it launches.

    `unit` is a Unit of the kernel IR, which a process that only runs programs need not import.
    `threads` is how many a block has on machines whose threads are lanes; `simulate(program, args)`
    gives the results for flat arguments, and raises Fault. `again(machine)` traces it for another
    one: what warps do together is written for the lanes of each. `tried` is the unit with the
    operators that a first call tries, if there are any.
    """

    name: str
    unit: Any
    plan: Plan
    threads: int
    simulate: Callable[[KernelProgram, Sequence[Any]], list[Any]]
    machine: Any
    again: Callable[[Any], KernelProgram]
    tried: Any = None

    def on(self, machine: Any) -> KernelProgram:
        """The kernel as it is written for a machine."""
        return self if machine == self.machine else self.again(machine)


KERNELS: dict[str, KernelProgram] = {}
"""What names of kernels in programs stand for."""


@op
class CallKernel(Op):
    """Runs a kernel; only the host body may hold it."""

    kernel: str
    args: tuple[Atom, ...]
    traced = True

    @property
    def program(self) -> KernelProgram:
        """What the name stands for."""
        return KERNELS[self.kernel]

    def binders(self) -> tuple[Var, ...]:
        made: list[Var] = []
        for result in self.program.plan.results:
            if result.extents is None:
                made.append(Var("t", result.dtype))
                continue
            shape: list[Atom] = []
            for extent in result.extents:
                if extent is None:
                    made.append(Var("n", i64))
                shape.append(made[-1] if extent is None else index(extent))
            made.append(Var("t", ArrayType(result.dtype, tuple(shape))))
        return tuple(made)

    def evaluate(self, interp: Interp, env: Env) -> Values:
        values = [np.asarray(value) for value in interp.atoms(env, self.args)]
        program = self.program
        found: list[Any] = []
        results = program.simulate(program, values)
        for result, value in zip(program.plan.results, results, strict=True):
            for extent, size in zip(result.extents or (), np.shape(value), strict=True):
                if extent is None:
                    found.append(np.asarray(size))
            found.append(np.asarray(value))
        return tuple(found)


@op
class Argument(Part):
    """An operand: a number, or an array under `shape`; `seen` is the dtype that the function sees.
    """

    value: Atom
    shape: tuple[Atom, ...]
    seen: str
    mapped: bool

    @property
    def described(self) -> Operand:
        """The operand as a call knows it."""
        type_ = self.value.type
        dtype = type_.dtype if isinstance(type_, ArrayType) else type_
        varying = _varying(self.shape) if isinstance(type_, ArrayType) else None
        return Operand(self.seen, str(dtype), varying, self.mapped)


@op
class Returned(Part):
    """A result: the shape of one row, and how many elements all rows have."""

    dtype: DType
    shape: tuple[Atom, ...]
    seen: str
    total: tuple[Atom, ...]

    @property
    def described(self) -> Operand:
        """The result as a call knows it."""
        return Operand(self.seen, self.dtype.name, _varying(self.shape), bool(self.total))

    @property
    def type(self) -> Type:
        """The type of the array, or number, that the op binds."""
        shape = self.total or self.shape
        return ArrayType(self.dtype, shape) if shape else self.dtype


def _varying(shape: Sequence[Atom]) -> tuple[bool, ...]:
    return tuple(isinstance(extent.type, ArrayType) for extent in shape)


@op
class Callback(Op):
    """Calls a function of `base/plan.py`; only the host body may hold it.

    `row` may have the number of the user's element, of a call for many rows an array of those.
    """

    fn: str
    method: str
    rows: tuple[Atom, ...]
    operands: tuple[Argument, ...]
    results: tuple[Returned, ...]
    row: tuple[Atom, ...] = ()
    traced = True

    @property
    def called(self) -> str:
        """What people call the function."""
        return self.fn.rpartition("_")[0]

    @property
    def is_local(self) -> bool:
        """Whether the function is not found by its name in another process."""
        return self.fn in LOCAL

    @property
    def described(self) -> HostCall:
        """The call as a running program knows it."""
        return HostCall(
            self.fn, self.method, bool(self.rows),
            tuple(each.described for each in self.operands),
            tuple(each.described for each in self.results),
            bool(self.rows and self.row),
        )  # fmt: skip

    def extents(self) -> Iterator[Atom]:
        """The extents of a row of each operand and result."""
        for operand in self.operands:
            yield from operand.shape
        for result in self.results:
            yield from result.shape

    def given(self) -> Iterator[Atom]:
        """What the call is given, in its order."""
        yield from self.rows
        yield from self.row if self.rows else ()
        for operand in self.operands:
            yield operand.value
            yield from operand.shape
        for result in self.results:
            yield from result.shape

    def result_types(self) -> tuple[Type, ...]:
        return tuple(result.type for result in self.results)

    def misfits(self) -> Iterator[str]:
        yield from index_misfits("the number of rows", self.rows)
        for extent in self.extents():
            if isinstance(extent.type, ArrayType):
                yield from types_misfit("extents", (extent,), (ArrayType(i64, self.rows),))
            else:
                yield from index_misfits("an extent", (extent,))

    def called_with(self, values: Sequence[Value], where: Location | None) -> list[Value]:
        """What the function gives for the values of a call, each result under one axis."""
        return self.described.run(values, _first, where)

    def __reduce__(self) -> tuple[Any, ...]:
        """With the function: another process may not have it."""
        return _sent, (self.values(), FUNCTIONS.get(self.fn), self.is_local)

    def evaluate(self, interp: Interp, env: Env) -> Values:
        values = interp.atoms(env, tuple(self.given()))
        shapes = [interp.shape(env, each.total or each.shape) for each in self.results]
        found = self.called_with(values, interp.where)
        return tuple(value.reshape(shape) for value, shape in zip(found, shapes, strict=True))


def _sent(fields: tuple[Any, ...], function: Function | None, is_local: bool) -> Callback:
    """A call that another process has sent, and its function."""
    op = Callback(*fields)
    if function is not None and op.fn not in FUNCTIONS:
        FUNCTIONS[op.fn] = function
        LOCAL.update([op.fn] if is_local else [])
    return op


@op
class Custom(Op):
    """A function with rules for its derivative; without any, it is computed again in reverse.

    `jvp` takes the operands and their tangents, and gives the results and their tangents. `vjp`
    gives the results, and its `back` takes cotangents of them. `transpose` takes all operands but
    the last `linear` ones, then cotangents of the results. A function gives extents before each
    array; tangents have those of their primals.
    """

    called: str
    fn: Lambda
    operands: tuple[Atom, ...]
    jvp: tuple[Lambda, ...]
    vjp: tuple[Lambda, ...]
    transpose: tuple[Lambda, ...]
    linear: int
    traced = True

    def binders(self) -> tuple[Var, ...]:
        inner = {*self.fn.params, *(var for let in self.fn.lets for var in let.vars)}

        def extent(k: int, bound: Sequence[Var]) -> Atom:
            given = self.fn.results[k]
            return bound[k] if given in inner else given

        return with_extents(self.fn.result_types(), extent)

    def misfits(self) -> Iterator[str]:
        yield from function_misfits("the function", self.fn, types_of(self.operands))

    def evaluate(self, interp: Interp, env: Env) -> Values:
        return interp.call(env, self.fn, interp.atoms(env, self.operands))


@op
class Back(Op):
    """The end of a `vjp`: from cotangents of the results to those of the operands."""

    fn: Lambda

    def result_types(self) -> tuple[Type, ...]:
        return ()


class Inlined(Substitution):
    """A substitution that puts in the bodies of custom functions, where `inlines`."""

    inlines = False

    def lets(self, lets: Sequence[Let]) -> list[Let]:
        """The operations, renamed."""
        found: list[Let] = []
        for let in lets:
            if self.inlines and isinstance(let.op, Custom):
                fn = let.op.fn
                self.mapping.update(zip(fn.params, map(self.atom, let.op.operands), strict=True))
                found += self.lets(fn.lets)
                self.mapping.update(zip(let.vars, map(self.atom, fn.results), strict=True))
            else:
                found.append(self.let(let))
        return found

    def function(self, fn: Lambda) -> Lambda:
        params = tuple(self.binder(param) for param in fn.params)
        lets = tuple(self.lets(fn.lets))
        return Lambda(params, lets, tuple(self.atom(atom) for atom in fn.results))


def _first(array: Value, dtype: np.dtype[np.generic], count: int) -> Value:
    """An array of the interpreter under one axis."""
    return np.asarray(array).reshape(-1)[:count].view()


# check condition:   the program ends with an error unless the condition holds


@op
class Check(Op):
    """A condition on extents that must hold; `kind` selects the error, the atoms are its values.

    Kind `same` says that two extents are equal: after it the compiler takes them for one. Kind
    `index` is the test of a read: its values are the index and the extent, its message the axis.
    `row` may have the number of the user's element, where that is not the position at hand.
    """

    condition: Atom
    kind: str
    values_: tuple[Atom, ...]
    message: str
    row: tuple[Atom, ...] = ()
    batched: ClassVar[bool] = True
    effect: ClassVar[bool] = True

    def result_types(self) -> tuple[Type, ...]:
        return ()

    def misfits(self) -> Iterator[str]:
        return condition_misfits(self.condition)

    def evaluate(self, interp: Interp, env: Env) -> Values:
        if env.size == 0:
            return ()
        failed = np.flatnonzero(~np.atleast_1d(interp.atom(env, self.condition)))
        if failed.size:
            element = int(failed[0])
            found = [np.atleast_1d(value) for value in interp.atoms(env, self.values_)]
            values = tuple(value[element if len(value) > 1 else 0].item() for value in found)
            index = env.position(element)
            for row in interp.atoms(env, self.row):
                index = int(np.atleast_1d(row)[element if row.ndim else 0])
            if self.kind == INDEX:
                raise index_fault(index, int(values[0]), int(values[1]), int(self.message or 0))
            raise Fault(self.kind, index=index, values=values, message=self.message)
        return ()
