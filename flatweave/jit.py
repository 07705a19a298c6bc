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
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Generic, ParamSpec, TypeVar, overload

from flatweave import recall
from flatweave.base.config import config
from flatweave.base.errors import ArgumentError, Unsupported, UserError
from flatweave.base.locks import Lock
from flatweave.base.records import replace
from flatweave.base.schedule import Schedule
from flatweave.base.source import user_location
from flatweave.frontend.arrays import assignment
from flatweave.frontend.call.compiled import Compiled, Entry, Stages
from flatweave.frontend.call.direct import DirectCalls, Known, may_enter, put, quick
from flatweave.frontend.call.eager import (
    AUTO,
    COMPILER,
    compile_program,
    entry_for,
    first_calls,
    shared_by,
)
from flatweave.frontend.call.options import Leaves, claim, given_plainly, in_force
from flatweave.frontend.call.signature import Specialisation, flat_of, leaves_of
from flatweave.frontend.jit_arguments import (
    Call,
    Picked,
    called,
    check_gives_values,
    expect_none,
    items_of,
)
from flatweave.frontend.trace.run_time_checks import leave_ours_out, too_deep
from flatweave.frontend.trace.trace import Traced, trace
from flatweave.frontend.values.array import kind_of
from flatweave.frontend.values.chunked import Chunked
from flatweave.frontend.values.scope import innermost
from flatweave.frontend.values.tree import no_parts, parts_of
from flatweave.runtime.calls import Argument
from flatweave.runtime.lazy_import import compiler, opened

P = ParamSpec("P")
R = TypeVar("R")


