"""An operator by a call, where timing or the number of threads says which copy of its code runs.

    end = fn prefix aggregate        call (fn) prefix aggregate       one function, not two copies

Two copies of one operator need not agree on the bits of a NaN: of two NaNs an addition gives its
first operand, and LLVM may turn operands round in one copy and not in the other. What the same
function makes of the same values is always the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flatweave.base.dtypes import f32, f64
from flatweave.kernel_ir.syntax import Call
from flatweave.passes.operators import makes_nan, reads_nan
from flatweave.terms.build import Builder
from flatweave.terms.control import If
from flatweave.terms.syntax import Atom, Lambda, Type, types_of

Operator = Callable[[Builder, Sequence[Atom]], tuple[Atom, ...]]


def called(b: Builder, fns: Sequence[Lambda], types: Sequence[Type], fn: Operator) -> Operator:
    """`fn`, which applies `fns` to values of `types`, by one function for all that stands in `b`;
    written out if copies of it agree."""
    if not any(makes_nan(part) for part in fns):
        return fn
    function = b.function((*types, *types), lambda inside, *args: fn(inside, args))
    return lambda c, args: c.emit(Call(function, tuple(args)))


def called_for_nan(b: Builder, part: Lambda, fn: Operator) -> Operator:
    """`fn`, which applies `part`, written out; and by one function where a NaN comes of it."""
    types = types_of(part.params[: len(part.results)])
    call = called(b, [part], types, fn)
    if call is fn or reads_nan(part) or not any(type_ in (f32, f64) for type_ in types):
        return call

    def unless_nan(c: Builder, args: Sequence[Atom]) -> tuple[Atom, ...]:
        found = fn(c, args)
        some, none = c.inner(), c.inner()
        once_more = some.close([], call(some, args))
        return c.emit(If(_any_nan(c, found), once_more, none.close([], found)))

    return unless_nan


def _any_nan(b: Builder, values: Sequence[Atom]) -> Atom:
    """Whether a value does not equal itself."""
    first, *others = [b.apply("ne", x, x) for x in values if x.type in (f32, f64)]
    for other in others:
        first = b.apply("or", first, other)
    return first
