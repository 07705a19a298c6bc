"""Where the elements of a body are read: each of its values as a sum over the body's axes.

sweep [n, m] (i, j =>
    a: i64 = sub i 1                    i - 1
    b: i64 = maximum a 0                maximum(i - 1, 0)
    c: i64 = index cols [j]             index(cols, j)
    d: i64 = add c 4                    index(cols, j) + 4
    x: f32 = index xs [b, d]            along i and j; by nothing known from one j to the next

How far an index is from an element's own, where no edge is near (`find_offset`):

    own i         i - 2                                   -2
                  maximum(i - 2, 0)                       -2
                  minimum(maximum(i - 2, 0) + 1, n)       -1
                  end - abs(end - i - 1)                   1
                  select(lt(i, 1), j, i - 1)              -1
                  mod(i + 3, n)                            3
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

from flatweave.access import (
    LARGEST,
    NOTHING,
    Factor,
    Modified,
    Term,
    Value,
    factors_of,
    product,
    replaced,
    size_of,
    variables_in,
)
from flatweave.base.dtypes import i64
from flatweave.base.records import record
from flatweave.terms.bounds import Sum
from flatweave.terms.build import Builder, index
from flatweave.terms.control import Apply, Cast
from flatweave.terms.syntax import Atom, Const, Lambda, Let, Op, Var, constant
from flatweave.terms.traverse import atoms_in, free_vars, lambdas_in, walk_lets

NOWHERE: frozenset[Var] = frozenset()


class Values:
    """What values are: sums of variables without a `definition`, and of functions of such sums."""

    def __init__(self, definition: Callable[[Var], Op | None]) -> None:
        self._definition = definition
        self._sums: dict[Atom, Value] = {}
        self._atoms: dict[Value, Atom] | None = None

    def definition(self, atom: Atom) -> Op | None:
        """The op that binds a variable alone."""
        return self._definition(atom) if isinstance(atom, Var) else None

    def of(self, atom: Atom) -> Value:
        """What a value is."""
        waiting = [] if atom in self._sums else [atom]  # no recursion: chains may be long
        while waiting:
            unknown = [part for part in self._parts(waiting[-1]) if part not in self._sums]
            if not unknown:
                made = waiting.pop()
                self._sums[made] = self._sum(made)
            waiting += unknown
        return self._sums[atom]

    def _parts(self, atom: Atom) -> list[Atom]:
        """The values that one is made of."""
        op = self.definition(atom)
        return [] if op is None or _is_opaque(op) else atoms_in(op)

    def _sum(self, atom: Atom) -> Value:
        if isinstance(atom, Const):
            return Sum({}, int(atom.value)) if atom.dtype is i64 else Sum({atom: 1})
        op = self._definition(atom)
        if isinstance(op, Apply) and atom.type is i64:
            found = self._arithmetic(op)
            if found is not None and len(found.terms) <= LARGEST:
                return _wrapped(found)
        return Sum({atom if op is None else self._modified(op) or atom: 1})

    def _arithmetic(self, op: Apply) -> Value | None:
        if op.fn not in ("add", "sub", "mul", "shl"):
            return None
        a, b = map(self.of, op.args)
        if op.fn == "shl":
            return None if b.terms or not 0 <= b.more < i64.bits else NOTHING.plus(a, 1 << b.more)
        if op.fn != "mul":
            return a.plus(b, 1 if op.fn == "add" else -1)
        return product(a, b) if len(a.terms) * len(b.terms) <= LARGEST else None

    def _modified(self, op: Op) -> Modified | None:
        """A function of values and of what is in arrays; None of what has an effect or a body."""
        if _is_opaque(op):
            return None
        said = (op.fn, *op.args) if isinstance(op, Apply) else (op.name, *_leaves(op.values()))
        fn = ".".join(str(each) for each in said if not isinstance(each, Var | Const))
        args = tuple(self.of(each) for each in said if isinstance(each, Var | Const))
        size = 1 + sum(map(size_of, args))
        return Modified(fn, args, size) if size <= LARGEST else None

    def atom(self, sum_: Value) -> Atom | None:
        """A value, looked at before, that is this sum; or a constant."""
        if not sum_.terms:
            return constant(sum_.more, i64)
        ((term, count), *others) = sum_.terms.items()
        if isinstance(term, Var) and count == 1 and not (others or sum_.more):
            return term
        if self._atoms is None or len(self._atoms) < len(self._sums):
            self._atoms = {value: atom for atom, value in reversed(self._sums.items())}
        return self._atoms.get(sum_)


def scalar_values(definition: Callable[[Var], Op | None]) -> Values:
    """The values of scalar functions. All else is a variable: memory changes, and an op may bind
    several."""

    def scalar(var: Var) -> Op | None:
        op = definition(var)
        return op if isinstance(op, Apply | Cast) else None

    return Values(scalar)


def kernel_values(body: Lambda) -> Values:
    """The values of a kernel's body, whose loads are variables: memory changes."""
    scalar = (let for let in walk_lets(body) if isinstance(let.op, Apply | Cast))
    return Values({let.vars[0]: let.op for let in scalar}.get)


