"""The switches: one table, and the only module that reads the environment.

    FLATWEAVE_TARGET=interp python app.py            config.target == "interp"
    with config.scoped(verify=True, dump="fuse"):    the same, for this thread and this body

A scope belongs to the thread (or task) that opened it: other threads keep the process's values.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from flatweave.base.errors import ArgumentError
from flatweave.base.pretty import listed
from flatweave.base.records import record, replace
from flatweave.base.schedule import CHOSEN, Schedule, UnknownWord, schedule_of

ON = frozenset({"1", "true", "yes", "on"})
OFF = frozenset({"0", "false", "no", "off"})
NATIVE = "native"
SYSTEM, PORTABLE = "system", "portable"  # whose services the runtime uses
CPU_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


def word(value: object) -> str:
    """a name such as cpu"""
    if isinstance(value, str) and value.strip().isidentifier():
        return value.strip()
    raise ValueError


def target_name(value: object) -> str:
    """a target such as cpu, or a device of one by its number such as cuda:1"""
    kind, _, number = str(value).partition(":")
    name = word(kind)
    if isinstance(value, str) and (number.strip().isdecimal() or ":" not in value):
        return f"{name}:{int(number)}" if number else name
    raise ValueError


def optional_word(value: object) -> str | None:
    """a name such as fuse"""
    return None if value is None else word(value)


def cpu_name(value: object) -> str:
    """native, or a CPU that LLVM knows such as x86-64-v3"""
    if isinstance(value, str) and CPU_NAME.fullmatch(value.strip()):
        return value.strip()
    raise ValueError


def runtime_name(value: object) -> str:
    """system or portable"""
    if isinstance(value, str) and value.strip() in (SYSTEM, PORTABLE):
        return value.strip()
    raise ValueError


def names(value: object) -> tuple[str, ...]:
    """all, or names with commas between them such as fuse,cuda"""
    if isinstance(value, str):
        return tuple(word(part) for part in value.split(",") if part.strip())
    if isinstance(value, list | tuple):
        return tuple(word(part) for part in value)
    raise ValueError


def path(value: object) -> Path | None:
    """a folder's path"""
    if value is None or isinstance(value, Path):
        return value
    if isinstance(value, str):
        return Path(value)
    raise ValueError


def flag(value: object) -> bool:
    """1 or 0"""
    if isinstance(value, bool):
        return value
    text = str(value).strip().lower()
    if text in ON or text in OFF:
        return text in ON
    raise ValueError


def thread_count(value: object) -> int | None:
    """a whole number from 1 up"""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError
    count = int(value)
    if count < 1:
        raise ValueError
    return count


@record(eq=True)
class Switches:
    """Every switch and its default."""

    # where programs run by default; targets.py knows the names
    target: str = "cpu"
    # the stages and passes whose text is written out; "all" for every one
    dump: tuple[str, ...] = ()
    # where dumps go; None: standard error
    dump_dir: Path | None = None
    # verify the program after every pass
    verify: bool = False
    # the pass after which compilation stops
    stop_after: str | None = None
    # try operators and neutral elements on all data before a program runs; report dropped elements
    debug: bool = False
    # print the time of every stage
    time: bool = False
    # compile anew, neither reading nor writing stored artifacts
    no_cache: bool = False
    # worker threads of the cpu target; None: one per core
    threads: int | None = None
    # the CPU that the cpu target compiles for; native: this one
    cpu: str = NATIVE
    # whether the runtime asks this system for threads and memory, or does with C and Python alone;
    # of the whole process
    runtime: str = SYSTEM
    # the variants that programs take; without it, as sizes ask for
    schedule: Schedule = CHOSEN


@record
class Row:
    """The variable of a switch, and its reader."""

    variable: str
    read: Callable[[object], object]


