"""radix_sort fn varying least most order xs:   a sort as it is lowered: in passes over digits

    ys: u32[n] = radix_sort (x: u32 => in x) [v] [least] [most] [rises, falls] [xs]

`varying` says for each key which of its bits are not the same in all elements, `least` and `most`
between what the key lies: what they show to be the same everywhere needs no pass. `order`, where
anybody asked, says whether no element comes before the one before it, and whether each does: such
elements need no pass either. The key is computed anew in every pass, so it is a few operations that
read no arrays.
"""

from __future__ import annotations

from collections.abc import Iterator

from flatweave.array_ir.interp import Interp
from flatweave.base.dtypes import bool_
from flatweave.ops.sort import in_order, keys_misfit
from flatweave.terms.batch import Env, Values
from flatweave.terms.rules import types_misfit
from flatweave.terms.syntax import Atom, Lambda, Op, Type, op, types_of


@op
class RadixSort(Op):
    """Arrays of rank 1 and one extent in stable ascending order of their unsigned keys."""

    fn: Lambda
    varying: tuple[Atom, ...]
    least: tuple[Atom, ...]
    most: tuple[Atom, ...]
    order: tuple[Atom, ...]
    xs: tuple[Atom, ...]

    def result_types(self) -> tuple[Type, ...]:
        return types_of(self.xs)

    def misfits(self) -> Iterator[str]:
        yield from keys_misfit(self.fn, self.xs)
        keys = self.fn.result_types()
        yield from types_misfit("the bits that vary", self.varying, keys)
        yield from types_misfit("the least keys", self.least, keys)
        yield from types_misfit("the greatest keys", self.most, keys)
        yield from types_misfit("the order", self.order, [bool_] * len(self.order))

    def evaluate(self, interp: Interp, env: Env) -> Values:
        return in_order(interp, env, self.fn, self.xs)
