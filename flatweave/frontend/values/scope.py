"""The trace and its nested bodies: where lets are emitted and what is known of their variables.

A trace is one program under construction. It has one scope for its top level and one for each
element function, branch and loop body while that is being traced. Lets go to the innermost scope,
except scalar work on values of outer scopes, which goes out to where those are bound: what does
not depend on the element is computed once, not once for each element.

A check is made in the outermost scope that knows its operands, but never before a body that may
not run at all, a branch or a loop body: branches not taken have no effect (`check_home`).

What is known of i64 variables saves checks: `natural` ones are not negative, `extents` are those of
arrays that exist, `bounds` says below which extent an index stays. The first two hold in the scope
that found them out, and inside it: facts from a branch are unknown after it. Sums and products
of natural values are natural unless they wrap: `counts` has those, which a read may trust, for its
check finds what wrapped, but a length may not.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numpy as np

from flatweave.base.dtypes import DType, as_dtype, i64
from flatweave.base.locks import in_every_child
from flatweave.base.source import Location
from flatweave.frontend.values.exchange import Captured
from flatweave.terms.build import Builder, folded, index
from flatweave.terms.syntax import ArrayType, Atom, Const, Lambda, Let, Op, Type, Var

Values = np.ndarray[Any, np.dtype[Any]]

KEEPS_NATURAL = frozenset({"floordiv", "mod", "minimum", "maximum", "shr", "and", "or", "xor"})
COUNTS = KEEPS_NATURAL | {"add", "mul"}  # natural as well, unless they wrap


class Part(NamedTuple):
    """An extent that with the other part of the same cut adds up to the whole."""

    whole: Atom
    cut: Any
    is_first: bool


class Trace:
    """One program under construction.

    `frame` is where its function is called, as long as that runs; calls of `asides` from there do
    not belong to it. Where `stretches` is set, the program broadcasts arrays whose extents it
    computes and that are 1 in a run (`elements/broadcasting.py`). Where `in_chunks` is, it is
    divided (`cluster/`) before anything is done for memory's sake.
    """

    def __init__(self, name: str, stretches: bool = False, in_chunks: bool = False) -> None:
        self.name = name
        self.stretches, self.in_chunks = stretches, in_chunks
        self.frame: FrameType | None = None
        self.asides: frozenset[CodeType] = frozenset()
        self.where: Location | None = None
        self.notes: list[tuple[str, Location]] = []  # what functions say of their choices
        self.unproven: list[Location] = []  # calls whose operators are tried on data
        self.homes: dict[Var, Scope] = {}
        self.bounds: dict[Var, Atom] = {}
        self.origins: dict[Var, str] = {}
        self.numbers: set[Var] = set()  # arguments that are Python numbers
        self.hints: dict[Var, int] = {}
        self.parts: dict[Atom, Part] = {}  # extents that are parts of another one
        self.pairs: dict[tuple[Atom, Atom], Atom] = {}  # real and imaginary parts of an argument
        self.params: list[Var] = []
        self.captured: list[Captured] = []
        self._captured: dict[int, Var] = {}
        self.root = Scope(self, Builder(), None)

    def scalar_param(self, hint: str, dtype: DType) -> Var:
        """A new scalar parameter of the program."""
        var = self.root.bind(hint, dtype)
        self.params.append(var)
        return var

    def extent_param(self, extent: int) -> Var:
        """A new parameter for an extent, whose value in this call messages show."""
        var = self.scalar_param("n", i64)
        self.root.natural.add(var)
        self.root.extents.add(var)
        self.hints[var] = extent
        return var

    def array_param(
        self, hint: str, shape: Sequence[int], dtype: DType, ones: frozenset[int] = frozenset(),
        pairs: bool = False,
    ) -> Var:
        """New parameters for an array: its extents but for the axes in `ones`, then the array. The
        program serves every size. The last extent of `pairs` is a parameter, and known to be 2."""
        extents: list[Atom] = [
            index(1) if axis in ones else self.extent_param(extent)
            for axis, extent in enumerate(shape)
        ]
        if pairs:
            extents[-1] = index(2)
        var = self.root.bind(hint, ArrayType(dtype, tuple(extents)))
        self.params.append(var)
        return var

    def capture(
        self, values: Any, pairs: bool = False, source: Any = None,
        read: Callable[[Any], Any] | None = None,
    ) -> Var:
        """An array that a function reads without taking it as an argument (see `Captured`)."""
        key = id(values if source is None else source)
        var = self._captured.get(key)
        if var is None:
            dtype = as_dtype(values.dtype)
            if values.ndim == 0:
                var = self.scalar_param("c", dtype)
            else:
                ones = frozenset(a for a, extent in enumerate(values.shape) if extent == 1)
                var = self.array_param("c", values.shape, dtype, ones, pairs)
            self._captured[key] = var
            self.captured.append(Captured(values, source, read))
            self.origins[var] = "an array from outside the function"
        return var


class Scope:
    """One body: the lets of a program, an element function, a branch or a loop body."""

    def __init__(
        self, trace: Trace, builder: Builder, outer: Scope | None, optional: bool = False
    ) -> None:
        self.trace = trace
        self.builder = builder
        self.outer = outer
        self.beyond = outer  # where values may come from, too
        self.begun: tuple[int, dict[Any, Atom]] = 0, {}  # what the body had before a section
        self.optional = optional
        self.depth: int = outer.depth + 1 if outer else 0
        self.closed = False
        self.is_mapped: bool = outer is not None and outer.is_mapped
        self.order: int = outer.order if outer else 0  # how many derivatives are taken of this
        self.is_transposed: bool = outer is not None and outer.is_transposed  # a rule, by tangents
        self.checked: set[Atom] = set()  # conditions that a check here has found to hold
        self.shapes: dict[tuple[Atom, ...], None] = {}  # of arrays that are known to fit
        self.natural: set[Var] = set()
        self.counts: set[Var] = set()
        self.extents: set[Var] = set()  # of arrays that exist

    def inner(self, optional: bool = False) -> Scope:
        """A scope for a body inside this one; an `optional` one may not run at all."""
        return Scope(self.trace, self.builder.inner(optional), self, optional)

    def around(self) -> Iterator[Scope]:
        """This scope and those around it, the innermost first."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.beyond

    def section(self) -> Scope:
        """A scope for a part of this body: its values cannot be used after it has been closed."""
        made = Scope(self.trace, self.builder, self.outer, self.optional)
        made.beyond, made.is_mapped, made.order = self, self.is_mapped, self.order + 1
        made.begun = len(self.builder.lets), dict(self.builder._known)
        return made

    def end(self, section: Scope) -> tuple[Let, ...]:
        """Close a section, and take its operations out of the body again, which are emitted later.
        What is known of their variables stays known."""
        section.closed = True
        start, self.builder._known = section.begun
        lets = tuple(self.builder.lets[start:])
        del self.builder.lets[start:]
        self.checked |= section.checked
        self.shapes.update(section.shapes)
        for here, there in zip(section.facts(), self.facts(), strict=True):
            there |= here
        return lets

    def holds(self, other: Scope) -> bool:
        """Whether what `other` binds may be read here: it is this scope or one around it."""
        return any(scope is other for scope in self.around())

    def bind(self, hint: str, type_: Type) -> Var:
        """A fresh variable that belongs to this scope."""
        var = self.builder.var(hint, type_)
        self.adopt(var)
        return var

    def adopt(self, var: Var) -> None:
        """Enter a variable as this scope's; the shape of an array is known to fit."""
        self.trace.homes[var] = self
        if isinstance(var.type, ArrayType) and var.type.rank > 1:
            self.add_shape(var.type.shape)

    def add_shape(self, shape: Sequence[Atom]) -> None:
        """An array of this shape fits: there is one, or a check stands before what makes it."""
        self.shapes[tuple(shape)] = None

    def is_fit(self, shape: tuple[Atom, ...]) -> bool:
        """Whether these are extents of an array that fits, in any order."""
        return any(
            shape in scope.shapes or any(_is_part(shape, known) for known in scope.shapes)
            for scope in self.around()
        )

    def home(self, atoms: Sequence[Atom]) -> Scope:
        """The innermost of the scopes that bind these atoms."""
        found = self.trace.root
        for atom in atoms:
            if isinstance(atom, Var):
                home = self.trace.homes[atom]
                if home.depth > found.depth:
                    found = home
        return found

    def check_home(self, atoms: Sequence[Atom]) -> Scope:
        """Where a check of these atoms belongs: as far out as they are known and it surely runs."""
        home = self.home(atoms)
        for scope in self.around():
            if scope is home or scope.optional:
                return scope
        return home

    @property
    def may_be_skipped(self) -> bool:
        """Whether the code of this scope may not run at all."""
        return any(scope.optional for scope in self.around())

    def emit(self, op: Op, hint: str = "t") -> tuple[Var, ...]:
        """Append an operation here; its variables."""
        self.builder.where = self.trace.where
        vars_ = self.builder.emit(op, hint)
        for var in vars_:
            self.adopt(var)
        return vars_

    def apply(self, fn: str, *args: Atom) -> Atom:
        """A scalar function of atoms, in the outermost scope that knows them; or what it is."""
        known = folded(self.builder, fn, args) if any(self.builder.conditions()) else None
        if known is not None:
            return known
        home = self.home(args)
        home.builder.where = self.trace.where
        result = home.builder.apply(fn, *args)
        if isinstance(result, Var) and result not in self.trace.homes:
            self.trace.homes[result] = home
        if isinstance(result, Var) and result.type is i64:
            self._learn(result, fn, args)
        return result

    def _learn(self, result: Var, fn: str, args: Sequence[Atom]) -> None:
        """Record what the operands imply about an i64: not negative, or a count."""
        follows = fn == "add" and args[0] in self.trace.bounds and args[1] == index(1)
        if follows or (fn in KEEPS_NATURAL and all(map(self.is_natural, args))):
            self.natural.add(result)
        elif fn in COUNTS and all(map(self.is_count, args)):
            self.counts.add(result)

    def cast(self, atom: Atom, dtype: DType) -> Atom:
        """An atom in another dtype, in the scope that binds it."""
        home = self.home((atom,))
        home.builder.where = self.trace.where
        result = home.builder.cast(atom, dtype)
        if isinstance(result, Var) and result not in self.trace.homes:
            self.trace.homes[result] = home
        narrow = isinstance(atom.type, DType) and atom.type.kind in "bu" and atom.type.bits < 64
        if isinstance(result, Var) and narrow and dtype is i64:
            home.natural.add(result)
        return result

    def is_natural(self, atom: Atom) -> bool:
        """Whether an integer is known not to be negative."""
        if isinstance(atom, Const):
            return atom.value >= 0
        return any(atom in scope.natural for scope in self.around())

    def is_count(self, atom: Atom) -> bool:
        """Whether an integer is known not to be negative unless it has wrapped."""
        return self.is_natural(atom) or any(atom in scope.counts for scope in self.around())

    def is_checked(self, condition: Atom) -> bool:
        """Whether a check here or around here has found a condition to hold."""
        return any(condition in scope.checked for scope in self.around())

    def facts(self) -> tuple[set[Var], set[Var], set[Var]]:
        """What is known of variables here, some of it because a check stands before them."""
        return self.natural, self.counts, self.extents

    def function(
        self, types: Sequence[Type], body: Callable[[Scope, tuple[Var, ...]], Sequence[Atom]],
        hint: str = "p",
    ) -> Lambda:
        """A lambda over parameters of these types, its body traced by a Python function."""
        inside = self.inner()
        inside.is_mapped = True
        params = tuple(inside.bind(hint, type_) for type_ in types)
        with entered(inside):
            results = body(inside, params)
        inside.closed = True
        return inside.builder.close(params, results)

    def snapshot(self) -> Callable[[], None]:
        """Remember what has been emitted, and what is known from its checks.

        The result undoes everything that comes after.
        """
        saved = []
        for scope in self.around():
            known, checked = dict(scope.builder._known), set(scope.checked)
            facts = [set(fact) for fact in scope.facts()]
            emitted = len(scope.builder.lets)
            saved.append((scope, emitted, known, checked, dict(scope.shapes), facts))

        def restore() -> None:
            for scope, emitted, known, checked, shapes, facts in saved:
                del scope.builder.lets[emitted:]
                scope.builder._known = dict(known)
                scope.checked, scope.shapes = set(checked), dict(shapes)
                for fact, before in zip(scope.facts(), facts, strict=True):
                    fact &= before

        return restore


