"""LLVM text in, machine code out: optimised for this CPU, stored as an object, loaded in 0.3 ms.

    define i64 @entry(ptr %ctx, ptr %slots) { .. }     ==>     code.address("entry")

Text may call the functions of support.ll, the C library and its math libraries (systems.py).
The names: *text* is LLVM assembly language, an *object* the bytes of a relocatable file, *code* an
object that has been loaded.
"""

import functools
import hashlib
import itertools
import platform
import re
import string
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from importlib import resources
from typing import Any

import llvmlite
from llvmlite import binding

from flatweave.base.errors import CompilerBug, Unsupported
from flatweave.base.locks import LLVM, Lock, wait_at_fork
from flatweave.runtime.cache import process_cache
from flatweave.runtime.lazy_import import Work, on_deep_stack
from flatweave.runtime.processor import (
    LIGHT,
    RAW,
    Processor,
    emit_object,
    optimised,
    processor,
    target_machine,
    wait_until_outside,
)
from flatweave.runtime.support import CALLS, MAKERS, SUPPORT, Code, keep_for_ever, support
from flatweave.runtime.systems import System, cpu_facts, library, symbol_address, system

# the functions of a text that code outside of it may call, and the globals that it may read
DEFINED = re.compile(
    r"^ *define (?!internal |private )[^@\n]*@(\w+)\(|^@(fw_\w+) = global", re.MULTILINE
)
SUPPORT_FILES = ("support.ll", "buffers.ll", "mappings.ll", "launch.ll")
CALL_FILES = ("calls.ll", "results.ll")
SUPPORT_LIBRARY = "flatweave_support"
# the functions that the text of the support code takes from elsewhere
DECLARED = re.compile(r"^declare [^@\n]*@(?!llvm\.)(\w+)\(", re.MULTILINE)


class NativeCode:
    """Machine code in memory, for as long as this object lives."""

    __slots__ = ("__weakref__", "_addresses", "_trackers", "library", "stored_as")

    def __init__(self, library: str, tracker: Any) -> None:
        self.library = library
        self.stored_as = ""  # the name of its object in the cache on disk, if it has one
        self._trackers = [tracker]  # the death of any of them unloads the code
        self._addresses: dict[str, int] = {}

    def address(self, symbol: str) -> int:
        """The address of a function or global of the text."""
        if symbol not in self._addresses:
            try:
                found = linker().lookup(self.library, symbol)
            except RuntimeError as failure:
                raise CompilerBug(f"LLVM cannot find {symbol}: {failure}") from None
            self._trackers.append(found)
            self._addresses[symbol] = int(found[symbol])
        return self._addresses[symbol]


def compile_text(text: str, *, key: str | None = None, level: int = LIGHT) -> NativeCode:
    """Loaded code for `text`: from memory, else from disk, else compiled and stored.

    `key` names the text in the caches when the caller has a shorter name for it.
    """
    name = cache_key(text if key is None else key, level)
    found = _LOADED.get(name)
    return on_deep_stack(lambda: _compiled(name, text, level)) if found is None else found


def begin(text: str, *, level: int = LIGHT) -> Callable[[], NativeCode]:
    """What gives the loaded code for `text`; LLVM works meanwhile, unless a cache has it."""
    name = cache_key(text, level)
    found = _LOADED.get(name) or _from_cache(name, _linking(name, text))
    if found is not None:
        return lambda: found
    work = Work(lambda: _made(name, text, level))
    return lambda: _linking(name, text)(work.result())


def _compiled(name: str, text: str, level: int) -> NativeCode:
    linking = _linking(name, text)
    return _from_cache(name, linking) or linking(_made(name, text, level))


def _linking(name: str, text: str) -> Callable[[bytes], NativeCode]:
    """What makes code of the object of `text`, and remembers it."""

    def linked(found: bytes) -> NativeCode:
        number, symbols = next(_NUMBERS), defined_in(text)
        code = _LOADED[name] = _link(found, f"code{number}", _beside(), {}, symbols)
        code.stored_as = name
        return code

    return linked


def _from_cache(name: str, linked: Callable[[bytes], NativeCode]) -> NativeCode | None:
    """An object from the cache, linked, if there is one that fits."""
    found = process_cache().get(name)
    if found is None:
        return None
    try:
        return linked(found)
    except CompilerBug:
        process_cache().drop(name)
        return None


def _made(name: str, text: str, level: int) -> bytes:
    """The object of `text`, compiled and stored."""
    made = compile_object(text, level=level)
    process_cache().put(name, made)
    return made


def compile_object(text: str, *, level: int = LIGHT) -> bytes:
    """The object file of `text` for this CPU; nothing is read from or written to a cache."""

    def emitted() -> bytes:
        with _optimised(text, level) as (module, machine):
            return emit_object(machine, module)

    return on_deep_stack(emitted)


def assembly(text: str, *, level: int = LIGHT) -> str:
    """The assembly language of this CPU that `text` becomes."""

    def emitted() -> str:
        with _optimised(text, level) as (module, machine):
            return str(machine.emit_assembly(module))

    return on_deep_stack(emitted)


def optimised_text(text: str, *, level: int = LIGHT) -> str:
    """The text after optimisation, before code generation."""

    def printed() -> str:
        with _optimised(text, level) as (module, _):
            return str(module)

    return on_deep_stack(printed)


