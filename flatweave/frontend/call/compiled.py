"""Compiled traces and how they are called: arguments in, results or the user's error out.

    entry = Entry(retrace)           one for each signature: dtypes and ranks
    entry(flat)                      the results' leaves; flat = [n, xs, 2.5, ..]
    total.stages(xs)                 `Stages`: what became of a call, to be looked at

Where a call brings an axis of extent 1 to be broadcast, a specialisation runs (`signature.py`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from flatweave.array_ir.syntax import Fault
from flatweave.base import pretty
from flatweave.base.config import config
from flatweave.base.errors import UserError
from flatweave.base.pretty import Note, StoredArray
from flatweave.base.recording import OPEN, run
from flatweave.base.records import record
from flatweave.base.source import Location
from flatweave.frontend.call.direct import Direct, values_of
from flatweave.frontend.call.options import Donated
from flatweave.frontend.call.signature import Specialisation, Specialised, unit_axes_of
from flatweave.frontend.trace.run_time_checks import out_of_memory, user_error
from flatweave.frontend.trace.trace import Traced
from flatweave.frontend.values.array import HostArray
from flatweave.frontend.values.elsewhere import Teller, device_array
from flatweave.frontend.values.number_formats import is_complex, pairs_of
from flatweave.frontend.values.tree import LEAF, Tree, unflatten
from flatweave.on_machines import OnCpu
from flatweave.runtime.calls import AS_THEY_ARE, Argument
from flatweave.runtime.cpu import is_frozen, shared
from flatweave.runtime.devices.arrays import Resident
from flatweave.runtime.execute import Owner
from flatweave.runtime.lazy_import import opened

Values = np.ndarray[Any, np.dtype[Any]]

class Executable(Protocol):
    """A program ready to run: what the pipeline makes of one."""

    @property
    def text(self) -> Mapping[str, str]:
        """The text of each stage."""

    @property
    def kernels(self) -> int:
        """How many passes over data a run makes."""

    @property
    def launched(self) -> list[tuple[str, str, bool]]:
        """Each kernel that a run may launch, its role, and whether it has been made."""

    @property
    def cpu(self) -> str:
        """The CPU that its machine code is made for; empty for other targets."""

    @property
    def whole(self) -> Any:
        """The compiled program with all information about it."""

    @property
    def is_whole(self) -> bool:
        """Whether that is known without compiling anything."""

    def manifest(self, args: Sequence[Any] | None) -> list[StoredArray]:
        """The arrays that a run for these flat arguments writes to memory."""

    @property
    def seconds(self) -> dict[str, float]:
        """How long each stage took."""

    @property
    def notes(self) -> list[Note]:
        """Why arrays that could be fused were stored, or are computed more than once."""

    def run(self, args: list[Any]) -> list[Any]:
        """The results for flat arguments in the order of the parameters; raises Fault."""


class Checks(Protocol):
    """What is tried in the first calls of a program; `untried` go by before the next try."""

    is_done: bool
    untried: ctypes.c_int64

    def __call__(self, args: Sequence[Any]) -> None:
        """Try it on these arguments; raises Fault."""


class Compiled:
    """A trace and its executable."""

    __slots__ = (
        "_hidden", "checks", "executable", "flags", "is_one_line", "moved", "sources", "traced",
        "tree",
    )  # fmt: skip

    def __init__(
        self, traced: Traced, executable: Executable, moved: dict[int, Location] | None = None,
        donated: int = 0, checks: Checks | None = None,
    ) -> None:  # fmt: skip
        self.checks = checks
        self.traced = traced
        self.executable = executable
        self._hidden = list(traced.hidden)
        # arrays of ours that the function captured, which may be assigned to
        self.sources = [each.source for each in traced.captured if each.source is not None]
        self.tree: Tree = traced.tree
        # where the lines of an executable shared with an equal program are in this one
        self.moved = moved
        # of the arrays that a call may donate, that it donates none
        self.flags = [False] * donated
        # whether whatever goes wrong does so at the line of the call
        self.is_one_line = False

    @property
    def hidden(self) -> list[Any]:
        """The program's arguments for captured arrays."""
        return list(self.traced.hidden) if self.sources else self._hidden

    def run(self, flat: list[Any], donated: Donated | None = None) -> list[Any]:
        """The results' leaves; raises Fault."""
        if hidden := self.hidden:
            flat = flat + hidden
        if self.checks is not None and not self.checks.is_done:
            self._check(self.checks, flat)
        if self.flags:
            flat = flat + (donated.flags if donated else self.flags)
        try:
            return self.run_all(flat) if OPEN else self.executable.run(flat)
        except Fault as fault:
            self._move(fault)
            raise

    def _check(self, checks: Checks, args: list[Any]) -> None:
        """Try what is not known of the program's operators."""
        if config.debug:  # all elements are
            return
        try:
            checks(args)
        except Fault as fault:
            self._move(fault)
            raise

    def run_all(self, args: list[Any]) -> list[Any]:
        """The same for all arguments of the program."""
        return run(self.traced.program.name, self.executable, args, self._where)

    def _where(self) -> Location | None:
        """The line where the program begins."""
        return next((let.where for let in self.traced.program.fn.lets if let.where), None)

    def _move(self, fault: Fault) -> None:
        if self.moved is not None and fault.where is not None:
            fault.where = self.moved.get(id(fault.where), fault.where)

    def user_error_of(self, fault: Fault) -> UserError:
        """The user's error for a fault that a device reports later."""
        self._move(fault)
        if self.is_one_line:
            fault.where = None
        return user_error(fault)


