"""target="auto": each call runs where it is done first; devices=[..]: several share one.

    entry = Anywhere(make, deterministic=True)      make(target) is the entry for one target
    entry(flat)                                     on the target that finishes first

    entry = Shared(make, ["cpu", "cuda:0"], deterministic=True)
    entry(flat)                       each gets some rows of the arguments, all at once

The cost on a target is the time of a call, the copies there and back, and its bytes or its
operations, whichever take longer, at the rates that were measured (`demand.py`). Where targets give
different bits, only `cpu` is chosen, unless the user allows others, and devices that share a call
get equal parts, so that what was measured decides about time alone.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, count, pairwise
from typing import Any, NamedTuple

import numpy as np

from flatweave.array_ir import interp
from flatweave.array_ir.syntax import Fault, Program
from flatweave.base.errors import ArgumentError, Unsupported
from flatweave.base.locks import Lock
from flatweave.base.records import record
from flatweave.frontend.call.compiled import Compiled, Entry, rebuilt
from flatweave.frontend.call.direct import keep
from flatweave.frontend.call.options import Donated
from flatweave.ops import Check, Generate, Index, Map, Reduce
from flatweave.passes.monoid import monoid
from flatweave.places.demand import Demand, Rates, agrees, demand_of, rates
from flatweave.runtime.devices import cuda, opencl
from flatweave.runtime.devices.arrays import ARRAYS, Resident, Stop
from flatweave.runtime.devices.device import Device
from flatweave.terms.build import Builder
from flatweave.terms.control import Apply
from flatweave.terms.syntax import ArrayType, Atom, Const, Lambda, Let, Var
from flatweave.terms.traverse import atoms_in, free_vars, lambdas_in, walk_lets

# How a program is divided along the first axis of its arrays: what its parts give, and what of it.
#
#     f(n: i64, xs: f32[n]):            division_of(..)
#       ys = map g [xs]                   extents {n}: each part gets some rows of xs
#       s = reduce (add f32) [0.0] [ys]   results: rows that are concatenated, and a sum
#       in ys, s                          of sums
#
# Only maps and reductions are: an element of a result depends on the elements in its own row.


ROWS = "rows"
SAME = "same"


@record(eq=True)
class Folded:
    """Some results of a program, by number, which `fn` combines."""

    fn: Lambda
    results: tuple[int, ...]


@record(eq=True)
class Division:
    """Which parameters are extents that are divided, which are arrays, and what becomes of the
    results of the parts: concatenated, those of any part, or combined."""

    extents: frozenset[int]
    arrays: frozenset[int]
    kinds: tuple[str, ...]
    folds: tuple[Folded, ...]

    def rows(self, args: Sequence[Any]) -> int | None:
        """How many rows there are to divide; None where arrays differ in that."""
        found = {int(args[number]) for number in self.extents}
        return found.pop() if len(found) == 1 else None

    def part(self, args: Sequence[Any], begin: int, end: int) -> list[Any]:
        """The arguments with these rows alone."""
        part = list(args)
        for number in self.extents:
            part[number] = end - begin
        for number in self.arrays:
            part[number] = args[number][begin:end]
        return part

    def joined(self, parts: Sequence[Sequence[Any]]) -> list[Any]:
        """The results of the whole, from those of all parts in order."""
        found = [
            np.concatenate(column) if kind == ROWS else column[0]
            for kind, column in zip(self.kinds, zip(*parts, strict=True), strict=True)
        ]
        for fold in self.folds:
            program = Program("combined", fold.fn)
            total = [parts[0][k] for k in fold.results]
            for part in parts[1:]:
                total = interp.run(program, [*total, *(part[k] for k in fold.results)])
            for k, value in zip(fold.results, total, strict=True):
                found[k] = value
        return found


def division_of(program: Program) -> Division:
    """How a program is divided; raises ArgumentError where it is not."""
    return _Dividing(program).division()


class _Dividing:
    """Follows what is divided through a program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.extents = _divided_extents(program)
        arrays = [each for each in program.fn.params if isinstance(each.type, ArrayType)]
        self.rows = {each for each in arrays if self.is_divided(each)}
        self.folds: list[tuple[Reduce, tuple[Var, ...]]] = []

    def is_divided(self, atom: Atom) -> bool:
        """Whether the first axis of an array is the divided one."""
        return isinstance(atom.type, ArrayType) and atom.type.shape[0] in self.extents

    def division(self) -> Division:
        """Raises ArgumentError."""
        for let in self.program.fn.lets:
            if not self._follows(let):
                raise _refused(self.program, let)
        params, results = self.program.fn.params, self.program.fn.results
        folded = {var for _, variables in self.folds for var in variables}
        if not self.extents or not folded <= set(results):
            raise _refused(self.program, None)
        return Division(
            frozenset(k for k, param in enumerate(params) if param in self.extents),
            frozenset(k for k, param in enumerate(params) if param in self.rows),
            tuple(ROWS if result in self.rows else SAME for result in results),
            tuple(
                Folded(op.fn, tuple(results.index(var) for var in variables))
                for op, variables in self.folds
            ),
        )

    def _follows(self, let: Let) -> bool:
        """Whether a let does the same on some rows as on all."""
        op = let.op
        beside = {*atoms_in(op), *(atom for fn in lambdas_in(op) for atom in _read(fn))}
        partial = self.extents | self.rows | {v for _, made in self.folds for v in made}
        match op:
            case Map() if all(map(self.is_divided, op.xs)):
                self.rows.update(let.vars)
                return not {*atoms_in(op)} & partial - {*op.xs} and not _read(op.fn) & partial
            case Reduce() if all(map(self.is_divided, op.xs)):
                self.folds.append((op, let.vars))
                is_free = not free_vars(op.fn) and not {*op.neutral} & partial
                return is_free and not monoid(Builder(), op.fn, op.neutral).initial
            case Generate(shape=(first, *rest)) if first in self.extents:
                self.rows.update(let.vars)
                return not {*rest} & partial and self._reads_own_row(op.fn)
            case Apply() | Check() if beside & partial <= self.extents:
                return not beside & partial or _holds_for_parts(op, self.extents)
        return not beside & partial

    def _reads_own_row(self, fn: Lambda) -> bool:
        """Whether a function of the row's number reads that row of divided arrays, and nothing else
        of them."""
        row = fn.params[0]
        for let in walk_lets(fn):
            op = let.op
            if isinstance(op, Index) and op.xs in self.rows:
                if op.indices[0] is not row or row in op.indices[1:]:
                    return False
            elif row in atoms_in(op):
                return False
        return row not in fn.results and not _read(fn) & self.extents