# how each switch is read, from text in the environment or from a Python value in `scoped`: the
# reader's docstring is what the error message asks for
ROWS: Mapping[str, Row] = {
    "target": Row("FLATWEAVE_TARGET", target_name),
    "dump": Row("FLATWEAVE_DUMP", names),
    "dump_dir": Row("FLATWEAVE_DUMP_DIR", path),
    "verify": Row("FLATWEAVE_VERIFY", flag),
    "stop_after": Row("FLATWEAVE_STOP_AFTER", optional_word),
    "debug": Row("FLATWEAVE_DEBUG", flag),
    "time": Row("FLATWEAVE_TIME", flag),
    "no_cache": Row("FLATWEAVE_NO_CACHE", flag),
    "threads": Row("FLATWEAVE_THREADS", thread_count),
    "cpu": Row("FLATWEAVE_CPU", cpu_name),
    "runtime": Row("FLATWEAVE_RUNTIME", runtime_name),
    "schedule": Row("FLATWEAVE_SCHEDULE", schedule_of),
}


class Overrides(TypedDict, total=False):
    """What `scoped` takes: any of the switches."""

    target: str
    dump: str | tuple[str, ...] | list[str]
    dump_dir: str | Path | None
    verify: bool
    stop_after: str | None
    debug: bool
    time: bool
    no_cache: bool
    threads: int | None
    cpu: str
    schedule: Schedule | str


def from_environment(environment: Mapping[str, str]) -> Switches:
    """The switches as the variables set them; an empty variable counts as unset."""
    values: dict[str, Any] = {}
    for name, row in ROWS.items():
        text = environment.get(row.variable, "")
        if text:
            values[name] = checked(row.read, text, f"{row.variable}={text}")
    return Switches(**values)


def checked(read: Callable[[object], object], value: object, said: str) -> object:
    """The value, read; an ArgumentError quoting what the user said if it makes no sense."""
    try:
        return read(value)
    except ValueError as refused:
        meant = refused.near if isinstance(refused, UnknownWord) else ""
        near = f"Is {meant} meant? " if meant else ""
        raise ArgumentError(
            f"{said} makes no sense.", remedy=f"{near}Give it {read.__doc__}.", more="switches"
        ) from None


PROCESS = from_environment(os.environ)
CURRENT: ContextVar[Switches] = ContextVar("flatweave_switches", default=PROCESS)
"""The switches in force here and now, which `config` reads."""


@contextmanager
def variable_of_another(name: str, value: str, unless: Sequence[str]) -> Iterator[None]:
    """Set for a moment what a library reads from the environment; not where the user has set one of
    the variables `unless`."""
    if any(os.environ.get(other) for other in unless):
        yield
        return
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        del os.environ[name]
        if before is not None:
            os.environ[name] = before


if TYPE_CHECKING:
    Fields = Switches
else:
    Fields = object


class Config(Fields):
    """The switches in force here and now: `config.target`, `config.threads`, .."""

    __slots__ = ()

    @property
    def current(self) -> Switches:
        """All switches at once: one read, and a key for caches."""
        return CURRENT.get()

    def dumps(self, name: str) -> bool:
        """Whether the stage or pass `name` is to be written out."""
        wanted = CURRENT.get().dump
        return name in wanted or "all" in wanted

    def scoped(self, **overrides: Unpack[Overrides]) -> AbstractContextManager[None]:
        """Other values inside a `with`, for this thread only."""
        values: dict[str, Any] = {}
        for name, value in overrides.items():
            if name not in ROWS:
                raise ArgumentError(
                    f"there is no switch named {name}.",
                    remedy=f"The switches are {listed(ROWS)}.",
                    more="switches",
                )
            if name not in Overrides.__annotations__:
                raise ArgumentError(
                    f"{name} holds for the whole process.",
                    remedy=f"Set {ROWS[name].variable} before it starts.",
                    more="switches",
                )
            values[name] = checked(ROWS[name].read, value, f"{name}={value!r}")
        return _in_force(values)


@contextmanager
def _in_force(values: Mapping[str, Any]) -> Iterator[None]:
    switches = replace(CURRENT.get(), **values)
    token = CURRENT.set(PROCESS if switches == PROCESS else switches)  # machine code knows PROCESS
    try:
        yield
    finally:
        CURRENT.reset(token)


def _in_force_now(name: str) -> property:
    """A switch of those in force."""
    get = attrgetter(name)
    return property(lambda self: get(CURRENT.get()))


for _name in ROWS:
    setattr(Config, _name, _in_force_now(_name))
config = Config()
