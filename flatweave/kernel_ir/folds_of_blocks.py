"""Elements combined by all threads of a block, before it is said which thread takes which.

    reduce_all (add f32) [0.0f32] 1024 1024
        (i: i64 => .. in x)                     element i
        (r: i64, sum: f32 => store sums r sum)  what is done with the sum of row r
        each=4

They stand beside `for_all` in code that is not yet divided among threads.
`kernel_passes/sequentialize.py` writes what the threads do; no machine, verifier or simulator
meets one of these.

    try_operator (a: f64, b: f64 => ..) [0.0f64] n 0
        (i: i64 => .. in x)                     element i

tries the operator of a reduction or scan. A first call of the kernel runs it in the simulator
(`operator_checks/in_kernels.py`); it is in no code that a machine runs (`without_tries`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from flatweave.base.dtypes import i64
from flatweave.base.records import replace
from flatweave.kernel_ir.op import KernelOp
from flatweave.terms.rules import function_misfits, operator_misfits, types_misfit
from flatweave.terms.syntax import Atom, Lambda, Let, op, types_of
from flatweave.terms.traverse import map_field, walk_lets


@op
class ReduceAll(KernelOp):
    """Combines `element(i)` for i below `count`, in rows of `row` neighbours, by an associative
    `fn`; a thread runs `body(r, value)` for each row r.

    Each thread takes up to `each` elements, as many as suit the machine for 0. With `any_order` the
    operator commutes. `neutral` is the value of no elements.
    """

    fn: Lambda
    neutral: tuple[Atom, ...]
    count: int
    row: int
    element: Lambda
    body: Lambda
    each: int = 1
    any_order: bool = False
    effect: ClassVar[bool] = True
    stands = frozenset({"block"})

    def misfits(self) -> Iterator[str]:
        return _misfits(self)


@op
class ScanAll(KernelOp):
    """All prefixes of `element(i)` for i below `count`, in rows of `row` neighbours, by an
    associative `fn`; a thread runs `body(i, prefix)` for each i.

    Each thread takes up to `each` elements, as many as suit the machine for 0. With
    `exclusive` a prefix ends before its element. Where `before` is given, each row goes on from it.
    """

    fn: Lambda
    neutral: tuple[Atom, ...]
    count: int
    row: int
    element: Lambda
    body: Lambda
    each: int = 1
    exclusive: bool = False
    before: tuple[Atom, ...] = ()
    effect: ClassVar[bool] = True
    stands = frozenset({"block"})

    def misfits(self) -> Iterator[str]:
        yield from _misfits(self)
        if self.before:
            yield from types_misfit("what stands before", self.before, types_of(self.neutral))


def _misfits(op: ReduceAll | ScanAll) -> Iterator[str]:
    types = types_of(op.neutral)
    yield from operator_misfits(op.fn, types)
    yield from function_misfits("the element", op.element, (i64,), types)
    yield from function_misfits("the body", op.body, (i64, *types), ())
    if op.count < 0 or op.row < 1 or op.count % op.row:
        yield f"{op.count} elements are no whole rows of {op.row}"
    if op.each < 0:
        yield f"each thread takes {op.each} elements"


@op
class TryOperator(KernelOp):
    """Tries an associative `fn` on `element(i)` for i below `length`, in rows of `row` neighbours,
    one row for 0. Where `neutral` is given, it must be."""

    fn: Lambda
    neutral: tuple[Atom, ...]
    length: Atom
    row: int
    element: Lambda
    effect: ClassVar[bool] = True
    stands = frozenset({"block", "warp"})

    def misfits(self) -> Iterator[str]:
        types = self.element.result_types()
        yield from operator_misfits(self.fn, types)
        yield from function_misfits("the element", self.element, (i64,), types)


def tries_in(fn: Lambda) -> list[Let]:
    """The lets of a body that try operators."""
    return [let for let in walk_lets(fn) if isinstance(let.op, TryOperator)]


def without_tries(fn: Lambda) -> Lambda:
    """A body without them."""
    return replace(
        fn,
        lets=tuple(
            replace(let, op=map_field(let.op, lambda atom: atom, without_tries))
            for let in fn.lets if not isinstance(let.op, TryOperator)
        ),
    )  # fmt: skip
