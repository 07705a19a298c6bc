"""An operator without a neutral element gets one: elements stand behind a flag that says whether
there is one at all.

    (true, a) op (true, b) = (true, a op b)      (false, _) op x = x op (false, _) = x
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import DType, bool_
from flatweave.terms.build import FALSE, Builder
from flatweave.terms.control import If
from flatweave.terms.syntax import Atom, Const, Lambda, constant


def with_flag(b: Builder, fn: Lambda) -> tuple[Lambda, tuple[Const, ...]]:
    """The operator on elements behind a flag, and its neutral element, which is none."""
    half = len(fn.results)
    types = [param.type for param in fn.params[:half]]

    def combine(c: Builder, *given: Atom) -> Sequence[Atom]:
        (left, *old), (right, *new) = given[: 1 + half], given[1 + half :]
        both, one = c.inner(), c.inner()
        joined = both.close([], both.inline(fn, (*old, *new)))
        only = [one.apply("select", left, x, y) for x, y in zip(old, new, strict=True)]
        found = c.emit(If(c.apply("and", left, right), joined, one.close([], only)))
        return (c.apply("or", left, right), *found)

    zeros = [constant(0, dtype) for dtype in types if isinstance(dtype, DType)]
    return b.function([bool_, *types, bool_, *types], combine), (FALSE, *zeros)
