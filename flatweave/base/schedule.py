"""The schedule of a program, and the sizes at which versions of nests are chosen."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from textwrap import dedent

from flatweave.base.pretty import nearest
from flatweave.base.records import record

# The sizes at which the rows of a nest run one at a time: data of a machine.
#
#     Thresholds(rows=64, longest=65536, share=16, mean=8).admits(Sizes(rows=1000, ..))
#
# A machine has some for all programs (`lower/machine.py`); what `fw.tune` measures of one program
# stands before them (`Schedule.tuned`).


FAR = 1 << 62
"""More than any nest has."""


@record(eq=True)
class Sizes:
    """The number of rows, their values in all, and the values of the longest row."""

    rows: int
    values: int
    longest: int

    def __str__(self) -> str:
        return f"{self.rows} rows, {self.values} values, at most {self.longest} in a row"


@record(eq=True)
class Thresholds:
    """Rows run one at a time if there are at least `rows` of them, with `mean` values
    each or more, the longest with from `least` to `longest` values and at most one of `share` parts
    of all.
    """

    rows: int
    longest: int
    share: int
    mean: int
    least: int = 0

    def admits(self, sizes: Sizes) -> bool:
        """Whether rows of these sizes run one at a time."""
        return (
            sizes.rows >= self.rows
            and self.least <= sizes.longest <= self.longest
            and sizes.longest * self.share <= sizes.values
            and sizes.rows * self.mean <= sizes.values
        )

    def __str__(self) -> str:
        if self in (ALWAYS, NEVER):
            return "always" if self == ALWAYS else "never"
        parts = [f"from {self.rows} rows on"]
        parts += [f"of at most {self.longest} values"] if self.longest < FAR else []
        parts += [f"the longest with 1/{self.share} of all at most"] if self.share else []
        parts += [f"{self.mean} values each or more"] if self.mean else []
        parts += [f"the longest of {self.least} values or more"] if self.least else []
        return ", ".join(parts)


ALWAYS, NEVER = Thresholds(0, FAR, 0, 0), Thresholds(FAR, 0, 0, 0)


@record(eq=True)
class ByGain:
    """Thresholds by the content of a nest for which running its rows one at a time pays."""

    loops: Thresholds
    sorts: Thresholds
    selections: Thresholds
    keys: Thresholds

    def of(self, gain: str) -> Thresholds:
        """Those for `loops`, `sorts`, `selections`, or sorts of `keys` alone in rows of one length;
        loops by `elements` always do."""
        limits: Thresholds = ALWAYS if gain == "elements" else getattr(self, gain)
        return limits


# The schedule of a program: the named variants it takes; None where the lowering chooses.
#
#     with fw.schedule(permute="partition"): ..            every permute inside is divided that way
#     with fw.schedule("sweep t_9 ..."): ..                the sweep t_9 runs by this plan
#     FLATWEAVE_SCHEDULE=permute=partition,store=plain     the same for a process, and more
#
# Variants differ in how work is divided, never in what is computed.


PERMUTES = (
    "owner", "private", "partition", "shared", "shared-atomic", "sorted", "atomic", "cas"
)  # fmt: skip
VERSIONS = ("by-row", "flat")
EXPANDS = (
    "per-source", "per-warp", "per-block", "balanced", "balanced-search",
    "per-source-random", "per-warp-random", "per-block-random",
)  # fmt: skip
MOST_EACH = 1 << 16
SWEEP = "sweep "
"""What the text of a plan begins with."""
SOURCES_PER_BLOCK = re.compile(r"[1-9][0-9]*-per-block(-search|-random)?")


@record(eq=True)
class Schedule:
    """Variants by name, and whether results may depend on timing where that is faster.

    `store`: around the caches or not; `rows`: lanes along each row or along positions; `filter`:
    how often the elements of a filter are evaluated; `contraction`: results of folds in register
    tiles, or one in each lane; `version`: whether the rows of a nest are done one after the other
    or all at once; `product`: whether products of matrices of floats are the library's or the
    program's own; `seq_factor`: how many elements of a block each of its threads takes. Where a
    sweep has no such choice, they say nothing. `tape`: the most bytes of states that the gradient
    of a loop saves; without it a quarter of memory.

    `text` has plans of sweeps by name, as `stages` prints them: they replace those that are chosen.

    `tuned` has thresholds for the nests of one program that have versions, in their order; where
    it has None, or ends, those of the machine hold. `tuned_text` has plans that were measured to be
    faster, which hold where they are still allowed. `donated` are the numbers of the program's
    arrays that a call may donate.
    """

    expand: str | None = None
    permute: str | None = None
    store: str | None = None
    rows: str | None = None
    filter: str | None = None
    contraction: str | None = None
    product: str | None = None
    version: str | None = None
    seq_factor: int | None = None
    tape: int | None = None
    deterministic: bool = True
    tuned: tuple[Thresholds | None, ...] = ()
    donated: tuple[int, ...] = ()
    text: str = ""
    tuned_text: str = ""

    @property
    def whole_rows(self) -> bool:
        """Whether a row is not to be divided: one source computes all its elements."""
        return self.expand == "per-source"


class UnknownWord(ValueError):
    """An unknown word; `near` is the word that was probably meant."""

    def __init__(self, value: object, known: Iterable[str]) -> None:
        super().__init__()
        self.near = nearest(value, known) if isinstance(value, str) else ""


CHOSEN = Schedule()
"""Nothing is forced."""
OF_CHUNKS = Schedule(product="kernels")
"""Programs of chunks share the cores, which a library would take for itself."""


def expand_variant(value: object) -> str | None:
    """per-source, per-warp, per-block, <n>-per-block such as 16-per-block, balanced, or one \
