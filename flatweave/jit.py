"""@jit: a Python function compiled once for each signature of its arguments, then only run.

    @fw.jit
    def total(xs):
        return fw.sum(xs * xs)

    total(np.arange(10.0))            traced, compiled, run
    total(np.arange(99.0))            run: the signature, f64 of rank 1, is known
    total.stages(np.arange(10.0))     what happened on the way
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Generic, ParamSpec, TypeVar, overload

from flatweave import recall
from flatweave.base import pretty
from flatweave.base.config import config
from flatweave.base.errors import ArgumentError
from flatweave.base.locks import Lock
from flatweave.base.records import record
from flatweave.base.schedule import Schedule
from flatweave.base.source import user_location
from flatweave.frontend.call.compiled import Compiled, Entry, Executable, Specialisation
from flatweave.frontend.call.depth import too_deep
from flatweave.frontend.call.eager import COMPILER, compile_program
from flatweave.frontend.call.quick import Known, is_native, quick
from flatweave.frontend.call.schedule import in_force
from flatweave.frontend.call.signature import flat_of, identity, key_of, leaves_of, plain, stand_in
from flatweave.frontend.elements.lambdas import name_of
from flatweave.frontend.trace.trace import trace
from flatweave.frontend.values.array import Tracer, kind_of
from flatweave.frontend.values.scope import innermost
from flatweave.frontend.values.tree import Tree, flatten, paths, portions, unflatten
from flatweave.runtime.door import compiler

P = ParamSpec("P")
R = TypeVar("R")


@record(eq=True)
class Stages:
    """What became of one call: `.text[stage]`, `.kernels`, `.manifest`, `.notes`, `.seconds`."""

    name: str
    executable: Executable

    @property
    def text(self) -> Mapping[str, str]:
        """The text of each stage: array, fused, flat, plan, kernel, and the target's own."""
        return self.executable.text

    @property
    def kernels(self) -> int:
        """How many passes over data a call makes, of those that may run."""
        return self.executable.kernels

    @property
    def launched(self) -> list[tuple[str, str, bool]]:
        """Each kernel that a call may launch, its role, and whether a call needed it so far."""
        return self.executable.launched

    @property
    def manifest(self) -> Any:
        """The arrays that a call writes to memory, with their sizes."""
        return self.executable.manifest

    @property
    def cpu(self) -> str:
        """The CPU that the machine code of the cpu target is made for, as LLVM names it."""
        return self.executable.cpu

    @property
    def seconds(self) -> dict[str, float]:
        """The time that each stage of the compilation took, in seconds."""
        return self.executable.seconds

    @property
    def notes(self) -> list[str]:
        """Why arrays that are no results are stored, and what is computed more than once."""
        return self.executable.notes

    def __str__(self) -> str:
        made_for = f" for {self.cpu}" if self.cpu else ""
        parts = [f"{self.name}: {pretty.counted(self.kernels, 'kernel')}{made_for}"]
        if self.manifest:
            parts += ["", "in memory:", *(f"  {line}" for line in self.manifest)]
        if self.notes:
            parts += ["", "fusion:", *(f"  {line}" for line in self.notes)]
        kernels = [[name, role, "yes" if made else "not yet"] for name, role, made in self.launched]
        if kernels:
            parts += ["", pretty.table(["kernel", "role", "made"], kernels)]
        times = [[name, pretty.duration(s)] for name, s in self.seconds.items()]
        if times:
            parts += ["", pretty.table(["stage", "time"], times, right={1})]
        for stage in ("array", "fused", "kernel"):
            if stage in self.text:
                parts += ["", f"---- {stage} ----", self.text[stage].rstrip()]
        return "\n".join(parts)


class Static:
    """Where the static arguments of a function are: taken out of a call, put back for the trace."""

    def __init__(self, fn: Callable[..., Any], names: tuple[str, ...]) -> None:
        try:
            parameters = list(inspect.signature(fn).parameters)
        except (TypeError, ValueError):  # a function written in C
            parameters = []
        unknown = [name for name in names if name not in parameters]
        if unknown:
            raise ArgumentError(
                f"{name_of(fn)} has no parameter {unknown[0]!r} to be static.",
                where=user_location(),
                remedy=f"Its parameters are: {pretty.listed(parameters) or 'none'}.",
            )
        self.names = frozenset(names)
        self.order = parameters

    def name_at(self, position: int) -> str:
        """The parameter that a positional argument is given to."""
        return self.order[position] if position < len(self.order) else ""