def _read(fn: Lambda) -> set[Atom]:
    """What is read in a function: extents in the types of arrays are not."""
    atoms = {atom for let in walk_lets(fn) for atom in atoms_in(let.op)}
    inner = [each for let in walk_lets(fn) for each in lambdas_in(let.op)]
    return atoms.union(fn.results, *(each.results for each in inner))


def _divided_extents(program: Program) -> frozenset[Var]:
    """The first extents of the arrays that are mapped or reduced, and those that equal them."""
    found: set[Atom] = set()
    equal: list[set[Atom]] = []
    for let in program.fn.lets:
        if isinstance(let.op, Map | Reduce):
            types = [x.type for x in let.op.xs]
            found.update(each.shape[0] for each in types if isinstance(each, ArrayType))
        elif isinstance(let.op, Generate):
            found.add(let.op.shape[0])
        elif isinstance(let.op, Apply) and let.op.fn == "eq":
            equal.append(set(let.op.args))
    for _ in equal:
        for pair in equal:
            if pair & found:
                found |= pair
    return frozenset(atom for atom in found if atom in program.fn.params)  # type: ignore[misc]


def _holds_for_parts(op: Any, extents: frozenset[Var]) -> bool:
    """Whether a condition on divided extents holds for each part if it does for the whole: two are
    equal, or there is anything at all."""
    if isinstance(op, Check):
        return True
    left, right = op.args if len(op.args) == 2 else (None, None)
    nothing = isinstance(right, Const) and right.value == 0
    return (op.fn == "eq" and {left, right} <= extents) or (op.fn in ("gt", "ne") and nothing)


def _refused(program: Program, let: Let | None) -> ArgumentError:
    return ArgumentError(
        f"devices=[..] cannot divide {program.name}: only maps and reductions along the first axis "
        "of arrays of one length are.",
        where=let.where if let else None,
        remedy="Jit that part alone for several devices; a reduction starts from what is neutral "
        "to its operator, and is a result as it is.",
    )


HOST = "cpu"
KINDS = {"cuda": cuda, "opencl": opencl}


class Place(NamedTuple):
    """A target by its name, its device, and how fast it is."""

    target: str
    device: Device | None
    rates: Rates


class Anywhere:
    """One signature of a function, on whichever target a call is done first."""

    def __init__(self, make: Callable[[str], Entry], deterministic: bool) -> None:
        self._make = make
        self._lock = Lock()
        self._entries: dict[str, Entry] = {}
        self._targets: dict[Any, str] = {}
        self.plain = self._entry(HOST).plain
        self._is_free = not deterministic or agrees(self.plain.traced.program)

    def __call__(self, flat: list[Any], donated: Donated | None = None) -> Any:
        return self._entry(self.target(flat))(flat, donated)

    def chosen(self, flat: list[Any]) -> tuple[Compiled, list[Any]]:
        """The compiled specialisation for these extents, and the arguments it takes."""
        return self._entry(self.target(flat)).chosen(flat)

    def target(self, flat: list[Any]) -> str:
        """Where a call with these arguments runs: by their sizes, and by where they are."""
        if not self._is_free:
            return HOST
        key = tuple(map(_telling, flat))
        found = self._targets.get(key)
        if found is None:
            args = [*flat, *self.plain.hidden]
            demand = demand_of(self.plain.traced.program, args)
            found = min(places(), key=lambda place: seconds(place, demand, args)).target
            keep(self._targets, key, found)
        return found

    def _entry(self, target: str) -> Entry:
        if target not in self._entries:
            with self._lock:
                if target not in self._entries:
                    self._entries[target] = self._make(target)
        return self._entries[target]


