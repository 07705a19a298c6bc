"""Public functions outside a trace: traced with their arrays as arguments, compiled, run.

    fw.map(lambda x: x + 1, xs)                the program of (lambda xs: fw.map(.., xs)), called
    entry_for("cpu+cuda:0", make, schedule)    devices=["cpu", "cuda:0"]: both share each call

Calls are found again by their signature, to which a function adds its code and what that reads
(`function_keys.py`), and the line of the call. Where a function may read what changes, its program
must be traced to be known; but programs that are equal share what was compiled.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from flatweave.array_ir.syntax import Program
from flatweave.base.config import config
from flatweave.base.errors import ArgumentError, UserError
from flatweave.base.schedule import Schedule
from flatweave.base.source import Location, user_location
from flatweave.frontend.call import shared_ranks
from flatweave.frontend.call.compiled import Compiled, Entry, Executable
from flatweave.frontend.call.direct import HIGH, LOW, Known, is_for_all, keep, may_enter, put, quick
from flatweave.frontend.call.function_keys import (
    LITERAL,
    Looked,
    OfFunctions,
    function_of,
    is_function,
    key_of_static,
    reading,
    reference_to,
)
from flatweave.frontend.call.operation import EVALUATOR, Operation
from flatweave.frontend.call.options import in_force
from flatweave.frontend.call.signature import (
    Specialisation,
    fingerprint,
    flat_of,
    key_of,
    leaves_of,
    plain,
    stand_in,
)
from flatweave.frontend.trace.run_time_checks import too_deep
from flatweave.frontend.trace.trace import Traced, trace
from flatweave.frontend.trace.tracers import is_array
from flatweave.frontend.values.arguments import TELLING, is_telling
from flatweave.frontend.values.array import HostArray
from flatweave.frontend.values.asarray import is_number_list, list_values
from flatweave.frontend.values.chunked import Chunked
from flatweave.frontend.values.number_formats import is_complex
from flatweave.frontend.values.tree import Tree, flatten, node_parts, portions, unflatten
from flatweave.runtime.calls import Argument
from flatweave.runtime.devices.arrays import Resident
from flatweave.runtime.lazy_import import opened
from flatweave.scalar.ops import SYMBOLS
from flatweave.terms.traverse import walk_lets

AUTO = "auto"
AND = "+"  # between the targets that share a call


def entry_for(target: str, make: Callable[[str], Entry], schedule: Schedule) -> Entry:
    """What runs the calls of one signature on a target, or on more than one."""
    found: Entry
    if AND in target:
        found = opened("anywhere").Shared(make, target.split(AND), schedule.deterministic)
    elif target == AUTO:
        found = opened("anywhere").Anywhere(make, schedule.deterministic)
    else:
        found = make(target)
    return found


def where_they_are(target: str, args: list[Any]) -> str:
    """The target, or for "auto" that of the device that an argument is on; the CPU if there is
    none."""
    if target != AUTO:
        return target
    devices = (arg.device for arg in args if type(arg) is Resident)
    return next((f"{device.kind}:{device.number}" for device in devices), "cpu")


def shared_by(target: str | None, devices: Any) -> str | None:
    """The target of jit, or the name of several devices; ArgumentError for anything else."""
    if isinstance(devices, tuple | list) and not devices:
        return target
    names = list(devices) if isinstance(devices, tuple | list) else []
    if target is not None or not names or not all(_is_name(name) for name in names):
        raise ArgumentError.here(
            f"devices of jit must be a list of targets, given without target, got {devices!r}.",
            'For instance devices=["cpu", "cuda:0"].',
        )
    return AND.join(names)


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and name != AUTO and AND not in name


Build = Callable[[Program, str, bool, Schedule], Executable]
# the one slot for the compiler, which is above this layer; jit.py fills it when it is imported
COMPILER: list[Build] = []
_entries: dict[Any, Entry | OfFunctions] = {}
_READ_AT_ONCE: dict[Any, None] = {}
"""Signatures of calls whose functions need the values of arrays that they read."""
_KNOWN = Known()
_programs: dict[Any, tuple[Executable, list[Location | None]]] = {}
_checks: dict[Any, Any] = {}


class OperationCall:
    """A call of a public function: its arrays and numbers, and its static arguments. Where
    `captures`, arrays that its functions read are leaves, too, after all others."""

    def __init__(
        self, known: Operation, args: tuple[Any, ...], kwargs: dict[str, Any],
        captures: bool = True,
    ) -> None:  # fmt: skip
        self.known = known
        self.keywords = tuple(kwargs)
        self.trees: list[Tree] = []
        self.leaves: list[Any] = []
        self.names: list[str] = []
        self.has_lists = False  # of numbers, each an array
        self.static: dict[int, Any] = {}  # leaves that are not arguments of the program
        for i, value in enumerate(args):
            name = known.positional[i] if i < len(known.positional) else known.rest
            self._take(name, value, i)
        for name, value in kwargs.items():
            self._take(name, value, -1)
        captured: list[HostArray] = []
        self._parts = tuple(key_of_static(value, captured) for value in self.static.values())
        self.captured = len(captured) if captures and None not in self._parts else 0
        self.leaves += captured[: self.captured]
        self.names += ["an array outside"] * self.captured
        self.places = [i for i, value in self.static.items() if is_function(value)]
        dynamic = [i for i in range(len(self.leaves)) if i not in self.static]
        self.dynamic = dynamic
        in_chunks = any(type(leaf) is Chunked for leaf in self.leaves)
        target = "" if in_chunks else config.target
        self.values = [plain(self.leaves[i], self._called(i), target=target) for i in dynamic]

    def _called(self, i: int) -> str:
        """What messages call a leaf."""
        if self.known.name in SYMBOLS:
            return f"an operand of {SYMBOLS[self.known.name]}"
        return f"{self.names[i]} of {self.known.name}"

    def _take(self, name: str, value: Any, position: int) -> None:
        if name in self.known.static:
            leaves, tree = flatten(value, lambda leaf: True)
        elif name in self.known.structured:
            leaves, tree = flatten(value)
        elif name in self.known.lists:
            leaves, tree = flatten(value, lambda leaf: leaf is not value and is_number_list(leaf))
        else:
            leaves, tree = flatten(value, is_number_list)
        self.trees.append(tree)
        for leaf in leaves:
            if name in self.known.static or not _is_argument(leaf) or is_telling(name, leaf):
                self.static[len(self.leaves)] = leaf
            elif is_number_list(leaf):
                leaf, self.has_lists = list_values(leaf), True
            self.leaves.append(leaf)
            self.names.append(name)

    def arguments(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Argument]:
        """The arguments as machine code may know them; none where a list is an array, and where one
        is a number other values of which have another program, but for an extent: the -1 of a shape
        fails where an extent is expected."""
        found: list[Argument] = []
        start = 0
        names = [""] * len(args) + list(kwargs)
        for value, name, tree in zip([*args, *kwargs.values()], names, self.trees, strict=True):
            leaves = range(start, start + tree.size)
            start += tree.size
            static = [at in self.static for at in leaves]
            is_fixed = all(static)
            if self.has_lists or (any(static) and not is_fixed):
                return []
            if not is_fixed and self.names[leaves[0]] in TELLING.keys() - {"shape"}:
                return []
            found.append(Argument(value, name, is_fixed))
        return found

    def key(self) -> tuple[object, ...] | None:
        """The signature; None if the arguments alone do not determine it."""
        parts = self._parts
        if None in parts:
            return None
        if self.places:  # the line of the call is in what a check of theirs says
            parts += (user_location().instruction,)
        dynamic = tuple(key_of(value) for value in self.values)
        places = tuple(self.static)
        trees = tuple((tree, tree.orders) for tree in self.trees)  # functions see orders of dicts
        return self.known, self.keywords, trees, places, parts, dynamic

    def body(self, tracers: Sequence[Any]) -> object:
        """Call the function's body with traced arguments instead of concrete ones."""
        leaves = list(self.leaves)
        for i, tracer in zip(self.dynamic, tracers, strict=True):
            leaves[i] = tracer
        for i in self.places:
            leaves[i] = function_of(leaves[i])
        if self.captured:
            reading(leaves, self.places, self.captured)
        parts = portions(self.trees, leaves)
        values = [unflatten(tree, part) for tree, part in zip(self.trees, parts, strict=True)]
        count = len(values) - len(self.keywords)
        named = dict(zip(self.keywords, values[count:], strict=True))
        return self.known.body(*values[:count], **named)

    def forget_values(self) -> None:
        """Keep dtypes and shapes of the arrays alone, so that their memory can be freed, and no
        functions, which may hold others."""
        for i in self.dynamic:
            self.leaves[i] = None
        for i in self.places:
            self.leaves[i] = self.static[i] = reference_to(self.leaves[i])
        self.values = [stand_in(value) for value in self.values]

    def make(self, target: str, schedule: Schedule, special: Specialisation) -> Compiled:
        """Trace the call and compile it, or take what was compiled for an equal program."""
        with config.scoped(target=target):
            traced = self.traced(special)
        return shared(traced, target, schedule)

    def traced(self, special: Specialisation) -> Traced:
        """The trace of the call."""
        names = [(self.names[i], f"{self.names[i]} of {self.known.name}") for i in self.dynamic]
        leaves = leaves_of(self.values, names, special.unit_axes)
        return trace(self.known.name, self.body, leaves, special.stretches, special.in_chunks)


