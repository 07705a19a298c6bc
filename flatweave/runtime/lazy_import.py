"""A thread with a deep stack, and the lazy imports, all in this file, which run on it."""

from __future__ import annotations

import contextvars
import functools
import gc
import importlib
import os
import sys
import threading
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, Generic, TypeVar

from flatweave.base.locks import IMPORTS, Lock, in_every_child, wait_at_fork

# -- deep stack -----------------------------------------------------------------------------------
#
# Work that needs more stack than the caller may have, such as LLVM's, on a separate thread.
#
#     code = on_deep_stack(lambda: compile_object(text))        the caller waits
#
#     one, two = Work(make_one), Work(make_two)                 both at once
#     codes = [one.result(), two.result()]
#
# What a signal handler raises while a caller waits comes out of the call at once: nobody wants the
# work then, nor what it has started itself, and all of it ends at the next `check_wanted`. Switches
# are those of the caller. Inside of such work, `on_deep_stack` is a call. While work is under way,
# Python's garbage collector runs seldom: modules and programs, which it would visit again and
# again, live on.


R = TypeVar("R")

STACK_SIZES = (256 * 2**20, 16 * 2**20)  # bytes of address space; the second where that is scarce
PATIENCE_SECONDS = 1.0  # for another thread to start
LOOK_SECONDS = 0.2  # between two looks whether the thread is still there
COLLECT_SELDOM = 100_000  # new objects between two runs of the garbage collector


class NotWanted(BaseException):
    """Whoever asked for this work was interrupted."""


class Work(Generic[R]):
    """A function on its way, with a stack of 256 MiB: what it gives, or raises."""

    def __init__(self, fn: Callable[[], R]) -> None:
        self._fn = fn
        self._context = contextvars.copy_context()
        self._asker = _HERE.work
        self._is_dropped = False
        self._done = threading.Event()
        self._found: R | None = None
        self._error: BaseException | None = None
        self._process = os.getpid()
        try:
            self._is_started = bool(started(self._run, "flatweave-compiler", STACK_SIZES))
        except BaseException:
            self._is_dropped = True  # the thread may run already
            raise

    @property
    def is_wanted(self) -> bool:
        """Whether nobody who waits for it was interrupted."""
        return not self._is_dropped and (self._asker is None or self._asker.is_wanted)

    def result(self, look: Callable[[], None] | None = None) -> R:
        """What the function gives or raises; done here and now where there can be no thread.

        Whoever waits calls `look` now and then.
        """
        work = self
        while work._is_started:
            if work._wait(look):
                return work._answer()
            work = Work(self._fn)
        return self._fn()

    def _answer(self) -> R:
        if self._error is None and not self.is_wanted:
            raise NotWanted
        error, self._error = self._error, None
        try:
            if error is not None:
                raise error
        finally:
            del error  # its traceback holds this frame
        return self._found  # type: ignore[return-value]

    def _run(self) -> None:
        """What the thread does."""
        _HERE.work = self
        _COLLECTOR.begin()
        try:
            self._found = self._context.run(self._fn)
        except BaseException as error:  # the caller raises it, if there still is one
            self._error = error if self.is_wanted else None
        finally:
            _COLLECTOR.end()
        self._done.set()

    def _wait(self, look: Callable[[], None] | None) -> bool:
        """Wait for the end; False in the child of a fork, where the thread is not."""
        try:
            while not self._done.wait(0 if os.getpid() != self._process else LOOK_SECONDS):
                if os.getpid() != self._process:
                    return False
                if look is not None:
                    look()
        except BaseException:
            self._is_dropped = True
            raise
        return True


