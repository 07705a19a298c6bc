"""recurrence: a loop that hands on a carry, or a parallel scan of its steps as matrices."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import flatweave as fw
from flatweave.tables.carry_functions import QUOTIENTS, RINGS, Factor, Form, Ring, carries, forms_of

# -- recurrence -----------------------------------------------------------------------------------
#
# recurrence: a loop that hands a carry from element to element, or a parallel scan.
#
#     step(carry, x) -> (carry, y)        jax.lax.scan's meaning
#
# The step is tried on a carry that is a function of a carry (`carry_functions.py`) instead of a
# number. Where the new carry has the same form, such functions are composed by a scan, and the
# outputs are a map over the carries.


Step = Callable[[Any, Any], tuple[Any, Any]]


@fw.operation(static="axis reverse parallel")
def recurrence(
    step: Callable[[Any, Any], Any], initial: Any, xs: Any, *, axis: int = 0, reverse: bool = False,
    parallel: bool | None = None,
) -> Any:  # fmt: skip
    """`step(carry, x) -> (carry, y)` from element to element: (the last carry, all outputs).

    As `jax.lax.scan`: `xs` is any structure of arrays, of which a step gets the elements at one
    index along `axis`, with `reverse` from the last to the first; outputs are stacked along that
    axis. For a Ragged, each row separately, from one `initial`. A parallel scan computes carries
    that are numbers, where each new one is a sum of old ones (up to four) times factors and of a
    number, over (+, *), (max, +), (min, +) or (or, and), or where the only one is a quotient of
    such sums. It rounds otherwise than the loop. `parallel=False` is always the loop,
    `parallel=True` never.

    Types: `step: (c, a) -> (c, b), initial: c, xs: a[n] -> c, b[n]`. Raises OperatorError for
    `parallel=True` where no scan is known, ArgumentError for a step that gives no pair, and
    ShapeError for arrays of different lengths. Source: `jax.lax.scan`.

        >>> fw.recurrence(lambda c, x: (0.5 * c + x, c), 0.0, [1.0, 2.0, 4.0])
        (Array(5.25, dtype=float64), Array([0. , 1. , 2.5], dtype=float64))
    """
    if isinstance(xs, fw.Ragged):
        return fw.map(
            lambda row: recurrence(step, initial, row, reverse=reverse, parallel=parallel), xs
        )
    xs = fw.asarray(xs) if isinstance(xs, list) and not xs else _arrays(xs)
    step = _paired(step)
    if axis:
        xs = _each(lambda x: fw.moveaxis(x, axis, 0), xs)
    if parallel is not False:
        found = _in_parallel(step, initial, xs, reverse)
        if found is not None:
            fw.note("the recurrence is a parallel scan of functions of the carry")
            return _stacked(found, axis)
    if parallel:
        raise fw.OperatorError.here(
            "recurrence knows no parallel form of this step.",
            "Leave parallel=True out; or compose functions of the carry yourself, with fw.scan.",
        )
    fw.note("the recurrence is a loop over the elements in order")
    return _stacked(_in_turn(step, initial, xs, reverse), axis)


def _paired(step: Callable[[Any, Any], Any]) -> Step:
    """The step, whose results are looked at: a carry and an output."""

    def checked(carry: Any, x: Any) -> tuple[Any, Any]:
        found = step(carry, x)
        if isinstance(found, tuple | list) and len(found) == 2:
            return found[0], found[1]
        what = f"{len(found)} values" if isinstance(found, tuple | list) else "one value"
        raise fw.ArgumentError.here(
            f"The step of a recurrence gives a carry and an output, but this one gives {what}.",
            "Return both: `lambda y, x: (0.9 * y + 0.1 * x,) * 2` where the carry is the output.",
        )

    return checked


def _stacked(found: tuple[Any, Any], axis: int) -> tuple[Any, Any]:
    carry, outputs = found
    if axis:
        outputs = _each(lambda y: fw.moveaxis(y, 0, axis), outputs)
    return carry, outputs


def _each(f: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """A function of the arrays of structures that are alike."""
    if tree is None:
        return None
    if isinstance(tree, dict):
        return {name: _each(f, part, *(o[name] for o in others)) for name, part in tree.items()}
    if isinstance(tree, tuple | list):
        parts = [_each(f, *group) for group in zip(tree, *others, strict=True)]
        return type(tree)(*parts) if hasattr(tree, "_fields") else tuple(parts)
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type | fw.Overriding):
        names = [field.name for field in dataclasses.fields(tree)]
        new = {n: _each(f, *(getattr(o, n) for o in (tree, *others))) for n in names}
        return dataclasses.replace(tree, **new)
    return f(tree, *others)


def _arrays(xs: Any) -> Any:
    return _each(fw.asarray, xs)


def _first(xs: Any) -> Any:
    """An array of a structure, in which each leaf has elements to go through."""
    found: list[Any] = []
    _each(found.append, xs)
    if not (found and all(x.ndim for x in found)):
        remedy = "The order is recurrence(step, initial, xs); for n steps alone give xs=fw.iota(n)."
        raise fw.ArgumentError.here("recurrence needs an array as xs, or several.", remedy)
    return found[0]


def _in_turn(step: Step, initial: Any, xs: Any, reverse: bool) -> tuple[Any, Any]:
    """The loop."""
    n = _first(xs).shape[0]

    def output(x: Any) -> Any:
        """The first output, for its type: of a carry in the dtypes that steps give."""
        carry = fw.where(True, initial, step(initial, x)[0])
        y = step(carry, x)[1]
        return 0 if y is None else y

    is_none: list[bool] = []

    def probed(x: Any) -> Any:
        is_none.append(step(initial, x)[1] is None)
        return output(x)

    room = fw.map(probed, xs)
    outputs = None if is_none[0] else _each(fw.zeros_like, room)

    def one(i: Any, state: Any) -> Any:
        carry, written = state
        at = n - 1 - i if reverse else i
        carry, y = step(carry, _each(lambda x: x[at], xs))
        if written is not None:
            written = _each(lambda out, value: fw.replace(out, at, value), written, y)
        return carry, written

    return fw.fori_loop(0, n, one, (initial, outputs))  # type: ignore[no-any-return]


def _in_parallel(step: Step, initial: Any, xs: Any, reverse: bool) -> tuple[Any, Any] | None:
    """The scan of forms; None where the step gives none."""
    starts = [fw.asarray(leaf) for leaf in _leaves(initial)]
    systems = _systems(step, initial, xs) if not any(start.ndim for start in starts) else None
    if systems is None:
        return None

    def stored(x: Any) -> Any:
        types = _types(step, initial, x)
        return tuple(s.stored(_forms(step, initial, x, s.ring), types) for s in systems)

    forms = fw.map(stored, xs)
    begin = tuple(s.start(starts, form) for s, form in zip(systems, forms, strict=True))

    def compose(f: Any, g: Any) -> Any:
        return tuple(s.then(*pair) for s, *pair in zip(systems, f, g, strict=True))

    if reverse:
        forms = _each(fw.reverse, forms)
    after = fw.scan(compose, begin, forms, check=False)
    found: dict[int, Any] = {}
    for system, steps in zip(systems, after, strict=True):
        found.update(system.carries(steps))
    carries = [
        fw.concat([fw.full(1, start.astype(after.dtype)), after])
        for start, (_, after) in zip(starts, sorted(found.items()), strict=True)
    ]
    before = [fw.reverse(carry[:-1]) if reverse else carry[:-1] for carry in carries]
    is_none: list[bool] = []

    def output(state: Any, x: Any) -> Any:
        y = step(_rebuilt(initial, state), x)[1]
        is_none.append(y is None)
        return 0 if y is None else y

    outputs = fw.map(output, tuple(before), xs)
    last = _rebuilt(initial, [carry[carry.shape[0] - 1] for carry in carries])
    return last, None if is_none[0] else outputs


def _leaves(tree: Any) -> list[Any]:
    found: list[Any] = []
    _each(found.append, tree)
    return found


def _rebuilt(tree: Any, leaves: Iterable[Any]) -> Any:
    """A structure like another one, of these leaves."""
    rest = iter(leaves)
    return _each(lambda _: next(rest), tree)


def _types(step: Step, initial: Any, x: Any) -> list[Any]:
    """The dtypes of carries."""
    found: list[Any] = []
    _each(lambda a, b: found.append(fw.where(True, a, b).dtype), initial, step(initial, x)[0])
    return found


def _forms(step: Step, initial: Any, x: Any, ring: Ring) -> dict[int, Form]:
    """What a step makes of carries, where these are forms."""
    count = len(_leaves(initial))
    return forms_of(ring, _leaves(step(_rebuilt(initial, carries(ring, count)), x)[0]))


def _systems(step: Step, initial: Any, xs: Any) -> list[System] | None:
    """Systems that have all carries, or None."""
    missing = set(range(len(_leaves(initial))))
    systems = []
    for ring in RINGS:
        found: list[dict[int, Form]] = []

        def tried(x: Any, ring: Ring = ring, found: list[dict[int, Form]] = found) -> Any:
            types = _types(step, initial, x)
            of_kind = [fw.isdtype(dtype, ring.kind) for dtype in types]
            forms = _forms(step, initial, x, ring)
            found.append({i: form for i, form in forms.items() if all(of_kind) or of_kind[i]})
            return 0

        try:
            fw.map(tried, xs)
        except Exception:  # what a step does with a number need not work with a form
            continue
        system = system_of(ring, found[0]) if found else None
        if system is not None and missing & system.carried:
            systems.append(system)
            missing -= system.carried
        if not missing:
            return systems
    return None


# -- carry steps ----------------------------------------------------------------------------------
#
# The steps of a recurrence as matrices, and their composition.


COUPLED = 4  # the most carries that one depends on: a product of matrices takes the third power


@dataclasses.dataclass(frozen=True)
class System:
    """The steps of carries, as a scan composes them.

    A step is stored as factors, flags of these and numbers: a factor for each pair `(i, j)` of a
    new and an old carry between which there may be one after some steps.
    """

    ring: Ring
    of: tuple[int, ...]  # the carries, by number; of a quotient 0 and 1
    pairs: tuple[tuple[int, int], ...]

    def stored(self, forms: Mapping[int, Form], dtypes: Sequence[Any]) -> tuple[Any, ...]:
        """A step, in the dtypes of its carries."""

        def number(value: Any, i: int) -> Any:
            like = dtypes[0 if self.ring is QUOTIENTS else i]
            return fw.asarray(self.ring.zero if value is None else value).astype(like)

        factors = [(i, forms[i].factors[j] or Factor(None, False)) for i, j in self.pairs]
        return (
            *(number(factor.value, i) for i, factor in factors),
            *(fw.asarray(factor.counts) for _, factor in factors),
            *(number(forms[i].number, i) for i in self.of),
        )

    @property
    def carried(self) -> set[int]:
        """The carries of the user."""
        return {0} if self.ring is QUOTIENTS else set(self.of)

    def start(self, values: Sequence[Any], steps: Sequence[Any]) -> tuple[Any, ...]:
        """A step that leaves out what was before, and gives carries these values, in the dtypes of
        other steps."""
        if self.ring is QUOTIENTS:
            values = values[0], fw.ones_like(values[0])
        factors = [part.dtype.type(self.ring.one) for part in steps[: len(self.pairs)]]
        numbers = [
            values[i].astype(part.dtype)
            for i, part in zip(self.of, self._numbers(steps), strict=True)
        ]
        return (*factors, *[False] * len(factors), *numbers)

    def carries(self, steps: Sequence[Any]) -> dict[int, Any]:
        """The carries after steps the first of which is a start."""
        numbers = self._numbers(steps)
        if self.ring is QUOTIENTS:
            return {0: numbers[0] / numbers[1]}
        return dict(zip(self.of, numbers, strict=True))

    def _numbers(self, step: Sequence[Any]) -> Sequence[Any]:
        return step[2 * len(self.pairs) :]

    def then(self, first: tuple[Any, ...], second: tuple[Any, ...]) -> tuple[Any, ...]:
        """A step, and after it another one."""
        count = len(self.pairs)
        (a, b), (c, d) = (
            (dict(zip(self.pairs, map(Factor, step, step[count:]), strict=False)),
             dict(zip(self.of, self._numbers(step), strict=True)))
            for step in (first, second)
        )  # fmt: skip
        factors = [self._path(i, j, a, c) for i, j in self.pairs]
        numbers = [self._number(i, a, b, c, d) for i in self.of]
        if self.ring is QUOTIENTS:
            factors, numbers = _scaled(factors, numbers)
        values, flags = zip(*factors, strict=True) if factors else ((), ())
        return (*values, *flags, *numbers)

    def _path(self, i: int, j: int, a: dict[Any, Factor], c: dict[Any, Factor]) -> Factor:
        """The factor from an old carry to a new one, by way of all between."""
        found = [
            Factor(self.ring.mul(a[k, j].value, c[i, k].value), a[k, j].counts & c[i, k].counts)
            for k in self.of if (i, k) in c and (k, j) in a
        ] or [Factor(a[i, j].value, False)]  # fmt: skip
        total = found[0]  # one alone may be anything where it does not count
        for factor in found[1:]:
            total = total.plus(factor, self.ring)
        return total

    def _number(self, i: int, a: dict[Any, Factor], b: Any, c: dict[Any, Factor], d: Any) -> Any:
        """The number of a new carry."""
        total = d[i]
        for k in self.of:
            if (i, k) in c:
                # c -> a * c has no number to multiply: infinity times its 0 would be NaN
                alone = fw.logical_not(_any(a[k, j].counts for j in self.of if (k, j) in a))
                counts = c[i, k].counts & (alone | (b[k] != b[k].dtype.type(self.ring.zero)))
                term = self.ring.mul(b[k], c[i, k].value)
                total = fw.where(counts, self.ring.add(term, total), total)
        return total


def _any(flags: Iterator[Any]) -> Any:
    found: Any = False
    for flag in flags:
        found = flag if found is False else found | flag
    return found


def _scaled(factors: list[Factor], numbers: list[Any]) -> tuple[list[Factor], list[Any]]:
    """A quotient's forms, of which the largest number is 1."""
    largest: Any = 0
    for size in (*(fw.abs(factor.masked(0)) for factor in factors), *map(fw.abs, numbers)):
        largest = fw.maximum(size, largest)
    by = fw.where((largest > 0) & (largest < fw.inf), largest, 1)
    return [f._replace(value=f.value / by) for f in factors], [number / by for number in numbers]


def system_of(ring: Ring, forms: Mapping[int, Form]) -> System | None:
    """The steps of these carries, of those that depend on nothing else; None if on too many."""
    known = dict(forms)
    while True:
        needs = {i: {j for j, f in enumerate(form.factors) if f} for i, form in known.items()}
        rest = {i: form for i, form in known.items() if needs[i] <= known.keys()}
        if len(rest) == len(known):
            break
        known = rest
    reached = needs
    for _ in needs:  # those that a carry depends on after further steps
        reached = {i: to.union(*(reached[j] for j in to)) for i, to in reached.items()}
    pairs = tuple((i, j) for i in sorted(reached) for j in sorted(reached[i]))
    if not known or any(len(to) > COUPLED for to in reached.values()):
        return None
    return System(ring, tuple(sorted(known)), pairs)