class Jitted(Generic[P, R]):
    """A function that is compiled when it is called; `.stages(*args)` shows what became of it.

    `.traces` counts how often it was traced.

    Source: `jax.jit`.

        >>> double = fw.jit(lambda x: x * 2)
        >>> double(np.arange(3)), double(np.arange(1)), double.traces
        (Array([0, 2, 4], dtype=int64), Array([0], dtype=int64), 1)
    """

    def __init__(
        self, fn: Callable[P, R], target: str | None, static: Iterable[str | int],
        checks: bool, deterministic: bool, donate: Iterable[str | int] = (),
    ) -> None:  # fmt: skip
        functools.update_wrapper(self, fn)
        self.__wrapped__ = fn
        self.__name__: str = called(fn)
        self.static = Picked(fn, static, "static")
        self.donated = Picked(fn, donate, "donated")
        self.donated.refuse(self.static)
        self.target = target
        self.checks = checks
        self.deterministic = deterministic
        self.traces = 0
        self._plain_only = not self.static
        self._parts = no_parts if self.donated else parts_of
        self._lock = Lock()
        self._entries: dict[Any, Entry] = {}
        self._known = Known()
        self._direct = DirectCalls()

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        call = self._direct.call
        result: Any = call(*args, **kwargs) if kwargs else call(*args)
        if result is NotImplemented:
            if innermost() is not None:
                return self.__wrapped__(*assignment.separated(args), **assignment.separated(kwargs))
            return self._in_python(args, kwargs)  # type: ignore[no-any-return]
        if type(result) is int:
            number, result = result, self._in_python(args, kwargs)
            self._direct.refuse(number)
        return result  # type: ignore[no-any-return]

    def _in_python(self, args: Any, kwargs: Any) -> Any:
        """A call outside of every trace, as Python makes it."""
        key: list[Any] = []
        flat: list[Any] = []
        found: Any
        arguments: Sequence[Argument] = ()
        try:
            if kwargs or not self._plain_only or not self._quick(args, key, flat):
                found, flat, leaves, arguments = self._entry(args, kwargs)
            else:
                table, signature = self._known.here(self.target), tuple(key)
                found, leaves = table.get(signature), []
                if found is None:
                    found, flat, leaves, arguments = self._entry(args, kwargs)
                    put(table, signature, found)
                elif self.donated:
                    leaves = given_plainly(args, self.donated.has_at)
                elif may_enter(found):
                    arguments = [Argument(arg) for arg in args]
            if leaves:
                given = claim(leaves, flat, found.plain.hidden, self.__name__)
                return found(flat, given)
            result = found(flat)
            if arguments:
                self._direct.enter(arguments, found, self.target or config.target)
            return result
        except RecursionError as error:
            raise too_deep(error, self.__name__) from None
        except Exception as error:
            leave_ours_out(error)
            raise

    def stages(self, *args: P.args, **kwargs: P.kwargs) -> Stages:
        """Compile for these arguments without running, and show every stage."""
        try:
            steps, given = self._chosen(args, kwargs)
            if not isinstance(steps, Compiled):  # an argument is in chunks
                return steps.stages(self.__name__)  # type: ignore[no-any-return]
            call = functools.partial(self._called, args, kwargs)
            chosen = steps.traced.notes
            return Stages(self.__name__, steps.executable, given, call, chosen=chosen)
        except RecursionError as error:
            raise too_deep(error, self.__name__) from None
        except Exception as error:
            leave_ours_out(error)
            raise

    def _chosen(self, args: Any, kwargs: Any) -> tuple[Any, list[Any]]:
        """What a call runs, compiled or in chunks, and the arguments it brings."""
        entry, flat, *_ = self._entry(args, kwargs)
        chosen: Any
        chosen, given = entry.chosen(flat)
        if not isinstance(chosen, Compiled):
            return chosen, given
        return chosen, [*given, *chosen.hidden, *chosen.flags]

    def _quick(self, args: Any, key: list[Any], flat: list[Any]) -> bool:
        """Fill key and flat arguments of a plain call; a call that donates has no views."""
        target = "" if self.donated else self.target or config.target
        return quick(args, key, flat, self._parts, target)

    def _called(self, args: Any, kwargs: Any) -> Stages:
        """The stages of a call that has been made, which gives nothing away; an error of it is no
        matter here."""
        with contextlib.suppress(UserError):
            entry, flat, *_ = self._entry(args, kwargs)
            entry(flat)
        return self.stages(*args, **kwargs)

    def taken(self, *args: P.args, **kwargs: P.kwargs) -> tuple[Compiled, list[Any]]:
        """What a call with these arguments runs, and the arguments it brings: flat, and those that
        the function captures."""
        compiled, given = self._chosen(args, kwargs)
        if not isinstance(compiled, Compiled):
            raise Unsupported.here(
                "tune measures what one machine runs, and an argument is in chunks.",
                "Give it a few rows of it: xs.load(0, 1000).",
            )
        return compiled, given

    def forget(self) -> None:
        """Let the next calls compile anew."""
        with self._lock:
            self._entries, self._known = {}, Known()
            self._direct.forget()

    def _entry(
        self, args: Any, kwargs: Any
    ) -> tuple[Entry, list[Any], Leaves, Sequence[Argument]]:
        """The compiled signature of a call, made if it is new, the call's flat arguments, what it
        donates, and its arguments as machine code may know them."""
        target, schedule = self.target or config.target, in_force(deterministic=self.deterministic)
        call = Call(self.__name__, self.static, args, kwargs, self.donated, target)
        key = call.key(target, schedule)
        flat = flat_of(call.values)
        leaves, entry = call.given, self._entries.get(key)
        # machine code learns a signature in its second call, so that the first one is sooner
        arguments = [] if entry is None else call.arguments()
        if entry is None:
            with self._lock:
                entry = self._entries.get(key)
                if entry is None:
                    entry = self._new_entry(call, target, schedule, flat)
                    call.forget_values()
                    self._entries[key] = entry
                    call.when_gone(functools.partial(self._entries.pop, key, None))
        if leaves and any(type(value) is Chunked for value in flat):
            leaves = []  # which chunk by chunk are only read
        return entry, flat, leaves, arguments

    def _new_entry(self, call: Call, target: str, schedule: Schedule, flat: list[Any]) -> Entry:
        """What runs the calls of a new signature."""
        if any(type(value) is Chunked for value in flat):
            made = functools.partial(self._traced, call)
            return opened("chunks").InChunks(made, flat, self.checks)  # type: ignore[no-any-return]
        return entry_for(
            target,
            lambda target: Entry(lambda special: self._make(call, target, schedule, special)),
            schedule,
        )

    def _make(
        self, call: Call, target: str, schedule: Schedule, special: Specialisation
    ) -> Compiled:
        """Trace and compile the function for the signature of a call."""
        with config.scoped(target=target):
            traced = self._traced(call, special)
        donated = tuple(sorted({number for _, number in call.given if number >= 0}))
        schedule = replace(schedule, donated=donated)
        executable = compile_program(traced.program, target, self.checks, schedule)
        checks = first_calls(traced.program) if self.checks else None
        return Compiled(traced, executable, donated=len(donated), checks=checks)

    def _traced(self, call: Call, special: Specialisation) -> Traced:
        """The function's trace for the signature of a call."""
        self.traces += 1
        leaves = leaves_of(call.values, call.names, special.unit_axes)
        body = functools.partial(call.body, self.__wrapped__)
        traced = trace(self.__name__, body, leaves, special.stretches, special.in_chunks)
        for where in () if self.checks else traced.program.unproven:
            where.is_trusted = True
        return traced

    def __reduce__(self) -> Any:
        """By its name where that is this function's, as a decorated one's is; else made anew."""
        name: str = vars(self).get("__qualname__", self.__name__)
        found: Any = sys.modules.get(self.__module__)
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is self:
            return name
        parts = (self.target, self.static.items, self.checks, self.deterministic)
        return Jitted, (self.__wrapped__, *parts, self.donated.items)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else JittedMethod(self, instance)

    def _repr_html_(self) -> str | None:
        """What a notebook shows: the page in small of what was compiled last, if anything was."""
        made = [entry.plain for entry in list(self._entries.values())]
        found = [each.executable for each in made if isinstance(each, Compiled)]
        if not found or not found[-1].is_whole:
            return None
        return Stages(self.__name__, found[-1])._repr_html_()

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
    static_argnums: int | Iterable[int] = (), donate: int | Iterable[str | int] = (),
) -> Callable[[Callable[P, R]], Jitted[P, R]]: ...
@overload
def jit(
    f: Callable[P, R], *, target: str | None = None, static_argnames: Iterable[str] = (),
    checks: bool = True, deterministic: bool = True, devices: Iterable[str] = (),
    static_argnums: int | Iterable[int] = (), donate: int | Iterable[str | int] = (),
) -> Jitted[P, R]: ...


