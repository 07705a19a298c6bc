"""What is known of a kernel before it is written: shapes of variables, trip counts."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum, auto
from typing import NamedTuple

from flatweave.access import most
from flatweave.access.analyse import scalar_values
from flatweave.base.dtypes import i64
from flatweave.kernel_ir import Gives, KernelOp
from flatweave.kernel_ir.host import Alloc, Launch
from flatweave.kernel_ir.lane_facts import BITS, Zeros, zeros_in, zeros_of
from flatweave.kernel_ir.syntax import Backoff, Lane
from flatweave.kernel_ir.warp_ops import ReduceLanes, ScanLanes
from flatweave.terms.control import Apply, Cast, For, If, While
from flatweave.terms.syntax import Atom, Const, Lambda, Let, Op, Type, Var
from flatweave.terms.traverse import atoms_in, lambdas_in

# -- shapes ---------------------------------------------------------------------------------------
#
# How each variable of a `lanes` region is held: one value, a base, or one value for each lane.
#
#     lanes 16 (() =>
#         i: i64 = lane base               # LINEAR:   base + 0, base + 1, .. base + 15
#         j: i64 = apply add i n           # LINEAR:   (base + n) + 0, ..
#         k: i64 = apply sub n i           # REVERSED: (n - base) - 0, ..
#         p: bool = apply lt i j           # UNIFORM:  base < base + n
#         x: f32 = load xs j               # VARYING
#         y: f32 = load xs n)              # UNIFORM
#
# Where the base is known to be a multiple of the lanes, the low bits of i are the lane's number,
# and
#
#     floordiv i 32    the same in all lanes      mod i 32    linear
#     and i 48         the same                   and i 31    linear
#     xor i 16         linear                     xor i 15    reversed
#     shr i 4          the same                   lt i 48     the same
#
# as are a tile's row and column, or the partner of an element in a network. What holds the result
# is always the function of what lane 0 has.
#
# Outside the region everything is uniform. Variables that a loop carries start with the shape of
# their first value and become varying when an iteration of the loop makes them so.


class Shape(Enum):
    """One value for all lanes, base + lane, base - lane, or one value for each lane."""

    UNIFORM = auto()
    LINEAR = auto()
    REVERSED = auto()
    VARYING = auto()


UNIFORM, LINEAR, REVERSED, VARYING = Shape
_LINEAR_LAWS = {
    ("add", LINEAR, UNIFORM): LINEAR,
    ("add", UNIFORM, LINEAR): LINEAR,
    ("add", REVERSED, UNIFORM): REVERSED,
    ("add", UNIFORM, REVERSED): REVERSED,
    ("add", LINEAR, REVERSED): UNIFORM,
    ("add", REVERSED, LINEAR): UNIFORM,
    ("sub", LINEAR, UNIFORM): LINEAR,
    ("sub", REVERSED, UNIFORM): REVERSED,
    ("sub", UNIFORM, LINEAR): REVERSED,
    ("sub", UNIFORM, REVERSED): LINEAR,
}
_SAME_LAWS = {
    **dict.fromkeys(("minimum", "maximum")),
    **dict.fromkeys(("sub", "eq", "ne", "lt", "le", "gt", "ge"), UNIFORM),
}
_TURNED = {"le": "ge", "gt": "lt", "and": "and", "or": "or", "xor": "xor"}
"""f a b as a function of b and a."""


class Region(NamedTuple):
    """How many lanes there are, and which low bits of variables are known to be zero."""

    width: int
    zeros: Zeros


ANY_REGION = Region(1, {})


def applied_shape(op: Apply, shapes: Sequence[Shape], region: Region) -> Shape:
    """The shape of a scalar function's value; where it is not VARYING, `fn` of the bases is it."""
    dtype = op.args[-1].type
    found = apply_shape(op.fn, shapes, dtype)
    if found is not VARYING or dtype is not i64:
        return found
    return _aligned(op.fn, tuple(shapes), op.args, region)


