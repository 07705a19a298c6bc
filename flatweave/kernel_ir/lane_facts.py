"""What is known before a kernel runs: what variables are multiples of, which of them differ between
lanes and warps, and where not all warps of a block come."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from flatweave.access import arguments_of, variables_in
from flatweave.access.analyse import Values, kernel_values
from flatweave.base.dtypes import i64
from flatweave.kernel_ir import Gives, KernelOp
from flatweave.kernel_ir.hierarchy import LEVELS, WARP, ForAll, Local, WarpShared
from flatweave.kernel_ir.memory_ops import Atomic, ThreadMemory
from flatweave.kernel_ir.syntax import Call, Lane, Lanes, StoreCompact, Sync, WarpIndex
from flatweave.terms.control import Apply, For, If, While
from flatweave.terms.syntax import Atom, Const, Lambda, Let, Op, Var
from flatweave.terms.traverse import atoms_in, lambdas_in, walk_lets

# How many low bits of each integer of a kernel are known to be zero: what it is a multiple of.
#
#     base: 0, 64, 128, ..         6
#     s = mul block 1024           10
#     i = add s base               6
#     j = shl i 1                  7
#     k = mod n 64                 0
#     e = sub n k                  6         the remainder is subtracted
#
# That of `lane base` is that of its base, the value of lane 0. Sums, products and bits wrap
# without changing it.


BITS = 64
Zeros = Mapping[Var, int]


def trailing_zeros(body: Lambda) -> Zeros:
    """Those of the variables that have any."""
    found = _Zeros(kernel_values(body))
    found.body(body)
    return found.zeros


def zeros_of(zeros: Zeros, atom: Atom) -> int:
    """Those of a variable or of a number."""
    if isinstance(atom, Var):
        return zeros.get(atom, 0)
    return zeros_in(int(atom.value)) if atom.dtype.is_integer else 0


def zeros_in(value: int) -> int:
    """Low bits of a number that are zero; of 0 all are."""
    return (value & -value).bit_length() - 1 if value else BITS


class _Zeros:
    """What has been found so far."""

    def __init__(self, values: Values) -> None:
        self.zeros: dict[Var, int] = {}
        self._values = values

    def body(self, fn: Lambda) -> None:
        """All variables of a body."""
        for let in fn.lets:
            match let.op:
                case Apply(fn=name, args=args):
                    self._know(let.vars[0], self._applied(name, args))
                case Lane(base=base):
                    self._know(let.vars[0], self._of(base))
                case For(lo=lo, step=step, body=inner):
                    self._know(inner.params[0], min(self._of(lo), self._of(step)))
            for inner in lambdas_in(let.op):
                self.body(inner)

    def _know(self, var: Var, count: int) -> None:
        if count > 0:
            self.zeros[var] = min(count, BITS)

    def _of(self, atom: Atom) -> int:
        return zeros_of(self.zeros, atom)

    def _applied(self, name: str, args: Sequence[Atom]) -> int:
        """Those of what a scalar function gives."""
        known = [self._of(arg) for arg in args]
        match name, args:
            case ("add" | "or" | "xor" | "minimum" | "maximum"), _:
                return min(known)
            case "and", _:
                return max(known)
            case "mul", _:
                return sum(known)
            case "select", _:
                return min(known[1:])
            case "sub", (a, b):
                return max(min(known), self._left(a, b))
            case "mod", (_, Const(value=int(divisor))) if divisor:
                return min(known)
            case "shl", (_, Const(value=by)) if 0 <= by < BITS:
                return known[0] + int(by)
            case "shr", (_, Const(value=by)) if 0 <= by < BITS:
                return known[0] - int(by)
            case "floordiv", (_, Const(value=int(divisor))) if divisor > 0 and _is_power(divisor):
                return known[0] - known[1]
        return 0

    def _left(self, a: Atom, b: Atom) -> int:
        """Those of a - b where b is what a leaves over: those of the divisor."""
        remainder = arguments_of(self._values.of(b), "mod")
        if remainder is None or remainder[1].terms or remainder[0] != self._values.of(a):
            return 0
        return zeros_in(remainder[1].more)


def _is_power(value: int) -> bool:
    return value & (value - 1) == 0


# Which variables of a kernel may differ from lane to lane, and from warp to warp.
#
#     j = lane i              differs between the lanes
#     w = warp_index          differs between the warps
#     x = load xs j           as its index does; memory of a thread or warp: between those, too
#     s = reduce_lanes ..     the same in all lanes
#     for_all warp n (w =>    w differs between the warps
#     for_all thread n (i =>  i differs between the lanes, between the warps if all share
#
#     e = add s n             differs as s and n do
#     d = sub e s             differs as n does
#     for s e 1               the number of iterations differs as n does
#
# What is the same for all threads of a warp differs at most between the warps, and what is the
# same for all threads of a block does not differ at all. A loop's state differs when
# its first value or an iteration makes it differ, or when lanes have different numbers of
# iterations; then all of it does.


Marks = frozenset[str]
NONE: Marks = frozenset()
BY_LANE: Marks = frozenset({"lane"})
BY_WARP: Marks = frozenset({"warp"})


class Variation:
    """The marks of every variable of a kernel's body: BY_LANE, BY_WARP, both or none."""

    def __init__(self, body: Lambda) -> None:
        self._marks: dict[Var, Marks] = {}
        self._values = kernel_values(body)
        self._width = 1
        self._in_single_warps = False  # inside the code of single warps
        before = -1
        while before != self._total():
            before = self._total()
            self._visit(body)

    def of(self, *atoms: Atom) -> Marks:
        """The marks of any of some atoms."""
        known = (self._marks.get(atom, NONE) for atom in atoms if isinstance(atom, Var))
        return NONE.union(*known)

    def turns(self, op: If | While | For) -> Marks:
        """Between whom it differs which way control goes."""
        match op:
            case If(condition=condition):
                return self.of(condition)
            case While(condition=condition):
                return self.of(*condition.results)
            case For(lo=lo, hi=hi, step=step):
                return self._of_difference(hi, lo) | self.of(step)

    def _of_difference(self, a: Atom, b: Atom) -> Marks:
        """The marks of a - b: of what is left where terms cancel."""
        if a.type is not i64:
            return self.of(a, b)
        return self.of(*variables_in(self._values.of(a).plus(self._values.of(b), -1)))

    def _total(self) -> int:
        return sum(len(marks) for marks in self._marks.values())

    def _add(self, vars_: tuple[Var, ...], marks: Marks) -> None:
        for var in vars_:
            self._marks[var] = self._marks.get(var, NONE) | marks

    def _visit(self, fn: Lambda) -> None:
        for let in fn.lets:
            self._let(let)

    def _let(self, let: Let) -> None:
        match let.op:
            case If(then=then, other=other):
                self._visit(then)
                self._visit(other)
                turns = self.turns(let.op)
                for var, a, b in zip(let.vars, then.results, other.results, strict=True):
                    self._add((var,), turns | self.of(a, b))
            case While(condition=condition, body=body, init=init):
                self._loop(let, body, body.params, init)
                self._loop(let, condition, condition.params, body.params)
            case For(body=body, init=init):
                self._add(body.params[:1], self.turns(let.op) | self.of(let.op.lo))
                self._loop(let, body, body.params[1:], init)
            case Lanes(width=width, body=body):
                outside, self._width = self._width, width
                self._visit(body)
                self._width = outside
                for var, result in zip(let.vars, body.results, strict=True):
                    self._add((var,), self.of(result) - BY_LANE)
            case ForAll():
                self._for_all(let.op)
            case Call(fn=fn, args=args):
                for param, arg in zip(fn.params, args, strict=True):
                    self._add((param,), self.of(arg))
                self._visit(fn)
                for var, result in zip(let.vars, fn.results, strict=True):
                    self._add((var,), self.of(result))
            case _:
                self._add(let.vars, self._result(let.op))
                for fn in lambdas_in(let.op):
                    self._visit(fn)

    def _for_all(self, op: ForAll) -> None:
        """Each unit has a different number."""
        around = self._in_single_warps
        of_warps = LEVELS.get(op.level) is WARP
        marks = BY_WARP if of_warps else BY_LANE if around else BY_LANE | BY_WARP
        self._add(op.body.params, marks)
        self._in_single_warps = around or of_warps
        self._visit(op.body)
        self._in_single_warps = around

    def _loop(
        self, let: Let, fn: Lambda, params: tuple[Var, ...], init: tuple[Atom, ...]
    ) -> None:
        """State goes from `init` and from an iteration's results into the parameters, and out."""
        assert isinstance(let.op, While | For)
        turns = self.turns(let.op)
        after = let.op.body.results
        for var, param, first, last in zip(let.vars, params, init, after, strict=True):
            marks = turns | self.of(first, last)
            self._add((param, var), marks)
        self._visit(fn)

    def _result(self, op: Op) -> Marks:
        """The marks of what an op without bodies of control gives."""
        marks = self.of(*atoms_in(op))
        match op:
            case Apply(fn="sub", args=(a, b)):
                return self._of_difference(a, b)
            case WarpIndex() | WarpShared():
                return BY_WARP
            case Local() | ThreadMemory() | Atomic():
                return BY_LANE | BY_WARP
            case KernelOp(gives=Gives.SAME):
                return marks - BY_LANE
            case KernelOp(gives=Gives.BY_LANE) if self._width > 1:
                return marks | BY_LANE
        return marks


