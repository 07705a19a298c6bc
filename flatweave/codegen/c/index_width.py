"""Which 64-bit integers of a kernel a device computes in 32 bits, and for which launches.

    t: i64 = mul block 7168          the low 32 bits suffice where t is only part of an index:
    i: i64 = add t lane              elements of a buffer are numbered below 2**31
    p: bool = lt i n                 here i and n must be themselves: at most 7168 grid + n,
                                     which a launch compares with 2**31

Two facts allow 32 bits. *Modular*: sums, products and choices need only the low 32 bits of their
operands for the low 32 bits of their result, and an index needs no more. *Bounded*: comparisons,
quotients, minima and bounds of loops need the value, so that it must be below 2**31; its bound is a
polynomial with positive coefficients in the grid and the integers that the launch is given. What is
loaded from memory has no bound; what is no part of an index, a bound of a loop or a comparison
keeps 64 bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from flatweave.base.dtypes import DType, i64
from flatweave.base.records import record
from flatweave.codegen.c.index_ranges import GRID, ZERO, Ranges, common, degree
from flatweave.kernel_ir import dtype_in
from flatweave.kernel_ir import syntax as k
from flatweave.kernel_ir.memory_ops import (
    AcquireLanes,
    Atomic,
    AtomicUpdate,
    LoadWhole,
    LockedUpdate,
    StoreInTurn,
    StoreWhole,
)
from flatweave.kernel_ir.warp_ops import CountLanes
from flatweave.runtime.devices.launches import GRID_ITSELF, LIMIT, Fits
from flatweave.terms.control import Apply, Cast, For, If, While
from flatweave.terms.syntax import Atom, BufferType, Const, Lambda, Let, Op, Var
from flatweave.terms.traverse import atoms_in, free_vars, lambdas_in

MODULAR = ("add", "sub", "mul", "neg", "and", "or", "xor", "select", "shl")
QUOTIENTS = ("floordiv", "mod")
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
INDEXED = (
    k.Load | k.LoadNear | k.Store | StoreInTurn | Atomic | AtomicUpdate | LockedUpdate | k.Acquire
    | AcquireLanes | k.Release | LoadWhole | StoreWhole | k.StoreCompact
)  # fmt: skip
POSITIONS = ("index", "base", "offset")


@record
class Narrowed:
    """The variables of 32 bits; of these, those whose values are bounded and never wrap, and of
    these the ones that are never negative."""

    all: frozenset[Var] = frozenset()
    bounded: frozenset[Var] = frozenset()
    natural: frozenset[Var] = frozenset()
    fits: Fits | None = None


WIDE = Narrowed()
"""All integers have the bits that they say."""


@lru_cache(maxsize=64)  # its text and its launch ask for it
def narrowed(kernel: k.Kernel) -> Narrowed:
    """The integers of a kernel that take 32 bits, where a launch fits."""
    ranges = Ranges(kernel)
    needs = _Needs(ranges)
    needs.body(kernel.body)
    for param in kernel.params:
        needs.decide(param, modular=False)
    bounded = frozenset(needs.narrow & needs.exact)
    total = ZERO
    for var in bounded:
        total = common(total, common(*ranges.of[var]))
    numbers = {GRID: GRID_ITSELF, **{param: n for n, param in enumerate(kernel.params)}}
    products = tuple(sorted(
        (times, tuple((numbers[var], power) for var, power in term))
        for term, times in total.items()
    ))
    scalars = {number for _, each in products for number, _ in each if number >= 0}
    memory = tuple(
        (number, LIMIT * dtype_in(var).bytes) for number, var in enumerate(kernel.params)
        if isinstance(var.type, BufferType)
    )  # fmt: skip
    fits = Fits(products, tuple(sorted(scalars)), memory)
    natural = frozenset(var for var in bounded if ranges.of[var].below == ZERO)
    return Narrowed(frozenset(needs.narrow), bounded, natural, fits)


# -- needs ----------------------------------------------------------------------------------------


class _Needs:
    """From the last operation to the first: which integers are needed for indices and comparisons,
    and which of them as they are, not only their low 32 bits."""

    def __init__(self, ranges: Ranges) -> None:
        self.ranges = ranges
        self.narrow: set[Var] = set()
        self.exact: set[Var] = set()
        self.wanted: set[Var] = set()

    def decide(self, var: Var, modular: bool) -> bool:
        """Whether an integer takes 32 bits, when all its uses are known."""
        fits = var in self.ranges.of or (modular and var not in self.exact)
        if var.type is i64 and var in self.wanted and fits:
            self.narrow.add(var)
        return var in self.narrow

    def _need(self, atoms: Iterable[Atom], exact: bool = True, wanted: bool = False) -> None:
        for atom in atoms:
            if isinstance(atom, Var) and atom.type is i64:
                if exact:
                    self.exact.add(atom)
                if wanted:
                    self.wanted.add(atom)

    def body(self, fn: Lambda) -> None:
        for let in reversed(fn.lets):
            self._let(let)

    def _let(self, let: Let) -> None:
        op = let.op
        match op:
            case Apply():
                self._apply(let.vars[0], op)
            case Cast():
                self._cast(let.vars[0], op)
            case k.Lane():
                narrow = self.decide(let.vars[0], modular=True)
                self._need((op.base,), not narrow, let.vars[0] in self.wanted)
            case k.BlockIndex() | k.WarpIndex() | CountLanes():
                self.decide(let.vars[0], modular=True)
            case For(lo=lo, hi=hi, step=step, body=body, init=init):
                self._need((*body.results, *init))
                self.body(body)
                self._need((lo, hi, step, body.params[0]), wanted=True)
                self.decide(body.params[0], modular=False)
            case While(condition=condition, body=body, init=init):
                self._need((*body.results, *condition.results, *init))
                self.body(body)
                self.body(condition)
            case If(then=then, other=other):
                self._branches(let, (then, other))
            case k.Lanes(body=body):
                self._branches(let, (body,))
            case _:
                self._other(op)

    def _branches(self, let: Let, bodies: Sequence[Lambda]) -> None:
        for number, var in enumerate(let.vars):
            narrow = self.decide(var, modular=True)
            self._need((body.results[number] for body in bodies), not narrow, var in self.wanted)
        for body in bodies:
            self.body(body)

    def _apply(self, var: Var, op: Apply) -> None:
        if var.type is not i64:
            self._need(op.args, wanted=op.fn in COMPARISONS)
        elif is_modular(op):
            narrow = self.decide(var, modular=True)
            self._need(op.args, not narrow, var in self.wanted)
        else:
            self.decide(var, modular=False)
            self._need(op.args, wanted=var in self.wanted and not self._divides_a_product(op))

    def _divides_a_product(self, op: Apply) -> bool:
        """A product of two extents is divided by one: then only the quotient is known to be small.
        """
        if op.fn not in QUOTIENTS or isinstance(op.args[1], Const):
            return False
        a, b = (self.ranges.atom(arg) for arg in op.args)
        return a is not None and b is not None and degree(a.above) > degree(b.above)

    def _cast(self, var: Var, op: Cast) -> None:
        source, into = op.arg.type, op.dtype
        assert isinstance(source, DType)
        if into is i64:
            self.decide(var, modular=source.is_integer)
        self._need((op.arg,), exact=not (into.is_integer and into.bits <= 32))

    def _other(self, op: Op) -> None:
        if not isinstance(op, INDEXED):
            self._need(atoms_in(op))
        else:
            unused = ("limit",) if isinstance(op, k.StoreCompact) else ()
            for name, field in zip(op.fields, op.values(), strict=True):
                if name in POSITIONS:
                    self._need((field,), exact=False, wanted=True)
                elif name not in unused:
                    self._need(atoms_in(field))
        for fn in lambdas_in(op):
            self._need(free_vars(fn))


def is_modular(op: Apply) -> bool:
    """Whether the low 32 bits of the operands give those of the result."""
    if op.fn == "shl":
        by = op.args[1]
        return isinstance(by, Const) and 0 <= int(by.value) < 32
    return op.fn in MODULAR
