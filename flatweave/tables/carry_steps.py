"""The steps of a recurrence as matrices, and their composition."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import flatweave as fw
from flatweave.tables.carry_functions import QUOTIENTS, Factor, Form, Ring

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