class Entry(Specialised[Compiled]):
    """One signature of a function: its trace, and specialisations that broadcast extents of 1."""

    __slots__ = ("_is_one_line", "_is_refused")

    def __init__(
        self, make: Callable[[Specialisation], Compiled], is_one_line: bool = False
    ) -> None:
        self._is_one_line = is_one_line
        self._is_refused = False

        def made(special: Specialisation) -> Compiled:
            found = make(special)
            found.is_one_line = is_one_line
            return found

        super().__init__(made)

    @property
    def is_refused(self) -> bool:
        """Whether Python has to make the calls, as long as each tries operators or for ever."""
        return self._is_refused or _tries(self.plain.checks)

    def refuse(self) -> None:
        """Let Python make all calls."""
        self._is_refused = True

    def direct(self, arguments: Sequence[Argument]) -> Direct | None:
        """What machine code calls for arguments like these; None where Python has to call."""
        compiled = self.plain
        ones: tuple[int, ...] = ()
        if self.specialisations:
            values = [values_of(each.value) for each in arguments if not each.is_fixed]
            values = [pairs_of(value) if is_complex(value) else value for value in values]
            found = self.specialisations.get(Specialisation(unit_axes_of(values)))
            if found is not None:
                compiled, ones = found, tuple(map(_ones, arguments))
        runnable = getattr(compiled.executable, "runnable", None)
        if type(runnable) is not OnCpu or compiled.flags or _tries(compiled.checks):
            return None
        rest = ones, compiled.sources, compiled.checks.untried if compiled.checks else None
        return Direct(runnable.program, compiled.hidden, compiled.tree, AS_THEY_ARE, *rest)

    def __call__(self, flat: list[Any], donated: Donated | None = None) -> Any:
        """The function's result for flat arguments: extents, arrays and scalars in order; some
        of the arrays may be donated."""
        compiled = self.plain
        args = flat
        if self.specialisations:
            compiled, args = self.chosen(flat)
        try:
            results = compiled.run(args, donated)
        except Fault as fault:
            compiled, results = self._broadcast(fault, compiled, flat, donated)
        except MemoryError as failure:
            raise out_of_memory(failure) from None
        kept = donated.kept if donated else [*flat, *compiled.hidden]
        return rebuilt(compiled, results, kept)

    def _broadcast(
        self, fault: Fault, tried: Compiled, flat: list[Any], donated: Donated | None
    ) -> tuple[Compiled, list[Any]]:
        """What broadcasts where the trace that was tried met an extent of 1, and its results.

        Raises the user's error where none does.
        """
        while (found := self.after(tried, fault, flat)) is not None:
            tried, args = found
            try:
                return tried, tried.run(args, donated)
            except Fault as second:
                fault = second
        raise self._error(fault) from None

    def _error(self, fault: Fault) -> UserError:
        """The user's error for a fault."""
        if self._is_one_line:
            fault.where = None
        return user_error(fault)


