"""@jit: a Python function compiled once for each signature of its arguments, then only run.

    @fw.jit
    def total(xs):
        return fw.sum(xs * xs)

    total(np.arange(10.0))            traced, compiled, run
    total(np.arange(99.0))            run: the signature, f64 of rank 1, is known
    total.stages(np.arange(10.0))     what happened on the way
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any, Generic, ParamSpec, TypeVar, overload

from flatweave import recall
from flatweave.base.config import config
from flatweave.base.errors import ArgumentError, UserError
from flatweave.base.locks import Lock
from flatweave.base.schedule import Schedule
from flatweave.base.source import user_location
from flatweave.frontend.arguments import Call, Static, called, check_gives_values
from flatweave.frontend.call.anywhere import AUTO, entry_for, shared_by
from flatweave.frontend.call.compiled import Compiled, Entry, Specialisation
from flatweave.frontend.call.depth import too_deep
from flatweave.frontend.call.eager import COMPILER, compile_program
from flatweave.frontend.call.quick import Known, put, quick
from flatweave.frontend.call.schedule import in_force
from flatweave.frontend.call.signature import flat_of, leaves_of
from flatweave.frontend.call.stages import Stages
from flatweave.frontend.trace.trace import Traced, trace
from flatweave.frontend.values.array import kind_of
from flatweave.frontend.values.chunked import Chunked
from flatweave.frontend.values.scope import innermost
from flatweave.runtime.door import compiler, opened

P = ParamSpec("P")
R = TypeVar("R")


class Jitted(Generic[P, R]):
    """A function that is compiled when it is called; `.stages(*args)` shows what became of it.

    `.traces` counts how often it was traced.

        >>> double = fw.jit(lambda x: x * 2)
        >>> double(np.arange(3)), double(np.arange(1)), double.traces
        (Array([0, 2, 4], dtype=int64), Array([0], dtype=int64), 1)
    """

    def __init__(
        self, fn: Callable[P, R], target: str | None, static_argnames: Iterable[str],
        checks: bool, deterministic: bool,
    ) -> None:
        functools.update_wrapper(self, fn)
        self.__wrapped__ = fn
        self.__name__: str = called(fn)
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
                put(table, signature, found)
            return found(flat)  # type: ignore[no-any-return]
        except RecursionError as error:
            raise too_deep(error, self.__name__) from None

    def stages(self, *args: P.args, **kwargs: P.kwargs) -> Stages:
        """Compile for these arguments without running, and show every stage."""
        try:
            compiled, given = self.taken(*args, **kwargs)
            call = functools.partial(self._called, args, kwargs)
            return Stages(self.__name__, compiled.executable, given, call)
        except RecursionError as error:
            raise too_deep(error, self.__name__) from None

    def _called(self, args: Any, kwargs: Any) -> Stages:
        """The stages of a call that has been made; an error of it is no matter here."""
        with contextlib.suppress(UserError):
            self(*args, **kwargs)
        return self.stages(*args, **kwargs)

    def taken(self, *args: P.args, **kwargs: P.kwargs) -> tuple[Compiled, list[Any]]:
        """What a call with these arguments runs, and the arguments it brings: flat, and those that
        the function reads beside."""
        entry, flat = self._entry(args, kwargs)
        compiled, given = entry.chosen(flat)
        return compiled, [*given, *compiled.hidden]

    def forget(self) -> None:
        """Let the next calls compile anew."""
        with self._lock:
            self._entries, self._known = {}, Known()

    def _entry(self, args: Any, kwargs: Any) -> tuple[Entry, list[Any]]:
        """The compiled signature of a call, made if it is new, and the call's flat arguments."""
        call = Call(self.__name__, self.static, args, kwargs)
        target, schedule = self.target or config.target, in_force(deterministic=self.deterministic)
        key = call.key(target, schedule)
        flat = flat_of(call.values)
        entry = self._entries.get(key)
        if entry is None:
            with self._lock:
                entry = self._entries.get(key)
                if entry is None:
                    entry = self._new_entry(call, target, schedule, flat)
                    call.forget_values()
                    self._entries[key] = entry
                    call.when_gone(functools.partial(self._entries.pop, key, None))
        return entry, flat

    def _new_entry(self, call: Call, target: str, schedule: Schedule, flat: list[Any]) -> Entry:
        """What runs the calls of a new signature."""
        split = [k for k, value in enumerate(flat) if type(value) is Chunked]
        if split:
            traced = self._traced(call, Specialisation())
            return opened("chunks").InChunks(traced, split)  # type: ignore[no-any-return]
        return entry_for(
            target,
            lambda target: Entry(lambda special: self._make(call, target, schedule, special)),
            schedule,
        )

    def _make(
        self, call: Call, target: str, schedule: Schedule, special: Specialisation
    ) -> Compiled:
        """Trace and compile the function for the signature of a call."""
        traced = self._traced(call, special)
        return Compiled(traced, compile_program(traced.program, target, self.checks, schedule))

    def _traced(self, call: Call, special: Specialisation) -> Traced:
        """The function's trace for the signature of a call."""
        self.traces += 1
        leaves = leaves_of(call.values, call.names, special.unit_axes)
        body = functools.partial(call.body, self.__wrapped__)
        return trace(self.__name__, body, leaves, special.stretches)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else JittedMethod(self, instance)

    def __repr__(self) -> str:
        return f"<jitted {self.__name__}>"