of these followed by -search or -random"""
    if value is None:
        return None
    if isinstance(value, str) and (value in EXPANDS or SOURCES_PER_BLOCK.fullmatch(value)):
        return value
    raise UnknownWord(value, EXPANDS)


def permute_variant(value: object) -> str | None:
    """owner, private, partition, shared, shared-atomic, sorted, atomic or cas"""
    if value is None or (isinstance(value, str) and value in PERMUTES):
        return value
    raise UnknownWord(value, PERMUTES)


def version_variant(value: object) -> str | None:
    """by-row or flat"""
    if value is None or (isinstance(value, str) and value in VERSIONS):
        return value
    raise UnknownWord(value, VERSIONS)


def plans_of_sweeps(value: object) -> str:
    """the text of plans, as stages(..).text['plan'] prints it: it begins with sweep and a name"""
    if isinstance(value, str) and (text := dedent(value).strip()).startswith(SWEEP):
        return text
    raise ValueError


def tape_bytes(value: object) -> int | None:
    """a whole number of bytes"""
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value)
    if value is None or (type(value) is int and 0 <= value < 2**63):
        return value
    raise ValueError


def seq_factor(value: object) -> int | None:
    """a whole number from 1 to 65536"""
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value)
    if value is None or (type(value) is int and 1 <= value <= MOST_EACH):
        return value
    raise ValueError


def _one_of(*names: str) -> Callable[[object], str | None]:
    def read(value: object) -> str | None:
        if isinstance(value, str) and value in names:
            return value
        raise UnknownWord(value, names)

    return read


VARIANTS: Mapping[str, Callable[[object], str | int | None]] = {
    "expand": expand_variant,
    "permute": permute_variant,
    "store": _one_of("streaming", "plain"),
    "rows": _one_of("rows", "positions"),
    "filter": _one_of("once", "twice"),
    "contraction": _one_of("tiles", "lanes"),
    "product": _one_of("library", "kernels"),
    "version": version_variant,
    "seq_factor": seq_factor,
    "tape": tape_bytes,
}
"""What each part of a schedule may be."""


def schedule_of(value: object) -> Schedule:
    """names such as permute=partition,expand=balanced: expand, permute, store=streaming or plain, \
rows=rows or positions, filter=once or twice, contraction=tiles or lanes, \
product=library or kernels, version=by-row or flat, \
seq_factor=8 or another number, tape=a number of bytes; or plans of sweeps, as `stages` prints \
them"""
    if isinstance(value, Schedule):
        return value
    if not isinstance(value, str):
        raise ValueError
    if value.lstrip().startswith(SWEEP):
        return Schedule(text=plans_of_sweeps(value))
    wishes: dict[str, str | int | None] = {}
    for part in value.split(","):
        name, _, variant = part.strip().partition("=")
        if name not in VARIANTS:
            raise UnknownWord(name, VARIANTS)
        if name in wishes:
            raise ValueError
        wishes[name] = VARIANTS[name](variant)
    return Schedule(**wishes)  # type: ignore[arg-type]