def jit(
    f: Any = None, *, target: str | None = None, static_argnames: Iterable[str] = (),
    checks: bool = True, deterministic: bool = True, devices: Iterable[str] = (),
    static_argnums: int | Iterable[int] = (), donate: int | Iterable[str | int] = (),
    **unknown: Any,
) -> Any:
    """Compile `f` when it is called: once for its arguments' dtypes, ranks and static values.

    `target` names where it runs ("cpu", "interp", ..; "auto": where a call is done first), by
    default what `fw.target` or FLATWEAVE_TARGET say. Arguments named in `static_argnames`, or at
    the positions `static_argnums`, are Python values that the trace sees. Those that `donate` names
    or numbers are donated: results are written into their memory, and they may not be used again.
    `checks=False` leaves out the checks of indices, and operators are not tried.
    `deterministic=False` allows groupings that depend on timing. Arguments and results are arrays,
    numbers and trees of them. `devices` names several targets that share each call, which is a map
    or a reduction: ["cpu", "cuda:0"].
    Raises ArgumentError for arguments that are neither.

    Types: a function `->` a `Jitted` function of the same parameters. Source: `jax.jit`.

        >>> fw.jit(lambda x: fw.sum(x * x))(np.array([1.0, 2.0]))
        Array(5.0, dtype=float64)
    """
    expect_none(unknown)
    if f is None:
        return functools.partial(
            jit, target=target, static_argnames=static_argnames, checks=checks,
            deterministic=deterministic, devices=devices, static_argnums=static_argnums,
            donate=donate,
        )  # fmt: skip
    target = shared_by(target, devices)
    for value, name in ((checks, "checks"), (deterministic, "deterministic")):
        if not isinstance(value, bool):
            raise ArgumentError.here(
                f"{name} of jit must be True or False, got {value!r}.",
                "Leave it out for the default.",
            )
    static = items_of(static_argnames, "static_argnames")
    static += items_of(static_argnums, "static_argnums")
    given = items_of(donate, "donate")
    if given and devices:
        raise ArgumentError.here(
            "several devices cannot share a call that gives arguments away.",
            "Leave out donate, or devices.",
        )
    if isinstance(f, Jitted):
        static, given = static or f.static.items, given or f.donated.items
        return Jitted(f.__wrapped__, target, static, checks, deterministic, given)
    if not callable(f):
        raise ArgumentError.here(
            f"jit needs a function, got {kind_of(f)}.", "Write @fw.jit above a def, or fw.jit(f)."
        )
    check_gives_values(f)
    return Jitted(f, target, static, checks, deterministic, given)


def target(name: str) -> AbstractContextManager[None]:
    """Run on another target inside a `with`: `with fw.target("interp"): ..`.

    Types: the name of a target `->` what `with` takes. Raises ArgumentError for another name.
    Source: Flatweave.

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