def apply_shape(fn: str, shapes: Sequence[Shape], dtype: Type) -> Shape:
    """The same, by the laws for every base."""
    if all(shape is UNIFORM for shape in shapes):
        return UNIFORM
    if VARYING in shapes or dtype is not i64:
        return VARYING
    if len(shapes) == 2:
        a, b = shapes
        if a is b and fn in _SAME_LAWS:
            return _SAME_LAWS[fn] or a
        return _LINEAR_LAWS.get((fn, a, b), VARYING)
    if fn == "select" and shapes[0] is UNIFORM and shapes[1] is shapes[2]:
        return shapes[1]
    return VARYING


def _aligned(
    fn: str, shapes: tuple[Shape, ...], args: Sequence[Atom], region: Region
) -> Shape:
    """The same, by the laws for bases that are multiples of the lanes."""
    lanes = zeros_in(region.width)
    if shapes == (UNIFORM, LINEAR) and fn in _TURNED:
        fn, args = _TURNED[fn], args[::-1]
    elif shapes != (LINEAR, UNIFORM):
        return VARYING
    if not lanes or region.width != 1 << lanes or zeros_of(region.zeros, args[0]) < lanes:
        return VARYING
    by, whole = args[1], zeros_of(region.zeros, args[1]) >= lanes
    if isinstance(by, Const):
        found = _by_constant(fn, int(by.value), lanes)
        if found is not None:
            return found
    if whole and fn in ("and", "lt", "ge"):
        return UNIFORM
    return LINEAR if whole and fn in ("or", "xor") else VARYING


def _by_constant(fn: str, value: int, lanes: int) -> Shape | None:
    """The laws that ask for a known second operand."""
    whole, ones = zeros_in(value) >= lanes, zeros_in(value + 1) >= lanes
    match fn:
        case "floordiv" | "mod" if whole and value > 0:
            return UNIFORM if fn == "floordiv" else LINEAR
        case "shr" if lanes <= value < BITS:
            return UNIFORM
        case "and" | "xor" if ones:
            return LINEAR if fn == "and" else REVERSED
    return None


def join(a: Shape, b: Shape) -> Shape:
    """The shape that holds both."""
    return a if a is b else VARYING


def is_counted(lo: Shape, hi: Shape, step: Shape) -> bool:
    """Whether all lanes take the same number of iterations from lo to hi."""
    return lo is hi and lo is not VARYING and step is UNIFORM


def counter_shape(lo: Shape, step: Shape) -> Shape:
    """The shape of lo, lo + step, .. while a lane runs; lanes that are done may count on."""
    return lo if step is UNIFORM else VARYING


def lane_shapes(body: Lambda, region: Region = ANY_REGION) -> dict[Var, Shape]:
    """The shape of every variable in the body of a `lanes` region that is not uniform."""
    return _Analysis(region).region(body)