def cache_key(text: str, level: int = LIGHT) -> str:
    """The name under which what is made from `text` is stored: it depends on this machine too."""
    digest = hashlib.sha256(identity().encode())
    digest.update(f"\nlevel {level}\n".encode())
    digest.update(text.encode())
    return digest.hexdigest()


def identity() -> str:
    """All that machine code depends on besides its text."""
    return _identity(processor())


@functools.cache
def _identity(made_for: Processor) -> str:
    # nothing here may import a module (importlib.metadata would): the child of a fork in the midst
    # of an import waits for ever at its own import of that module
    return "\n".join(
        [
            f"support {hashlib.sha256(support_text().encode()).hexdigest()}",
            f"llvmlite {llvmlite.__version__}",
            f"llvm {binding.llvm_version_info}",
            f"triple {binding.get_process_triple()}",
            f"cpu {made_for.name}",
            f"features {made_for.attributes}",
        ]
    )


@functools.cache
def start() -> None:
    """Make LLVM ready for this machine and its math libraries findable; once."""
    if cpu_facts() is None:
        raise Unsupported(
            f"the cpu target does not know {platform.machine()}.",
            remedy="Run on the interp target, or on an x86-64 or aarch64 CPU.",
        )
    if binding.llvm_version_info[0] < 20:
        binding.initialize()
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    for name in system().libraries:
        library(name)


def linker() -> Any:
    """The one JIT linker of the process; never taken down, since workers may be inside its code."""
    if not _LINKER:
        with _ONCE:
            _LINKER.append(_linker())
    return _LINKER[0]


def _linker() -> Any:
    start()
    # JITLink places the sections of an object together: small, position-independent code can
    # address its constants directly
    jit = binding.create_lljit_compiler(target_machine(2), use_jit_link=True)
    keep_for_ever(jit)
    return jit


def _made_support() -> Code:
    text = support_text()
    name = cache_key(text, RAW)  # written by hand: optimising it would cost more than it gives
    imports = {symbol: symbol_address(symbol) for symbol in DECLARED.findall(text)}

    def linked(found: bytes) -> NativeCode:
        name_of_library = f"{SUPPORT_LIBRARY}{next(_NUMBERS)}"
        code = _link(found, name_of_library, "", imports, defined_in(text))
        code.stored_as = name
        return code

    return _from_cache(name, linked) or linked(_made(name, text, RAW))


def defined_in(text: str) -> list[str]:
    """The functions and globals of a text that code outside of it may use."""
    return [function or variable for function, variable in DEFINED.findall(text)]


def _beside() -> str:
    """The library in which code finds the functions of the support code."""
    code = support()
    if isinstance(code, NativeCode):
        return code.library
    with _ONCE:
        return _library_of_addresses()


@functools.cache
def _library_of_addresses() -> str:
    """The addresses of support code that was mapped, as a library."""
    builder = binding.JITLibraryBuilder()
    for symbol in defined_in(support_text()):
        builder.import_symbol(symbol, support().address(symbol))
    keep_for_ever(builder.link(linker(), SUPPORT_LIBRARY))
    return SUPPORT_LIBRARY


def support_text() -> str:
    """support.ll and its parts, with the facts of this system and CPU filled in."""
    start()
    return text_of_support(system(), cpu_facts() or {})


def text_of_support(services: System, facts: Mapping[str, str]) -> str:
    """The support code of any system, for any kind of CPU."""
    text = _text_of(*SUPPORT_FILES, services.support)
    return string.Template(text).substitute(facts, **services.names)


def call_text() -> str:
    """The text of calls from Python with no Python in between."""
    return _text_of(*CALL_FILES)


def _text_of(*names: str) -> str:
    folder = resources.files(__package__)
    return "\n".join(folder.joinpath(name).read_text(encoding="utf-8") for name in names)


def _optimised(text: str, level: int) -> AbstractContextManager[tuple[Any, Any]]:
    start()
    return optimised(text, level)


def _link(
    found: bytes, name: str, beside: str, imports: dict[str, int], symbols: Sequence[str] = ()
) -> NativeCode:
    """An object, loaded; CompilerBug if it does not hold these symbols."""
    builder = binding.JITLibraryBuilder().add_object_img(found)
    if beside:
        builder.add_jit_library(beside)
    builder.add_current_process()
    for symbol, address in imports.items():
        builder.import_symbol(symbol, address)
    try:
        code = NativeCode(name, builder.link(linker(), name))
    except RuntimeError as failure:
        raise CompilerBug(f"LLVM cannot link the object: {failure}") from None
    for symbol in symbols:
        code.address(symbol)
    return code


def _keep_others_out() -> None:
    """Take LLVM's lock, and wait for those who need none."""
    _LOCK.__enter__()
    try:
        wait_until_outside()
    except BaseException:  # of a signal handler
        _LOCK.__exit__(None, None, None)
        raise


_LOADED: weakref.WeakValueDictionary[str, NativeCode] = weakref.WeakValueDictionary()
_NUMBERS = itertools.count()
_ONCE = Lock()
_LINKER: list[Any] = []
MAKERS[SUPPORT], MAKERS[CALLS] = _made_support, lambda: compile_text(call_text(), level=RAW)
# in the child a lock of LLVM that another thread has, whether it has asked for it through Python
# or not, would never be free
_LOCK = binding.ffi.lib._lock
wait_at_fork(LLVM, _keep_others_out, lambda: _LOCK.__exit__(None, None, None))
