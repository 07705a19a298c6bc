"""The peers' libraries, each imported when first asked for; None where it is not to be had.

    tools = Tools(exclude=("jax",))
    tools.numba                     the module, or None
    tools.c("scan.c")               functions compiled now, or None
    tools.missing                   {"jax": "left out by --without"}
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib
import re
import shutil
import subprocess
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
BUILD = HERE / "build"
FLOAT, INTEGER = ctypes.c_float, ctypes.c_int64  # what a C function gives
FLAGS = ("-O3", "-march=native", "-ffast-math", "-fopenmp", "-fPIC", "-shared")
COMPILERS = {".c": "gcc", ".cpp": "g++"}


class Missing(Exception):
    """A peer cannot be had here; its text says why."""


class Native:
    """The functions of one compiled file; arrays are passed by address, integers as 64 bits."""

    def __init__(self, path: Path) -> None:
        self._library = ctypes.CDLL(str(path))

    def call(self, name: str, *args: Any, gives: Any = None) -> Any:
        """One call; ctypes lets other Python threads run meanwhile."""
        return self.bind(name, *args, gives=gives)()

    def bind(self, name: str, *args: Any, gives: Any = None) -> Callable[[], Any]:
        """A call with its arguments ready, so that a short one is timed without Python's part."""
        function = getattr(self._library, name)
        function.restype = gives
        ready = [argument(arg) for arg in args]
        return lambda keep=args: function(*ready)  # `keep`: the arrays live as long as the call


def argument(value: Any) -> Any:
    """An array's address, or an integer."""
    if isinstance(value, np.ndarray):
        return ctypes.c_void_p(value.ctypes.data)
    return ctypes.c_int64(value)


def processor() -> str:
    """The processor's flags and model: -march=native means another thing on another one."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    return "\n".join(sorted({line for line in lines if line.startswith(("model", "flags"))}))


def compiled(source: Path, libraries: tuple[str, ...]) -> Path:
    """The shared library of one source, made anew when it, the flags or the machine changed."""
    compiler = shutil.which(COMPILERS[source.suffix])
    if compiler is None:
        raise Missing(f"{COMPILERS[source.suffix]} is not installed")
    text = source.read_text(encoding="utf-8")
    key = repr((text, FLAGS, libraries, processor()))
    path = BUILD / f"{source.stem}-{hashlib.sha256(key.encode()).hexdigest()[:16]}.so"
    if not path.exists():
        BUILD.mkdir(exist_ok=True)
        command = [compiler, *FLAGS, "-o", str(path), str(source), *libraries, "-lm"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            found = re.search(r"^.*(?:cannot find|error).*$", done.stderr, re.MULTILINE)
            raise Missing(f"it does not build: {found[0] if found else done.stderr.strip()}")
    return path


class Tools:
    """What peers are made of."""

    def __init__(self, exclude: tuple[str, ...] = ()) -> None:
        self.exclude = exclude
        self.missing: dict[str, str] = {}

    def module(self, library: str, name: str) -> Any:
        """A module of an optional library."""
        if library in self.exclude:
            self.missing[library] = "left out by --without"
            return None
        try:
            return importlib.import_module(name)
        except ImportError as failure:
            self.missing[library] = str(failure)
            return None

    @cached_property
    def numba(self) -> Any:
        """Numba."""
        return self.module("numba", "numba")

    @cached_property
    def jax(self) -> Any:
        """JAX on the CPU, with 64-bit types."""
        jax = self.module("jax", "jax")
        if jax is not None:
            jax.config.update("jax_platforms", "cpu")
            jax.config.update("jax_enable_x64", True)
        return jax

    @property
    def awkward(self) -> Any:
        """Awkward Array: lists of different lengths."""
        return self.module("awkward", "awkward")

    @property
    def processes(self) -> bool:
        """Whether peers may run in separate processes (elsewhere.py)."""
        return "processes" not in self.exclude

    def scipy(self, part: str) -> Any:
        """One part of SciPy."""
        return self.module("scipy", f"scipy.{part}")

    def c(self, name: str, *libraries: str) -> Native | None:
        """The functions of one file of peers/."""
        if "c" in self.exclude:
            self.missing["c"] = "left out by --without"
            return None
        try:
            return Native(compiled(HERE / "peers" / name, libraries))
        except (Missing, OSError) as failure:
            self.missing[name] = str(failure)
            return None
