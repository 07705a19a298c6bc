"""Lazy imports, all in this file: the compiler is imported when the first program must be compiled.

    compiler().build(program, "cpu", True, CHOSEN)
    llvm()                                            as much of it as makes machine code of text
    opened("fft")                                     what few programs use: fw.fft, fw.linalg,
                                                      fw.random, and what functions mean for complex
                                                      numbers and for floats of 16 bits,
                                                      operators that no law covers, derivatives,
                                                      target="auto", devices=[..], .page(), what a
                                                      profile and a notebook show, NumPy's functions
                                                      on arrays of ours
    opened("flatweave.numpy_functions.statistics")    the module that declares a public function
    from flatweave.lower.sort import radix            a module of a folder whose `__init__` says
                                                      `__getattr__ = lazy_modules(__name__)`: it is
                                                      imported when a name of it is first read,
                                                      `radix.lower_radix_sort`, and at once by
                                                      `from flatweave.lower.sort.radix import ..`

Modules that trace and run are imported at once. `pipeline`, with passes, lowering, code
generation and LLVM, costs as much to import as these, and is imported later. The import runs in a
separate thread, so that an interrupt leaves no module half imported, and under a lock that a fork
waits for: a child would wait for ever for the import of a thread that is not there.
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
from collections.abc import Callable
from types import ModuleType

from flatweave.base.locks import IMPORTS, Lock, wait_at_fork
from flatweave.runtime.deep_stack import on_deep_stack

LLVM, COMPILER = "flatweave.runtime.native", "flatweave.pipeline"
SELDOM = {
    "anywhere": "flatweave.places.anywhere",
    "recalled": "flatweave.recall_on_devices",
    "chunks": "flatweave.cluster.calls",
    "collections": "flatweave.cluster.sources.dask_blocks",
    "complex": "flatweave.frontend.complex.rules",
    "dask": "flatweave.cluster.on_dask",
    "derivatives": "flatweave.frontend.standard.derivatives",
    "fft": "flatweave.frontend.standard.fft",
    "gradients": "flatweave.gradients.derive",
    "here": "flatweave.cluster.in_process",
    "jax": "flatweave.interop.jax",
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
    "sources": "flatweave.cluster.sources.open",
    "strings": "flatweave.strings",
    "tables": "flatweave.tables",
    "torch": "flatweave.interop.torch",
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