# Where threads wait for each other, and where some warps of a block do not come.
#
#     if p (() => t = count_lanes q)        p is the same in all warps     all of them count
#                                           p differs between warps        `missed`
#
# If a warp can wait for its own lanes only, both are right. If each barrier is one of the block,
# the second has no meaning: some warps wait where others never arrive.


def waits(op: Op) -> bool:
    """Whether a machine whose lanes exchange values in memory puts a barrier here."""
    return isinstance(op, Sync | StoreCompact) or (isinstance(op, KernelOp) and op.together)


def meets(*lets: Let) -> bool:
    """Whether threads wait for each other in some code."""
    return any(waits(let.op) for let in walk_lets(Lambda((), lets, ())))


def missed(body: Lambda) -> Iterator[tuple[Let, Let]]:
    """The lets of a kernel at which threads wait although not all warps of a block come there, each
    with the control around it that differs between warps."""
    if any(isinstance(let.op, If | While | For) and meets(let) for let in walk_lets(body)):
        yield from _missed(Variation(body), body, None)


def _missed(variation: Variation, fn: Lambda, around: Let | None) -> Iterator[tuple[Let, Let]]:
    for let in fn.lets:
        if around is not None and waits(let.op):
            yield let, around
        inside = around
        if isinstance(let.op, If | While | For) and "warp" in variation.turns(let.op):
            inside = let
        for inner in lambdas_in(let.op):
            yield from _missed(variation, inner, inside)