def _tries(checks: Checks | None) -> bool:
    """Whether the next call tries operators."""
    return checks is not None and not checks.untried.value


def _ones(argument: Argument) -> int:
    """The bits of the axes of extent 1; -1 for what is no array."""
    values = values_of(argument.value)
    if argument.is_fixed or type(values) is not np.ndarray:
        return -1
    return sum(1 << axis for axis, extent in enumerate(values.shape) if extent == 1)


class Called(Teller, Protocol):
    """What was called: the structure of its results, and the user's error for what went wrong."""

    @property
    def tree(self) -> Tree:
        """The tree of the results."""


def rebuilt(called: Called, results: Sequence[Any], flat: Sequence[Any]) -> Any:
    """The results as arrays in the function's tree; `flat` has the program's arguments."""
    if called.tree is LEAF:
        return owned(results[0], flat, called)
    return unflatten(called.tree, [owned(result, flat, called) for result in results])


def owned(result: Any, flat: Sequence[Any], called: Called) -> HostArray:
    """A result as a read-only array; copied where it is an argument that somebody may write to.

    One on a device stays there.
    """
    if type(result) is Resident:
        return device_array(result, called)
    values = np.asarray(result)
    if values.ndim and type(values.base) is not Owner:
        for value in flat:
            if type(value) is np.ndarray and np.may_share_memory(values, value):
                values = values if is_frozen(value) else values.copy()
                break
    if not values.flags.c_contiguous:
        values = np.ascontiguousarray(values)
    values.setflags(write=False)
    return HostArray(shared(values) if type(values.base) is np.ndarray else values)


@record(eq=True)
class Stages:
    """What became of one call: `.text[stage]`, `.kernels`, `.manifest`, `.notes`, `.seconds`.

    Units: `.seconds` is in seconds. Source: Flatweave.

    >>> fw.jit(lambda x: fw.sum(x * x), target="cpu").stages(np.zeros(9)).kernels
    1
    """

    name: str
    executable: Executable
    args: Sequence[Any] | None = None
    """The flat arguments of the call: sizes follow from them."""
    call: Callable[[], Stages] | None = None
    """Calls the function, which may compile it for extents of 1, and gives the stages of that."""
    watch: Callable[[], Any] | None = None
    """Runs a kernel in the simulator, and tells who reads and writes what."""
    chosen: tuple[Note, ...] = ()
    """What functions chose while they were traced."""
    steps: tuple[Stages, ...] = ()
    """Of a function of arrays in chunks, the stages of the program of each step."""

    @property
    def text(self) -> Mapping[str, str]:
        """The text of each stage: array, fused, flat, plan, kernel, and the target's own; of a
        function of arrays in chunks also its steps."""
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
    def manifest(self) -> list[StoredArray]:
        """The arrays that a call writes to memory, with their sizes."""
        return self.executable.manifest(self.args)

    @property
    def cpu(self) -> str:
        """The CPU that the machine code of the cpu target is made for, as LLVM names it."""
        return self.executable.cpu

    @property
    def seconds(self) -> dict[str, float]:
        """The time that each stage of the compilation took, in seconds."""
        return self.executable.seconds

    @property
    def notes(self) -> list[Note]:
        """Why arrays that are no results are stored, and what is computed more than once."""
        return [*self.chosen, *self.executable.notes]

    def page(self, path: str | Path | None = None, *, run: bool = True) -> Path:
        """Write what became of the call as one HTML file, by default `NAME.html`; its path.

        The program is run, for its time and for the kernels that these sizes need, unless `run`
        is False.
        """
        ran = self.call() if run and self.call else self
        return opened("page").write(ran, path, run=run)

    def _repr_html_(self) -> str | None:
        """What a notebook shows: the page in small."""
        return None if self.steps else opened("small").small(self)

    def __repr__(self) -> str:
        return f"<stages of {self.name}: {pretty.counted(self.kernels, 'kernel')}>"

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
        for stage in ("array", "steps", "fused", "kernel"):
            if stage in self.text:
                parts += ["", f"---- {stage} ----", self.text[stage].rstrip()]
        return "\n".join(parts)