class JittedMethod(Generic[R]):
    """A jitted method of an object, which goes before the other arguments."""

    def __init__(self, fn: Jitted[Any, R], instance: Any) -> None:
        functools.update_wrapper(self, fn, updated=())
        self.__func__ = fn
        self.__self__ = instance

    def __call__(self, *args: Any, **kwargs: Any) -> R:
        return self.__func__(self.__self__, *args, **kwargs)

    def stages(self, *args: Any, **kwargs: Any) -> Stages:
        """Compile for these arguments without running, and show every stage."""
        return self.__func__.stages(self.__self__, *args, **kwargs)

    def __repr__(self) -> str:
        return f"<jitted {self.__func__.__name__} of {self.__self__!r}>"


@overload
def jit(f: Callable[P, R]) -> Jitted[P, R]: ...
@overload
def jit(
    f: None = None, *, target: str | None = None, static_argnames: Iterable[str] = (),
    checks: bool = True, deterministic: bool = True, devices: Iterable[str] = (),
) -> Callable[[Callable[P, R]], Jitted[P, R]]: ...
@overload
def jit(
    f: Callable[P, R], *, target: str | None = None, static_argnames: Iterable[str] = (),
    checks: bool = True, deterministic: bool = True, devices: Iterable[str] = (),
) -> Jitted[P, R]: ...


def jit(
    f: Any = None, *, target: str | None = None, static_argnames: Iterable[str] = (),
    checks: bool = True, deterministic: bool = True, devices: Iterable[str] = (),
) -> Any:
    """Compile `f` when it is called: once for its arguments' dtypes, ranks and static values.

    `target` names where it runs ("cpu", "interp", ..; "auto": where a call is done first), by
    default what `fw.target` or FLATWEAVE_TARGET say. Arguments named in `static_argnames` are
    Python values that the trace sees. `checks=False` leaves out the checks of indices.
    `deterministic=False` allows groupings that depend on timing. Arguments and results are arrays,
    numbers and trees of them. `devices` names several targets that share each call, which is a map
    or a reduction: ["cpu", "cuda:0"].
    Raises ArgumentError for arguments that are neither.

    Types: a function `->` a `Jitted` function of the same parameters.

        >>> fw.jit(lambda x: fw.sum(x * x))(np.array([1.0, 2.0]))
        Array(5.0, dtype=float64)
    """
    if f is None:
        return functools.partial(
            jit, target=target, static_argnames=static_argnames, checks=checks,
            deterministic=deterministic, devices=devices,
        )  # fmt: skip
    target = shared_by(target, devices)
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
        names = static_argnames or tuple(f.static.names)
        return Jitted(f.__wrapped__, target, names, checks, deterministic)
    if not callable(f):
        raise ArgumentError(
            f"jit needs a function, got {kind_of(f)}.",
            where=user_location(), remedy="Write @fw.jit above a def, or fw.jit(f).",
        )  # fmt: skip
    check_gives_values(f)
    return Jitted(f, target, static_argnames, checks, deterministic)


def _items(names: Any) -> tuple[Any, ...]:
    """What an iterable holds; something else by itself."""
    return tuple(names) if isinstance(names, Iterable) else (names,)


def target(name: str) -> AbstractContextManager[None]:
    """Run on another target inside a `with`: `with fw.target("interp"): ..`.

    Types: the name of a target `->` what `with` takes. Raises ArgumentError for another name.

        >>> with fw.target("interp"): print(fw.iota(2))
        [0 1]
    """
    try:
        if name not in ("cpu", AUTO):  # which others there are, the compiler knows
            compiler().target_named(name)
    except ArgumentError as failure:
        failure.where = user_location()
        raise
    return config.scoped(target=name)


COMPILER.append(recall.build)