def _telling(value: Any) -> Any:
    """What of an argument the choice depends on: an extent, the device that an array is on."""
    if type(value) is int:
        return value
    return value.device.name if type(value) is Resident else None


def seconds(place: Place, demand: Demand, args: list[Any]) -> float:
    """How long a call takes there, its copies included. Its results come back, unless an argument
    is on a device: then somebody goes on there."""
    here = place.rates
    arrays = [arg for arg in args if isinstance(arg, ARRAYS)]
    copies = sum(_copied(place, arg) for arg in arrays)
    if here.back and not any(type(arg) is Resident for arg in arrays):
        copies += demand.given / here.back
    work = max(demand.moved / here.memory, demand.operations / here.arithmetic)
    return here.call * demand.turns + copies + work


def _copied(place: Place, array: Any) -> float:
    """How long an argument is on its way."""
    device = array.device if type(array) is Resident else None
    if device is place.device:
        return 0.0
    leaves = next((each.rates.back for each in places() if each.device is device), 0.0)
    comes = place.rates.there
    return float(sum(array.nbytes / rate for rate in (leaves, comes) if rate))


@functools.cache
def places() -> tuple[Place, ...]:
    """The targets there are on this machine, the host first."""
    found = [(HOST, None), *(each for kind in KINDS for each in _devices(kind))]
    return tuple(Place(target, device, rates(target, device)) for target, device in found)


def _devices(kind: str) -> Iterator[tuple[str, Device]]:
    for number in count():
        try:
            yield f"{kind}:{number}", KINDS[kind].device(number)
        except (Unsupported, ArgumentError):  # no package, no driver, or no more of them
            return


class Shared:
    """One signature of a function, on several devices at once."""

    def __init__(
        self, make: Callable[[str], Entry], targets: Sequence[str], deterministic: bool
    ) -> None:
        self._targets = targets
        self._entries = [make(target) for target in targets]
        self.plain = self._entries[0].plain
        self._division = division_of(self.plain.traced.program)
        self._by_speed = not deterministic or agrees(self.plain.traced.program)

    def __call__(self, flat: list[Any]) -> Any:
        args = [*flat, *self.plain.hidden]
        rows = self._division.rows(args)
        if rows is None or rows < len(self._targets):
            return self._entries[0](flat)
        try:
            parts = self._run(args, self.bounds(args, rows))
        except (Fault, Stop):  # which the whole call tells of as if nobody shared it
            return self._entries[0](flat)
        return rebuilt(self.plain, self._division.joined(parts), flat)

    def chosen(self, flat: list[Any]) -> tuple[Compiled, list[Any]]:
        """What the first device runs, and the arguments it takes."""
        return self._entries[0].chosen(flat)

    def bounds(self, args: list[Any], rows: int) -> list[tuple[int, int]]:
        """Which rows each device gets; none gets none."""
        weights = self._weights(args)
        ends = [0, *accumulate(weights)]
        spare = rows - len(weights)
        cuts = [round(spare * end / ends[-1]) + k for k, end in enumerate(ends)]
        return list(pairwise(cuts))

    def _weights(self, args: list[Any]) -> list[float]:
        """How much of the work each device does in the same time."""
        if not self._by_speed:
            return [1.0] * len(self._targets)
        demand = demand_of(self.plain.traced.program, args)
        known = {place.target: place for place in places()}
        shared = (known.get(target) or known[f"{target}:0"] for target in self._targets)
        return [1 / seconds(place, demand, args) for place in shared]

    def _run(self, args: list[Any], bounds: Sequence[tuple[int, int]]) -> list[list[Any]]:
        """The results of all parts; devices, whose calls come back at once, before the CPU."""
        given = [
            [arg.values() if type(arg) is Resident else arg for arg in part]
            for part in (self._division.part(args, begin, end) for begin, end in bounds)
        ]
        results: dict[int, list[Any]] = {}
        for k in sorted(range(len(given)), key=lambda k: self._targets[k] == HOST):
            results[k] = self._entries[k].plain.run_all(given[k])
        return [
            [each.values() if type(each) is Resident else each for each in results[k]]
            for k in range(len(given))
        ]
