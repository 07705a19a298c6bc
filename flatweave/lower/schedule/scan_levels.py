"""The scans of a sweep's body, by level, and what asks only whether a row begins at an element.

    body:  x = index xs i            level 0
           p = prefix (add) [0] x    level 1: one look-back
           q = prefix (max) [..] p   level 2: a second one, when the first is known

A scan of level 2 reads what one of level 1 gives. A compaction is a scan, too: of how many elements
were kept before. The scans of a level share the words in which blocks publish. A sweep whose body
asks only whether a row begins at an element need not know which row that is: flags in memory answer
it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from flatweave.algorithms import block_scans
from flatweave.base.dtypes import DType, bool_, i64
from flatweave.base.records import record, replace
from flatweave.lower.machine import Machine
from flatweave.ops import Prefix, Sweep
from flatweave.ops.folds import Locate
from flatweave.ops.sweep import Sink
from flatweave.terms.build import index, lambda_of
from flatweave.terms.control import Apply, Cast
from flatweave.terms.operators import component_functions, flags_in_bytes, wide_sums
from flatweave.terms.syntax import ArrayType, Atom, Const, Lambda, Let, Var, constant, scalar_type
from flatweave.terms.traverse import free_vars, needed_for

COUNT = lambda_of("add", i64)
COUNTED_FROM: tuple[Atom, ...] = (index(0),)
FALSE = Const(False, bool_)


@record
class ScanRecord:
    """What one scan carries from element to element, and from block to block: a prefix's value, or
    how many elements a sink kept, or how many segments it closed.

    A prefix that starts anew at flags carries pairs of a flag and an element; `inner` is the record
    of its elements alone. `initial` is what the first block goes on from, where that is not the
    neutral element. Sums of f32 are carried as `wide` ones, and flags may be. A sum of flags may be
    `counted`.
    """

    fn: Lambda
    neutral: tuple[Atom, ...]
    args: tuple[Atom, ...]
    prefix: Let | None = None
    compact: int | None = None
    closing: bool = False
    counted: bool = False
    inner: ScanRecord | None = None
    initial: tuple[Atom, ...] = ()
    wide: ScanRecord | None = None

    @property
    def counts(self) -> bool:
        """Whether it counts the lanes in which a flag holds."""
        return self.counted or self.compact is not None

    @property
    def first(self) -> tuple[Atom, ...]:
        """What comes before all elements."""
        return self.initial or self.neutral

    @property
    def carried(self) -> ScanRecord:
        """The operator on what is carried, and its neutral element."""
        return self.wide or self


@record
class ScanLevels:
    """The records of each level, from 1 on."""

    levels: tuple[tuple[ScanRecord, ...], ...]

    @property
    def depth(self) -> int:
        return len(self.levels)

    @property
    def records(self) -> tuple[ScanRecord, ...]:
        """The records of all levels, in order."""
        return tuple(record for records in self.levels for record in records)

    def slot_of_count(self, number: int) -> int:
        """Which carry says how many flags of sink `number` were counted so far."""
        return next(slot for slot, record in with_slots(self.records) if record.compact == number)


def with_slots(records: Iterable[ScanRecord]) -> Iterator[tuple[int, ScanRecord]]:
    """Each record with the first of its slots among the values that they carry together."""
    slot = 0
    for scan in records:
        yield slot, scan
        slot += len(scan.neutral)


def record_of(records: Iterable[ScanRecord], let: Let) -> tuple[ScanRecord | None, int]:
    """The record of a prefix, with its first slot among the carries."""
    found = ((record, slot) for slot, record in with_slots(records) if record.prefix is let)
    return next(found, (None, 0))


def find_scan_levels(op: Sweep) -> ScanLevels:
    """The level of every prefix and of every sink that counts."""
    level: dict[Var, int] = {}
    found: dict[int, list[ScanRecord]] = {}
    for let in op.body.lets:
        known = max((level.get(v, 0) for v in free_vars(let.op)), default=0)
        if isinstance(let.op, Prefix):
            known += 1
            found.setdefault(known, []).append(_record_of_prefix(let, let.op))
        level.update((var, known) for var in let.vars)
    for k, (sink, taken) in enumerate(zip(op.sinks, op.portions(), strict=True)):
        flag = sink.counted(taken)
        if flag is not None:
            known = _level(level, flag) + 1
            record = ScanRecord(COUNT, COUNTED_FROM, (flag,), compact=k, closing=sink.closes)
            found.setdefault(known, []).append(record)
    depth = max(found, default=0)
    return ScanLevels(tuple(tuple(found.get(k, ())) for k in range(1, depth + 1)))


def _record_of_prefix(let: Let, op: Prefix) -> ScanRecord:
    wide = _carried_wide(op)
    alone = ScanRecord(op.fn, op.neutral, op.args, prefix=let, initial=op.initial, wide=wide)
    if not op.starts:
        return alone
    return ScanRecord(
        segmented_operator(op.fn), (FALSE, *op.neutral), (*op.starts, *op.args), prefix=let,
        inner=alone, wide=None if wide is None else ScanRecord(
            segmented_operator(wide.fn), (FALSE, *wide.neutral), ()
        ),
    )  # fmt: skip


def _carried_wide(op: Prefix) -> ScanRecord | None:
    """How a prefix is carried, where it has sums of f32."""
    return _carried_as(wide_sums(op.fn), op.neutral)


def sum_of_flags(record: ScanRecord, body: Lambda) -> ScanRecord | None:
    """A sum of flags as their count, where lanes of flags are more than those of numbers."""
    if component_functions(record.fn) != ["add"] or record.neutral != COUNTED_FROM:
        return None
    made = next((let.op for let in body.lets if record.args[0] in let.vars), None)
    if not isinstance(made, Cast) or scalar_type(made.arg) is not bool_:
        return None
    needed = needed_for(body.lets, [made.arg])
    read = (var.type for let in needed for var in free_vars(let.op))
    wide = any(isinstance(t, ArrayType) and t.dtype.bytes >= i64.bytes for t in read)
    return None if wide else replace(record, args=(made.arg,), counted=True)


def in_bytes(record: ScanRecord) -> ScanRecord:
    """A reduction whose flags are carried as bytes: LLVM packs lanes of flags that go from one
    iteration to the next into bits, and unpacks them, where registers have none for them."""
    return replace(record, wide=_carried_as(flags_in_bytes(record.fn), record.neutral))


def _carried_as(wide: Lambda | None, neutral: Sequence[Atom]) -> ScanRecord | None:
    """What is carried of an operator that has other types then, with constants as neutral."""
    numbers = [atom.value for atom in neutral if isinstance(atom, Const)]
    if wide is None or len(numbers) < len(neutral):
        return None
    pairs = zip(numbers, wide.result_types(), strict=True)
    found = tuple(constant(x, type_) for x, type_ in pairs if isinstance(type_, DType))
    return ScanRecord(wide, found, ())


def _level(level: dict[Var, int], atom: Atom) -> int:
    return level.get(atom, 0) if isinstance(atom, Var) else 0


def segmented_operator(fn: Lambda) -> Lambda:
    """The operator on (flag, element) that forgets what came before a flag: associative where `fn`
    is (Blelloch 1990).

        (f, a) (g, b) = (f or g, if g then b else a fn b)
    """
    half = len(fn.results)
    f, g, either = Var("f", bool_), Var("g", bool_), Var("h", bool_)
    behind = fn.params[half:]
    results = tuple(Var("c", param.type) for param in behind)
    lets = [Let((either,), Apply("or", (f, g)))]
    for result, alone, both in zip(results, behind, fn.results, strict=True):
        lets.append(Let((result,), Apply("select", (g, alone, both))))
    return Lambda(
        (f, *fn.params[:half], g, *behind), (*fn.lets, *lets), (either, *results)
    )


def packing_of_scans(records: Sequence[ScanRecord], machine: Machine) -> block_scans.Packing | None:
    """How the values that scans pass from block to block are packed into the words that the
    machine loads and stores at once; None if they do not fit."""
    components = []
    for scan in records:
        for atom in scan.carried.neutral:
            dtype = scalar_type(atom)
            bits = dtype.bits if scan.compact is None else block_scans.COUNT_BITS
            components.append((dtype, bits))
    return block_scans.packing_of(components, machine.whole_words)


@record
class HeadFlags:
    """What of a sweep's body says where rows begin.

    `flags` are the variables that do; `lets` are those of the body without them, and without the
    rows unless something else asks for these (`needs_rows`).
    """

    located: Locate
    flags: tuple[Var, ...]
    lets: tuple[Let, ...]
    needs_rows: bool

    def lean(self, op: Sweep) -> Sweep:
        """The sweep as far as it works on elements, not on rows."""
        rows = [taken[0] for sink, taken in _combined(op)]
        results = tuple(atom for atom in op.body.results if atom not in rows)
        return op.replace(body=Lambda(op.body.params, self.lets, results))


def _combined(op: Sweep) -> list[tuple[Sink, tuple[Atom, ...]]]:
    pairs = zip(op.sinks, op.portions(), strict=True)
    return [(sink, taken) for sink, taken in pairs if sink.row(taken) is not None]


def find_head_flags(op: Sweep, located: Locate | None) -> HeadFlags | None:
    """The values of a sweep that say where its rows begin, if it combines these rows and no others,
    or uses nothing else of them."""
    combined, lets = _combined(op), op.body.lets
    at = next((let for let in lets if let.op is located), None)
    if located is None or at is None:
        return None
    row, start = at.vars
    flags = [let for let in lets if _is_start(let, op.body.params[0], start)]
    bound = {let.vars[0] for let in flags}
    if any(taken[0] is not row or taken[1] not in bound for _, taken in combined):
        return None
    others = [let for let in lets if let not in flags and let is not at]
    results = [atom for atom in op.body.results if atom is not row]
    needs_rows = any({row, start} & free_vars(let.op).keys() for let in others) or any(
        atom in (row, start) for atom in results
    ) or op.body.results.count(row) > len(combined)
    if not combined and (needs_rows or not flags):
        return None
    rest = [let for let in lets if let not in flags and (needs_rows or let is not at)]
    return HeadFlags(located, tuple(bound), tuple(rest), needs_rows)


def _is_start(let: Let, position: Var, start: Var) -> bool:
    """Whether a let asks if a position is where its row begins."""
    return isinstance(let.op, Apply) and let.op.fn == "eq" and set(let.op.args) == {position, start}