class _Collector:
    """Python's garbage collector, which runs seldom while any work is under way."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._count = 0
        self._before = gc.get_threshold()
        in_every_child(self._forget)

    def begin(self) -> None:
        with self._lock:
            if self._count == 0:
                self._before = least, *others = gc.get_threshold()
                if least:  # 0: it never runs
                    gc.set_threshold(max(COLLECT_SELDOM, least), *others)
            self._count += 1

    def end(self) -> None:
        with self._lock:
            self._count -= 1
            if self._count == 0:
                gc.set_threshold(*self._before)

    def _forget(self) -> None:
        """In the child of a fork no other thread is at work."""
        if self._count and _HERE.work is None:
            self._count = 0
            gc.set_threshold(*self._before)


class _DeepThread(threading.local):
    """The work that this thread is there for."""

    work: Work[Any] | None = None


def on_deep_stack(fn: Callable[[], R], look: Callable[[], None] | None = None) -> R:
    """What `fn` gives or raises, run with a stack of 256 MiB; whoever waits for it looks."""
    return fn() if _HERE.work is not None else Work(fn).result(look)


def check_wanted() -> None:
    """End this work if its caller has been interrupted."""
    if _HERE.work is not None and not _HERE.work.is_wanted:
        raise NotWanted


def started(
    run: Callable[[], object], name: str, stack_sizes: Sequence[int], *, is_daemon: bool = False
) -> threading.Thread | None:
    """A thread with the first of these sizes of stack, in bytes, that there is room for, whatever
    others get; None if there can be none, as at exit."""
    for size in stack_sizes:
        thread = threading.Thread(target=run, name=name, daemon=is_daemon)
        # its holder may wait, in a signal handler, for work that also starts a thread
        with _SIZING.within(PATIENCE_SECONDS):
            try:
                before = threading.stack_size(size)
            except ValueError:  # not a size that this system gives
                continue
            try:
                thread.start()
            except RuntimeError:
                continue
            finally:
                threading.stack_size(before)
        return thread
    return None


_HERE = _DeepThread()
_SIZING = Lock()
_COLLECTOR = _Collector()


# -- lazy import ----------------------------------------------------------------------------------
#
# Lazy imports, all in this file: the compiler is imported when the first program must be compiled.
#
#   compiler().build(program, "cpu", True, CHOSEN)
#   llvm()                                            as much of it as makes machine code of text
#   opened("fft")                                     what few programs use: fw.fft, fw.linalg,
#                                                     fw.random, and what functions mean for complex
#                                                     numbers and for floats of 16 bits,
#                                                     operators that no law covers, derivatives,
#                                                     target="auto", devices=[..], .page(), what a
#                                                     profile and a notebook show, NumPy's functions
#                                                     on arrays of ours
#   opened("flatweave.numpy_functions.statistics")    the module that declares a public function
#   from flatweave.lower.sort import radix            a module of a folder whose `__init__` says
#                                                     `__getattr__ = lazy_modules(__name__)`: it is
#                                                     imported when a name of it is first read,
#                                                     `radix.lower_radix_sort`, and at once by
#                                                     `from flatweave.lower.sort.radix import ..`
#
# Modules that trace and run are imported at once. `pipeline`, with passes, lowering, code
# generation and LLVM, costs as much to import as these, and is imported later. The import runs in a
# separate thread, so that an interrupt leaves no module half imported, and under a lock that a fork
# waits for: a child would wait for ever for the import of a thread that is not there.


LLVM, COMPILER = "flatweave.runtime.native", "flatweave.pipeline"
SELDOM = {
    "anywhere": "flatweave.places.anywhere",
    "recalled": "flatweave.recall_on_devices",
    "chunks": "flatweave.cluster.calls",
    "collections": "flatweave.cluster.open",
    "complex": "flatweave.frontend.complex.rules",
    "dask": "flatweave.cluster.on_dask",
    "derivatives": "flatweave.frontend.standard.derivatives",
    "fft": "flatweave.frontend.standard.fft",
    "gradients": "flatweave.gradients.derive",
    "here": "flatweave.cluster.in_process",
    "jax": "flatweave.jax",
    "linalg": "flatweave.frontend.standard.linalg",
    "operators": "flatweave.operator_checks.first_calls",
    "notebook": "flatweave.notebook",
    "short": "flatweave.frontend.functions.half_precision",
    "page": "flatweave.page.write",
    "profiler": "flatweave.profiler.report",
    "small": "flatweave.page.write",
    "numpy": "flatweave.frontend.numpy_protocol",
    "ragged": "flatweave.frontend.ragged.chunked",
    "random": "flatweave.random",
    "rows": "flatweave.frontend.ragged.chunked",
    "save": "flatweave.cluster.export",
    "sources": "flatweave.cluster.open",
    "strings": "flatweave.strings",
    "tables": "flatweave.tables",
    "torch": "flatweave.torch",
    "to_dask": "flatweave.cluster.export",
}
IMPORTING = Lock()


def compiler() -> ModuleType:
    """The module `pipeline`."""
    return _opened(COMPILER)


def llvm() -> ModuleType:
    """The module `native`."""
    return _opened(LLVM)


def opened(name: str) -> ModuleType:
    """A module that few programs use, by its short name, or that one of public functions."""
    return _opened(SELDOM.get(name, name))


class LazyModule:
    """A module that is imported when one of its attributes is first read or set."""

    _name: str
    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_name", name)

    @property
    def __dict__(self) -> dict[str, object]:  # type: ignore[override]
        """The module's: where pytest's monkeypatch looks for what it replaces."""
        return vars(_opened(self._name))

    def __getattr__(self, name: str) -> object:
        return getattr(_opened(self._name), name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(_opened(self._name), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(_opened(self._name), name)

    def __repr__(self) -> str:
        return f"<lazy module {self._name!r}>"


def lazy_modules(package: str, *names: str) -> Callable[[str], LazyModule]:
    """A folder's `__getattr__`, with which `from folder import module` imports no module yet: of
    these names, or where there are none, of any.

    Other targets, sorts and checks are lazy modules. Module bodies must not read a lazy module: it
    is imported in another thread, which could wait for the module being imported.
    """

    @functools.cache
    def module(name: str) -> LazyModule:
        if name.startswith("_") or not (name in names if names else _is_in(package, name)):
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return LazyModule(f"{package}.{name}")

    return module


def _is_in(package: str, name: str) -> bool:
    """Whether a folder has a file of this name; what looks for modules takes much longer."""
    places = (f"{folder}/{name}" for folder in sys.modules[package].__path__)
    return any(os.path.exists(f"{place}.py") or os.path.isdir(place) for place in places)


def _opened(name: str) -> ModuleType:
    found = _OPENED.get(name)
    return on_deep_stack(lambda: _open(name)) if found is None else found


def _open(name: str) -> ModuleType:
    with IMPORTING:
        if name not in _OPENED:
            _OPENED[name] = importlib.import_module(name)
        return _OPENED[name]


_OPENED: dict[str, ModuleType] = {}
wait_at_fork(IMPORTS, IMPORTING.__enter__, lambda: IMPORTING.__exit__(None, None, None))