class Accesses(Values):
    """The values of a body and of the functions inside it, over some `axes`.

    What is bound outside of the body, and what is `uniform`, is the same along all axes.
    """

    def __init__(
        self, axes: Collection[Var], lets: Iterable[Let], uniform: Collection[Var] = ()
    ) -> None:
        self.made: dict[Var, Op] = {}
        self._along: dict[Var, frozenset[Var]] = {axis: frozenset((axis,)) for axis in axes}
        self._along.update(dict.fromkeys(uniform, NOWHERE))
        super().__init__(self.made.get)
        self._note(lets)

    def _note(self, lets: Iterable[Let]) -> None:
        """Know of lets, and of those inside them, what they depend on."""
        for let in lets:
            along = self._along_all(free_vars(let.op))
            for fn in lambdas_in(let.op):
                for param in fn.params:
                    self._along.setdefault(param, along)
                self._note(fn.lets)
            for var in let.vars:
                self._along.setdefault(var, along)
            if len(let.vars) == 1:
                self.made[let.vars[0]] = let.op

    def _along_all(self, variables: Iterable[Var]) -> frozenset[Var]:
        found = [along for var in variables if (along := self._along.get(var))]
        if len(found) < 2:
            return found[0] if found else NOWHERE
        return NOWHERE.union(*found)

    def along(self, atom: Atom) -> frozenset[Var]:
        """The axes that a value depends on."""
        return self._along.get(atom, NOWHERE) if isinstance(atom, Var) else NOWHERE

    def step(self, atom: Atom, axis: Var) -> Value | None:
        """By how much a value grows from one index of an axis to the next, the others the same;
        None where that is not the same all along it."""
        if axis not in self.along(atom):
            return NOTHING
        total = NOTHING
        for term, count in self.of(atom).terms.items():
            factors = list(factors_of(term))
            along = [factor for factor in factors if axis in self.along_term(factor)]
            if along == [axis]:
                factors.remove(axis)
                total = total.plus(_product(factors), count)
            elif along:
                return None
        return total

    def moved(self, value: Value, axis: Var, to: Value) -> Value | None:
        """What a value is at another index of an axis; None where it is opaque along that."""
        known = (var is axis or axis not in self.along(var) for var in variables_in(value))
        return replaced(value, {axis: to}) if all(known) else None

    def neighbours(self, size: Atom, axis: Var) -> tuple[Atom, Atom] | None:
        """f(i) and f(i + 1), if a value is their difference along an axis."""
        match self.definition(size):
            case Apply(fn="sub", args=(after, before)):
                if self.moved(self.of(before), axis, Sum({axis: 1}, 1)) == self.of(after):
                    return before, after
        return None

    def at_most(self, atom: Atom, bound: Collection[Var]) -> Atom | None:
        """What is at least a value, and not `bound` as that may be: the value, or its upper end."""
        if atom not in bound:
            return atom
        match list(self.of(atom).terms.items()):
            case [(Modified(fn="minimum", args=ends), 1)] if not self.of(atom).more:
                atoms = [self.atom(end) for end in ends]
                return next((end for end in atoms if end and end not in bound), None)
        return None

    def is_linear(self, atom: Atom, axis: Var) -> bool:
        """Whether a value advances along an axis by a number that is the same all along it."""
        return axis in self.along(atom) and self.step(atom, axis) is not None

    def group(self, axis: Var) -> int:
        """How many neighbours along an axis share the quotients that its index is divided to, of
        which there may be several; 1 where nothing divides it."""
        alone: Value = Sum({axis: 1})
        for var, along in self._along.items():
            if axis in along and var in self.made:
                match list(self.of(var).terms):
                    case [Modified(fn="floordiv", args=(index, by))] if index == alone:
                        if not by.terms and by.more > 1:
                            return by.more
        return 1

    def along_term(self, term: Term) -> frozenset[Var]:
        """The axes that a term of a sum depends on."""
        if isinstance(term, Modified):
            inside = [each for arg in term.args for each in arg.terms]
            return NOWHERE.union(*map(self.along_term, inside))
        if isinstance(term, tuple):
            return NOWHERE.union(*map(self.along_term, term))
        return self.along(term) if isinstance(term, Var) else NOWHERE


def _is_opaque(op: Op) -> bool:
    """Whether it has an effect or a body: its results are then opaque."""
    return bool(op.effect) or any(lambdas_in(op))


