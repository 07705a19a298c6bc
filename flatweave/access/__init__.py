"""Where elements read and write: an integer as a sum of axes and of what is uniform."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from flatweave.base.records import record
from flatweave.terms.bounds import Sum
from flatweave.terms.syntax import Atom, Const, Var

# -- value ----------------------------------------------------------------------------------------
#
# What an integer of a body is: a sum of axes, of what is uniform, and of what is no sum.
#
#     axes      the indices of a sweep, a fold, a loop, lanes or rows: variables
#     uniform   what depends on no axis: variables, too
#     Modified  a function that is no sum, of sums: a clipped index, a remainder, an element
#     products  of these, as tuples: an index times an extent
#
#     maximum (sub i 1) 0                      maximum(i - 1, 0)
#     add (mul i m) (index cols [k])           i*m + index.True(cols, k)
#
# Sums and products of i64 are exact, as both sides of their laws wrap alike.


@record(eq=True)
class Modified:
    """A function of sums; `fn` names it, and all about it that is no value. `size` is how many
    functions and terms are in it."""

    fn: str
    args: tuple[Value, ...]
    size: int

    def __repr__(self) -> str:
        return f"{self.fn}({', '.join(map(print_value, self.args))})"


Factor = Atom | Modified
Term = Factor | tuple[Factor, ...]
Value = Sum[Term]
LARGEST = 256
"""Functions and terms of a value; a larger one is opaque: its variable is the term."""
NOTHING: Value = Sum({})
ONE: Value = Sum({}, 1)


def array_read(term: Term) -> Atom | None:
    """The array that a term is an element of."""
    if not isinstance(term, Modified) or not term.fn.startswith("index."):
        return None
    (array,) = term.args[0].terms
    return array if isinstance(array, Var) else None


def arguments_of(value: Value, fn: str) -> tuple[Value, ...] | None:
    """The arguments of the function that a value is, if it is this one and nothing else."""
    match list(value.terms.items()):
        case [(Modified() as term, 1)] if term.fn == fn and not value.more:
            return term.args
    return None


def factors_of(term: Term) -> tuple[Factor, ...]:
    """What is multiplied in a term."""
    return term if isinstance(term, tuple) else (term,)


def size_of(value: Value) -> int:
    """How many functions and terms are in a value."""
    factors = (factor for term in value.terms for factor in factors_of(term))
    return sum(factor.size if isinstance(factor, Modified) else 1 for factor in factors)


def product(a: Value, b: Value) -> Value:
    """The product of two sums: of each two terms, added up."""
    terms: dict[Term, int] = {}
    for x, n in a.terms.items():
        for y, m in b.terms.items():
            both = tuple(sorted((*factors_of(x), *factors_of(y)), key=_in_order))
            terms[both] = terms.get(both, 0) + n * m
    return Sum(terms, a.more * b.more).plus(Sum(a.terms), b.more).plus(Sum(b.terms), a.more)


def _in_order(factor: Factor) -> tuple[str, int]:
    return repr(factor), id(factor)


def variables_in(value: Value) -> Iterator[Var]:
    """The variables of a value, those inside functions included."""
    for factor in (factor for term in value.terms for factor in factors_of(term)):
        if isinstance(factor, Var):
            yield factor
        elif isinstance(factor, Modified):
            for arg in factor.args:
                yield from variables_in(arg)


def replaced(value: Value, values: Mapping[Factor, Value]) -> Value:
    """The value where some of its factors have others: f(i + 1) for f(i)."""
    total: Value = Sum({}, value.more)
    for term, count in value.terms.items():
        changed = ONE
        for factor in factors_of(term):
            changed = product(changed, values.get(factor) or _inside(factor, values))
        total = total.plus(changed, count)
    return total


def _inside(factor: Factor, values: Mapping[Factor, Value]) -> Value:
    if isinstance(factor, Modified):
        args = tuple(replaced(arg, values) for arg in factor.args)
        factor = Modified(factor.fn, args, factor.size)
    return Sum({factor: 1})


Found = dict[Value, int | None]


def most(value: Value, found: Found | None = None) -> int | None:
    """The most that a sum can be, where nothing wraps; None if nothing bounds it, or if that takes
    more than LARGEST sums: each minimum and maximum in a sum doubles how many there are."""
    if not value.terms:
        return value.more
    found, bare = {} if found is None else found, Sum(value.terms)
    if bare not in found:
        if len(found) == LARGEST:
            return None
        found[bare] = None
        found[bare] = _most(bare, found)
    known = found[bare]
    return None if known is None else known + value.more


def _most(value: Value, found: Found) -> int | None:
    for term, count in sorted(value.terms.items(), key=_by_what_cancels):
        bounds = _bounds(term, count, found)
        if bounds:
            rest = value.plus(Sum({term: 1}), -count)
            ends = [most(rest.plus(bound), found) for bound in bounds]
            known = [end for end in ends if end is not None]
            if isinstance(term, Modified) and (term.fn == "maximum") == (count > 0):
                return max(known) if len(known) == len(ends) else None
            return min(known, default=None)
    return None


def _by_what_cancels(item: tuple[Term, int]) -> tuple[bool, int]:
    """Quotients that are subtracted come first, the outermost one before what is inside it."""
    term, count = item
    if isinstance(term, Modified) and term.fn == "floordiv" and count < 0:
        return False, -term.size
    return True, 0


def _bounds(term: Term, count: int, found: Found) -> Sequence[Value]:
    """Sums of which a multiple of a term is no more than one, or is one; none if none is known."""
    match term:
        case Modified(fn="minimum" | "maximum", args=ends):
            # constants first: what they bound is found before sums run out
            ends = tuple(sorted(ends, key=lambda end: len(end.terms)))
            return [NOTHING.plus(end, count) for end in ends]
        case Modified(fn="floordiv", args=(whole, by)) if not by.terms and by.more > 0:
            top = most(whole, found) if count > 0 else None
            if top is not None:
                return [Sum({}, top // by.more * count)]
            times, rest = divmod(count, by.more)
            least: Value = Sum({}, min(times, 0) * (1 - by.more))
            return [] if rest else [least.plus(whole, times)]
        case Modified(fn="mod", args=(_, by)) if not by.terms and by.more > 0:
            return [Sum({}, max(count, 0) * (by.more - 1))]
        case Modified(fn="clz") if count < 0:
            return [NOTHING]
    return []


def print_value(value: Value) -> str:
    """The terms in their order, then the constant."""
    parts = [(n, "*".join(map(_name, factors_of(term)))) for term, n in value.terms.items()]
    if value.more or not parts:
        parts.append((value.more, ""))
    text = ""
    for count, name in parts:
        sign = "-" if count < 0 else "+" if text else ""
        number = str(abs(count)) if abs(count) != 1 or not name else ""
        text += (f" {sign} " if text else sign) + "*".join(filter(None, (number, name)))
    return text


def _name(factor: Factor) -> str:
    return f"{factor.value}.{factor.dtype}" if isinstance(factor, Const) else repr(factor)