def evaluate(known: Operation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a public function on concrete arrays."""
    try:
        return _evaluate(known, args, kwargs)
    except RecursionError as error:
        raise too_deep(error, known.name) from None


def _evaluate(known: Operation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    looked = Looked(known, args, kwargs, config.target)
    table, signature = _KNOWN.here(), tuple(looked.key)
    is_short = not kwargs and len(args) <= known.values
    found = table.get(signature) if looked.is_known else None
    if found is not None:
        if isinstance(found, OfFunctions):
            found.renew(looked.functions)
        result = found(looked.flat)
        if is_short and may_enter(found):
            known.direct.enter([Argument(arg) for arg in args], found, config.target)
        return result
    fewer = shared_ranks.of_fewer_axes(known, args, kwargs)
    if fewer is not None:
        with contextlib.suppress(UserError):  # which tells of the arrays as they are, below
            result = fewer.shaped(_evaluate(known, fewer.args, fewer.kwargs))
            if is_short and looked.is_known and (one_axis := _quickly(known, fewer.args)):
                any_rank = shared_ranks.AnyRank(known, one_axis, partial(_as_they_are, known))
                put(table, signature, any_rank)
            elif fewer.rows is not None and is_for_all():
                entry, *_ = _entry(known, fewer.args, fewer.kwargs)
                call = OperationCall(known, args, kwargs)
                in_rows = shared_ranks.InRows(entry, fewer.rows)
                known.direct.enter(call.arguments(args, kwargs), in_rows, config.target)
            return result
    entry, flat, arguments = _entry(known, args, kwargs)
    is_pythons = is_short or looked.functions or getattr(entry, "is_refused", True)
    if looked.is_known and is_pythons and isinstance(entry, OfFunctions) == bool(looked.functions):
        put(table, signature, entry)
    result = entry(flat)
    known.direct.enter(arguments, entry, config.target)
    return result


def _as_they_are(known: Operation, args: tuple[Any, ...]) -> shared_ranks.Run:
    """What runs a call with arrays of these ranks."""
    return _entry(known, args, {})[0]


def _quickly(known: Operation, args: tuple[Any, ...]) -> shared_ranks.Run | None:
    """What runs a call of plain arrays and numbers, if such a one has been made."""
    key: list[Any] = [known]
    return _KNOWN.here().get(tuple(key)) if quick(args, key, [], node_parts) else None


def _entry(
    known: Operation, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Entry | OfFunctions, list[Any], Sequence[Argument]]:
    """The compiled signature of a call, made if it is new, the call's flat arguments, and those
    that machine code may know."""
    call = OperationCall(known, args, kwargs)
    target, schedule = config.target, in_force()
    signature = call.key()
    if call.captured and signature in _READ_AT_ONCE:
        call, signature = OperationCall(known, args, kwargs, captures=False), None
    entry: Entry | OfFunctions | None = None
    if signature is not None:
        entry = _entries.get((target, config.cpu, schedule, signature))
    flat = flat_of(call.values)
    if entry is None:
        is_split = any(type(value) is Chunked for value in flat)
        is_one_line = signature is not None and not call.places
        failed = contextlib.suppress(Exception) if call.captured else contextlib.nullcontext()
        with failed:
            entry = opened("chunks").InChunks(call.traced, flat) if is_split else (
                entry_for(
                    target,
                    lambda target: Entry(
                        lambda special: call.make(target, schedule, special), is_one_line
                    ),
                    schedule,
                )
            )  # fmt: skip
        if entry is None:
            keep(_READ_AT_ONCE, signature, None)
            return _entry(known, args, kwargs)
        if signature is not None:
            call.forget_values()  # a specialisation may be traced later: the entry keeps the call
            entry = OfFunctions(entry, call.leaves, call.places) if call.places else entry
            keep(_entries, (target, config.cpu, schedule, signature), entry)
        return entry, flat, ()
    if isinstance(entry, OfFunctions):
        entry.renew([call.leaves[i] for i in call.places])
        return entry, flat, ()
    return entry, flat, call.arguments(args, kwargs)


def compile_program(
    program: Program, target: str, checks: bool, schedule: Schedule
) -> Executable:
    """The compiled program; errors of the compiler are raised at the user's line."""
    try:
        return COMPILER[0](program, target, checks, schedule)
    except UserError as failure:
        failure.where = failure.where or user_location()
        raise


def shared(traced: Traced, target: str, schedule: Schedule) -> Compiled:
    """A traced program with its executable, compiled once for all programs equal to it."""
    fn = traced.program.fn
    key = (target, config.cpu, schedule, traced.program.name, fingerprint(fn))
    lines = [let.where for let in walk_lets(fn)]
    found = _programs.get(key)
    if found is None:
        executable = compile_program(traced.program, target, True, schedule)
        keep(_programs, key, (executable, lines))
        return Compiled(traced, executable, checks=_checks_of(traced.program, key))
    executable, compiled_lines = found
    pairs = zip(compiled_lines, lines, strict=True)
    moved = {id(a): b for a, b in pairs if a is not None and b}
    return Compiled(traced, executable, moved, checks=_checks_of(traced.program, key))


def _checks_of(program: Program, key: Any) -> Any:
    """What tries the operators of all programs equal to this one."""
    if program.unproven and key not in _checks:
        keep(_checks, key, first_calls(program))
    return _checks.get(key) if program.unproven else None


def first_calls(program: Program) -> Any:
    """What tries the operators of a program in its first calls; None where all are known."""
    return opened("operators").FirstCalls(program) if program.unproven else None


def _is_argument(leaf: Any) -> bool:
    """Whether a leaf is an argument of the program; numbers beyond an i64 are part of it."""
    if type(leaf) is int and not LOW <= leaf < HIGH:
        return False
    if is_array(leaf) or is_complex(leaf):
        return True
    return not (callable(leaf) or isinstance(leaf, LITERAL) or leaf is Ellipsis)


EVALUATOR.append(evaluate)