def _is_part(shape: Sequence[Atom], whole: Sequence[Atom]) -> bool:
    """Whether each extent of a shape is one of another's."""
    if len(shape) > len(whole):
        return False
    left = list(whole)
    for extent in shape:
        if extent not in left:
            return False
        left.remove(extent)
    return True


class State(threading.local):
    """The innermost scope of this thread; None outside every trace."""

    scope: Scope | None = None


STATE = State()
TRACING: list[int] = []
"""For each body that is being traced its thread: empty where nothing is traced."""
in_every_child(lambda: TRACING.__setitem__(slice(None), _of_this_thread()))


def _of_this_thread() -> list[int]:
    return [thread for thread in TRACING if thread == threading.get_ident()]


def innermost() -> Scope | None:
    """The scope that a call from here belongs to; None outside every trace.

    A signal handler or a finalizer may run in the midst of a trace, on top of its stack, and a
    greenlet next to it: their calls are not part of the traced function. So the stack is followed
    from here to the frame where the trace began.
    """
    scope = STATE.scope
    if scope is None:
        return None
    trace = scope.trace
    frame: FrameType | None = sys._getframe(2)
    while frame is not trace.frame:
        if frame is None or frame.f_code in trace.asides or frame.f_code.co_name == "__del__":
            return None
        frame = frame.f_back
    return scope


def current() -> Scope:
    """The innermost scope; only called where a trace is known to run."""
    scope = STATE.scope
    assert scope is not None
    return scope


def asked_in() -> str:
    """What messages call a value that is made an array."""
    return f"a value in {STATE.scope.trace.name}" if STATE.scope else "the value of asarray"


@contextmanager
def entered(scope: Scope) -> Iterator[None]:
    """Trace into `scope` inside the `with`."""
    before = STATE.scope
    thread = threading.get_ident()
    TRACING.append(thread)
    STATE.scope = scope
    try:
        yield
    finally:
        STATE.scope = before
        TRACING.remove(thread)