class _Analysis:
    """The shapes found so far; loops are walked again until nothing changes."""

    def __init__(self, region: Region) -> None:
        self._region = region
        self.shapes: dict[Var, Shape] = {}

    def region(self, body: Lambda) -> dict[Var, Shape]:
        self.run(body, [])
        return {var: shape for var, shape in self.shapes.items() if shape is not UNIFORM}

    def shape(self, atom: Atom) -> Shape:
        return UNIFORM if isinstance(atom, Const) else self.shapes.get(atom, UNIFORM)

    def run(self, fn: Lambda, params: Sequence[Shape]) -> list[Shape]:
        """The shapes of the results of `fn` on arguments of these shapes."""
        self.shapes.update(zip(fn.params, params, strict=True))
        for let in fn.lets:
            self.shapes.update(zip(let.vars, self.of(let.op), strict=True))
        return [self.shape(atom) for atom in fn.results]

    def of(self, op: Op) -> Sequence[Shape]:
        """The shapes of what an op binds."""
        match op:
            case Apply(args=args):
                shapes = [self.shape(arg) for arg in args]
                return (applied_shape(op, shapes, self._region),)
            case Cast(arg=arg):
                return (self.scattered([arg]),)
            case Lane(reverse=reverse):
                return (REVERSED if reverse else LINEAR,)
            case If():
                return self.of_if(op)
            case While():
                return self.of_while(op)
            case For():
                return self.of_for(op)
            case ReduceLanes(fn=operator, args=args):
                self.run(operator, [VARYING] * (2 * len(args)))
                return [UNIFORM] * len(args)
            case ScanLanes(fn=operator, args=args):
                self.run(operator, [VARYING] * (2 * len(args)))
                return [VARYING] * len(args)
            case KernelOp(gives=Gives.BY_LANE):
                return [VARYING] * len(op.result_types())
            case KernelOp(gives=Gives.AS_OPERANDS):
                return [self.scattered(atoms_in(op))] * len(op.result_types())
            case _:
                return [UNIFORM] * len(op.result_types())

    def scattered(self, atoms: Iterable[Atom]) -> Shape:
        """The shape of what follows no law: varying as soon as an operand is not uniform."""
        return UNIFORM if all(self.shape(atom) is UNIFORM for atom in atoms) else VARYING

    def of_if(self, op: If) -> list[Shape]:
        then, other = self.run(op.then, []), self.run(op.other, [])
        if self.shape(op.condition) is not UNIFORM:
            return [VARYING] * len(then)
        return [join(a, b) for a, b in zip(then, other, strict=True)]

    def of_while(self, op: While) -> list[Shape]:
        state = [self.shape(atom) for atom in op.init]
        while True:
            condition = self.run(op.condition, state)[0]
            body = self.run(op.body, state)
            after = [join(a, b) for a, b in zip(state, body, strict=True)]
            if condition is not UNIFORM:
                after = [VARYING] * len(state)
            if after == state:
                return state
            state = after

    def of_for(self, op: For) -> list[Shape]:
        lo, hi, step = (self.shape(atom) for atom in (op.lo, op.hi, op.step))
        state = [self.shape(atom) for atom in op.init]
        if not is_counted(lo, hi, step):
            state = [VARYING] * len(state)
        while True:
            body = self.run(op.body, [counter_shape(lo, step), *state])
            after = [join(a, b) for a, b in zip(state, body, strict=True)]
            if after == state:
                return state
            state = after


# -- trip count -----------------------------------------------------------------------------------
#
# Upper bounds of trip counts, read off a loop's own bounds, and what an iteration costs.
#
#     hi = minimum (add lo 4096) n          for lo hi 64: at most 64 iterations
#     lo = mul (floordiv hi 16) 16          for lo hi 1: at most 15, the rest of a division


Made = Mapping[Var, Op]  # how scalars were computed

LONG = 1 << 12  # what is charged for a let that may take a microsecond
SHORT = 1 << 10  # a loop whose iterations together cost no more than this is short


def cost_of(made: Made, *bodies: Lambda) -> int:
    """About how many lets run; loops inside that are not short count for one."""
    total = 0
    for body in bodies:
        own: dict[Var, Op] = {
            let.vars[0]: let.op for let in body.lets if isinstance(let.op, Apply)
        }
        # loops in the body are bounded by what it computes
        inside = ChainMap(own, made) if own else made  # type: ignore[arg-type]  # never changed
        total += sum(_cost(inside, let) for let in body.lets)
    return total


def _cost(made: Made, let: Let) -> int:
    match let.op:
        case If(then=then, other=other):
            return 1 + cost_of(made, then, other)
        case For() as op:
            return 1 + (_cost_of_short(made, op) or 0)
        case While():
            return 1
        case Backoff() | Launch() | Alloc():
            return LONG
    return 1 + cost_of(made, *lambdas_in(let.op))


def is_short(made: Made, op: For) -> bool:
    """Whether all iterations together cost little."""
    return _cost_of_short(made, op) is not None


def _cost_of_short(made: Made, op: For) -> int | None:
    """What all iterations of a short loop cost together; None of one that is not short."""
    turns = trip_count_bound(made, op)
    total = SHORT + 1 if turns is None else turns * (1 + cost_of(made, op.body))
    return total if total <= SHORT else None


def trip_count_bound(made: Made, op: For) -> int | None:
    """An upper bound of the number of iterations; None when nothing bounds them."""
    step = op.step
    if not isinstance(step, Const) or step.value <= 0:
        return None
    known = scalar_values(made.get)
    gap = most(known.of(op.hi).plus(known.of(op.lo), -1))
    return None if gap is None else max(0, -(-gap // int(step.value)))