class Call:
    """One call taken apart: the leaves of its arguments, and what is static."""

    def __init__(self, f: Jitted[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.f = f
        self.args: list[Any] = list(args)
        self.keywords = tuple(sorted(kwargs))
        self.args += [kwargs[name] for name in self.keywords]
        self.static: dict[int, Any] = {}
        leaves: list[Any] = []
        self.trees: list[Tree] = []
        self.names: list[tuple[str, str]] = []
        for i, value in enumerate(self.args):
            name = self._name(i, len(args))
            if name in f.static.names:
                self.static[i] = value
                continue
            found, tree = flatten(value)
            leaves += found
            self.trees.append(tree)
            which = f"argument {i + 1}" if i < len(args) else f"argument {name!r}"
            for path in paths(tree, name):
                self.names.append((path, f"{which} of {f.__name__}"))
        self.values = [
            plain(leaf, f"{name} ({origin})")
            for leaf, (name, origin) in zip(leaves, self.names, strict=True)
        ]

    def _name(self, i: int, positional: int) -> str:
        if i >= positional:
            return self.keywords[i - positional]
        return self.f.static.name_at(i) or f"args{i}"

    def key(self, target: str, schedule: Schedule) -> Any:
        """The signature of the call; ArgumentError when a static argument cannot be a key."""
        static = tuple((i, identity(value)) for i, value in self.static.items())
        dynamic = tuple(part for value in self.values for part in key_of(value))
        trees = tuple((tree, tree.orders) for tree in self.trees)
        key = (target, config.cpu, schedule, self.keywords, trees, static, dynamic)
        try:
            hash(key)
        except TypeError:
            raise ArgumentError(
                f"a static argument of {self.f.__name__} cannot be hashed: "
                + pretty.listed(repr(value) for value in self.static.values()),
                where=user_location(),
                remedy="Static arguments are compared from call to call: pass a tuple for a list.",
            ) from None
        return key

    def forget_values(self) -> None:
        """Keep dtypes and shapes of the arrays alone, so that their memory can be freed."""
        self.values = [stand_in(value) for value in self.values]
        self.args = [self.static.get(i) for i in range(len(self.args))]

    def body(self, tracers: list[Tracer]) -> Any:
        """Call the function on traced arguments."""
        parts = iter(portions(self.trees, tracers))
        trees = iter(self.trees)
        values = [
            self.static[i] if i in self.static else unflatten(next(trees), next(parts))
            for i in range(len(self.args))
        ]
        count = len(values) - len(self.keywords)
        named = dict(zip(self.keywords, values[count:], strict=True))
        return self.f.__wrapped__(*values[:count], **named)

    def make(self, target: str, schedule: Schedule, special: Specialisation) -> Compiled:
        """Trace and compile the function for this signature."""
        self.f.traces += 1
        leaves = leaves_of(self.values, self.names, special.unit_axes)
        traced = trace(self.f.__name__, self.body, leaves, special.stretches)
        program = traced.program
        return Compiled(traced, compile_program(program, target, self.f.checks, schedule))


class Jitted(Generic[P, R]):
    """A function that is compiled when it is called; `.stages(*args)` shows what became of it.

    `.traces` counts how often it was traced.
    """

    def __init__(
        self, fn: Callable[P, R], target: str | None, static_argnames: Iterable[str],
        checks: bool, deterministic: bool,
    ) -> None:
        functools.update_wrapper(self, fn)
        self.__wrapped__ = fn
        self.__name__: str = getattr(fn, "__name__", type(fn).__name__)
        names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
        self.static = Static(fn, names)
        self.target = target
        self.checks = checks
        self.deterministic = deterministic
        self.traces = 0
        self._plain_only = not names
        self._lock = Lock()
        self._entries: dict[Any, Entry] = {}
        self._known = Known()

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if innermost() is not None:
            return self.__wrapped__(*args, **kwargs)
        key: list[Any] = []
        flat: list[Any] = []
        try:
            if kwargs or not self._plain_only or not quick(args, key, flat):
                entry, flat = self._entry(args, kwargs)
                return entry(flat)  # type: ignore[no-any-return]
            table, signature = self._known.here(self.target), tuple(key)
            found = table.get(signature)
            if found is None:
                found, flat = self._entry(args, kwargs)
                if is_native(key):  # else every call's arrays must be converted
                    table[signature] = found
            return found(flat)  # type: ignore[no-any-return]
        except RecursionError as error:
            raise too_deep(error, self.__name__) from None

    def stages(self, *args: P.args, **kwargs: P.kwargs) -> Stages:
        """Compile for these arguments without running, and show every stage."""
        try:
            entry, flat = self._entry(args, kwargs)
            return Stages(self.__name__, entry.compiled_for(flat).executable)
        except RecursionError as error:
            raise too_deep(error, self.__name__) from None

    def _entry(self, args: Any, kwargs: Any) -> tuple[Entry, list[Any]]:
        """The compiled signature of a call, made if it is new, and the call's flat arguments."""
        call = Call(self, args, kwargs)
        target, schedule = self.target or config.target, in_force(deterministic=self.deterministic)
        key = call.key(target, schedule)
        flat = flat_of(call.values)
        entry = self._entries.get(key)
        if entry is None:
            with self._lock:
                entry = self._entries.get(key)
                if entry is None:
                    entry = Entry(lambda special: call.make(target, schedule, special))
                    call.forget_values()
                    self._entries[key] = entry
        return entry, flat

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return f"<jitted {self.__name__}>"


@overload
def jit(f: Callable[P, R]) -> Jitted[P, R]: ...
@overload
def jit(
    f: None = None, *, target: str | None = None, static_argnames: Iterable[str] = (),
    checks: bool = True, deterministic: bool = True,
) -> Callable[[Callable[P, R]], Jitted[P, R]]: ...
@overload
def jit(
    f: Callable[P, R], *, target: str | None = None, static_argnames: Iterable[str] = (),
    checks: bool = True, deterministic: bool = True,
) -> Jitted[P, R]: ...


def jit(
    f: Any = None, *, target: str | None = None, static_argnames: Iterable[str] = (),
    checks: bool = True, deterministic: bool = True,
) -> Any:
    """Compile `f` when it is called: once for its arguments' dtypes, ranks and static values.

    `target` names where it runs ("cpu", "interp", ..), by default what `fw.target` or
    FLATWEAVE_TARGET say. Arguments named in `static_argnames` are Python values that the trace
    sees. `checks=False` leaves out the checks of indices. `deterministic=False` allows groupings
    that depend on timing. Arguments and results are arrays, numbers and trees of them.
    Raises ArgumentError for arguments that are neither.
    """
    if f is None:
        return functools.partial(
            jit, target=target, static_argnames=static_argnames, checks=checks,
            deterministic=deterministic,
        )  # fmt: skip
    for value, name in ((checks, "checks"), (deterministic, "deterministic")):
        if not isinstance(value, bool):
            raise ArgumentError(
                f"{name} of jit must be True or False, got {value!r}.",
                where=user_location(), remedy="Leave it out for the default.",
            )  # fmt: skip
    given = static_argnames
    static_argnames = (given,) if isinstance(given, str) else _items(given)
    if not all(isinstance(name, str) for name in static_argnames):
        raise ArgumentError(
            f"static_argnames of jit must be names of parameters, got {given!r}.",
            where=user_location(), remedy='Give them as text: static_argnames=("n",).',
        )  # fmt: skip
    if isinstance(f, Jitted):
        return Jitted(f.__wrapped__, target, static_argnames, checks, deterministic)
    if not callable(f):
        raise ArgumentError(
            f"jit needs a function, got {kind_of(f)}.",
            where=user_location(), remedy="Write @fw.jit above a def, or fw.jit(f).",
        )  # fmt: skip
    return Jitted(f, target, static_argnames, checks, deterministic)


def _items(names: Any) -> tuple[Any, ...]:
    """What an iterable holds; something else by itself."""
    return tuple(names) if isinstance(names, Iterable) else (names,)


def target(name: str) -> AbstractContextManager[None]:
    """Run on another target inside a `with`: `with fw.target("interp"): ..`."""
    try:
        if name != "cpu":  # which others there are, the compiler knows
            compiler().target_named(name)
    except ArgumentError as failure:
        failure.where = user_location()
        raise
    return config.scoped(target=name)


COMPILER.append(recall.build)