def _leaves(field: Any) -> Iterator[Any]:
    """The atoms of a field, and all about it that is no atom."""
    if isinstance(field, tuple):
        for each in field:
            yield from _leaves(each)
    else:
        yield field


def _product(factors: Sequence[Factor]) -> Value:
    if not factors:
        return Sum({}, 1)
    return Sum({tuple(factors) if len(factors) > 1 else factors[0]: 1})


def _wrapped(sum_: Value) -> Value:
    """The sum with numbers of 64 bits."""
    numbers = (*sum_.terms.values(), sum_.more)
    if min(numbers) >= i64.low and max(numbers) <= i64.high:
        return sum_
    terms = {term: int(constant(n, i64).value) for term, n in sum_.terms.items()}
    return Sum(terms, int(constant(sum_.more, i64).value))


def write_sum(b: Builder, value: Value) -> Atom | None:
    """The lets that compute a sum of variables and products of them; None for any other."""
    total: Atom = index(value.more)
    for term, count in value.terms.items():
        part: Atom = index(count)
        for factor in factors_of(term):
            if not isinstance(factor, Var):
                return None
            part = b.mul(factor, part)
        total = b.add(part, total)
    return total


def asks_if_inside(known: Values, test: Atom, index: Atom, extent: Atom) -> bool:
    """Whether a test only asks if 0 <= index < extent, or that part of it which is not known."""
    match known.definition(test):
        case Apply(fn="and", args=parts):
            return all(asks_if_inside(known, part, index, extent) for part in parts)
        case Apply(fn="ge", args=(value, Const(value=0))):
            return value == index
        case Apply(fn="lt", args=args):
            return args == (index, extent)
    return False


def unwrapped(known: Values, index: Atom, extent: Atom) -> Atom:
    """An index before it goes round at an extent, from which it differs by multiples of that."""
    end = known.of(extent)
    match known.definition(index):
        case Apply(fn="mod", args=(place, by)) if known.of(by) == end:
            return unwrapped(known, place, extent)
        case Apply(fn="select", args=(_, moved, place)):
            gap = known.of(moved).plus(known.of(place), -1)
            if gap in (end, NOTHING.plus(end, -1)):
                return unwrapped(known, place, extent)
    return index


FURTHEST = 1 << 16
"""From an element's own index."""


@record
class _Side:
    """The values sign * own + rest + offset: counted from an end where the sign is -1."""

    sign: int
    rest: Value
    offset: int


def find_offset(known: Accesses, index: Atom, own: Var) -> int | None:
    """How far an index is from an element's own; None where that is not known."""
    side = _side(known, known.of(index), own)
    return side.offset if side is not None and _is_own(side) else None


def find_exact_offset(known: Values, index: Atom, own: Var) -> int | None:
    """How far an index is from a variable, where both are inside of the array: there it may be
    counted from the end if it is negative."""
    match known.definition(index):
        case Apply(fn="select", args=(test, _, other)):
            match known.definition(test):
                case Apply(fn="lt", args=(asked, Const(value=0))) if asked == other:
                    index = other
    value = known.of(index)
    return value.more if value.terms == {own: 1} and abs(value.more) <= FURTHEST else None


def _is_own(side: _Side) -> bool:
    """Whether values are counted from the element's own index."""
    return side.sign == 1 and not side.rest.terms


def _side(known: Accesses, value: Value, own: Var) -> _Side | None:
    here = {term: n for term, n in value.terms.items() if own in known.along_term(term)}
    if len(here) != 1 or abs(value.more) > FURTHEST:
        return None
    ((term, sign),) = here.items()
    rest: Value = Sum({other: n for other, n in value.terms.items() if other is not term})
    side = _Side(1, NOTHING, 0) if term is own else _changed(known, term, own)
    if side is None or abs(sign) != 1 or (sign > 0 and rest.terms):
        return None
    return _Side(sign * side.sign, rest.plus(side.rest, sign), sign * side.offset + value.more)


def _changed(known: Accesses, term: Term, own: Var) -> _Side | None:
    """A function of an index near the element's own that stays near it."""
    if not isinstance(term, Modified):
        return None
    match term.fn, [_side(known, arg, own) for arg in term.args]:
        case "abs", [_Side() as side]:  # own indices are 0 or more, and so are their mirror images
            return side
        case "minimum" | "maximum", [_Side() as side, _] if _is_own(side):
            return side
        case "minimum" | "maximum", [None, _Side() as side] if _is_own(side):
            return side
        case "select", [_, *sides]:
            return _nearest(sides)
        case "mod", [side, _]:
            return side
    return None


def _nearest(sides: Iterable[_Side | None]) -> _Side | None:
    """The nearest of several: others go round an edge."""
    near = [side for side in sides if side is not None]
    return min(near, key=lambda side: abs(side.offset), default=None)
