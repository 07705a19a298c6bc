"""The machine language: kernels over grid, block, warp and lanes, and the host around them.

Here are its operations, their text and the rules that a unit keeps; what writes kernels
(`lower/`, `kernel/`) and what emits them (`codegen/`) is above it.

    syntax.py        units, kernels, loads and stores; here: what every op says of itself
    hierarchy.py     levels of the machine, and Python values that write kernel IR; host.py: the
                     host's program
    warp_ops.py      what lanes do together; memory_ops.py: updates, prefetches, words for others
    lane_facts.py    which variables differ between lanes, where not all warps of a block come
    units.py         the text of a unit, and the rules without which it is refused
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum, auto
from typing import TYPE_CHECKING, ClassVar, Protocol

from flatweave.base.dtypes import DType, i64
from flatweave.base.errors import CompilerBug
from flatweave.runtime.lazy_import import lazy_modules
from flatweave.terms.syntax import (
    Atom,
    BufferType,
    Const,
    Lambda,
    Op,
    Type,
    Var,
    condition_misfits,
    index_misfits,
    types_misfit,
)

if TYPE_CHECKING:
    from flatweave.terms.batch import Env, Value, Values

__getattr__ = lazy_modules(__name__, "units")


# -- op -------------------------------------------------------------------------------------------
#
# What every operation of a kernel says of itself, so that no room keeps a list of all of them.
#
#   stands      the code it may be used in: of the host, a block, a warp, a thread, or inside lanes
#   together    whether all lanes of a warp take part: it must not be used where some do not run
#   gives       how its results differ between the lanes
#
#     typed_as    the types of its results, or the field that has them (a buffer: of its elements)
#     misfits     what is wrong with its operands, beyond its result types: a sentence each
#
# The name of a field says what it must be: an index, a count, a flag, a buffer, or what that holds.
#
# An op may be in a separate file (`warp_ops.py`): then `simulate` defines it. Emitters have a table
# of handlers each.


EVERYWHERE = frozenset({"block", "warp", "thread", "lanes"})
"""In all code of a kernel."""
UNIFORM_CODE = frozenset({"block", "lanes"})
IN_LANES = frozenset({"lanes"})
ON_HOST = frozenset({"host"})
IN_ROWS = frozenset({"rows"})
"""In a kernel with host code, in addition to the ops allowed there."""

LEVEL_NAMES = ("thread", "warp", "block", "grid")
"""The levels of a machine, the lowest first (`hierarchy.py`)."""


class Gives(Enum):
    """Whether the lanes of a warp get one value, values that differ if an operand does, or each
    its own."""

    SAME = auto()
    AS_OPERANDS = auto()
    BY_LANE = auto()


SAME, AS_OPERANDS, BY_LANE = Gives


class SimulatedWarp(Protocol):
    """A warp of the simulator as an op sees it; a value is the warp's, or has one for each lane."""

    def atom(self, env: Env, atom: Atom) -> Value:
        """The value of an atom."""

    def one(self, env: Env, atom: Atom, what: str) -> Value:
        """The value of an atom that must be the same in all lanes."""

    def columns(self, env: Env, atoms: Sequence[Atom]) -> Values:
        """Values for each lane, all of which must run."""

    def load(self, env: Env, var: Var, at: Value) -> Value:
        """Elements of a buffer."""

    def store(self, env: Env, var: Var, at: Value, values: Value) -> None:
        """Write elements of a buffer."""

    def apply(self, env: Env, fn: Lambda, args: Values) -> Values:
        """What a function of elements gives for each lane."""


INDICES = ("index", "base", "offset", "span", "limit", "stride", "count", "grid", "row", "attempt")
FLAGS = ("flag", "condition", "keep", "donated")
BUFFERS = ("buffer", "target", "source")


class KernelOp(Op):
    """Base of the operations of kernels and hosts."""

    __slots__ = ()
    stands: ClassVar[frozenset[str]] = EVERYWHERE
    together: ClassVar[bool] = False
    gives: ClassVar[Gives] = AS_OPERANDS

    def result_types(self) -> tuple[Type, ...]:
        """Nothing, unless the op says what."""
        if self.typed_as == "buffer":
            return (dtype_in(getattr(self, "buffer")),)  # noqa: B009
        return super().result_types() if self.typed_as else ()

    def misfits(self) -> Iterator[str]:
        """What is not as the names of fields say."""
        for name in self.fields:
            field = getattr(self, name)
            if name == "count" and isinstance(field, int):
                yield from count_misfits(field)
            elif name in INDICES and isinstance(field, Var | Const):
                yield from index_misfits(f"the {name}", (field,))
            elif name in FLAGS:
                yield from condition_misfits(field)
            elif name == "level":
                yield from level_misfits(field)
        named = {name: getattr(self, name) for name in self.fields}
        buffers = named.get("buffers", [named[name] for name in BUFFERS if name in named])
        values = named.get("values_", [named[name] for name in ("value",) if name in named])
        if buffers:
            each = [*buffers] * len(values) if len(buffers) == 1 and values else buffers
            yield from contents_misfit(each, values or None)

    def simulate(self, warp: SimulatedWarp, env: Env) -> Values:
        """What the op binds, in the simulator."""
        raise CompilerBug(f"{self.name} cannot be simulated in a kernel.")


class Action(KernelOp):
    """What is done whether or not its result is read."""

    __slots__ = ()
    effect: ClassVar[bool] = True


def dtype_in(buffer: Var) -> DType:
    """The dtype of what a buffer holds."""
    if not isinstance(buffer.type, BufferType):
        raise TypeError(f"{buffer} is not a buffer")
    return buffer.type.dtype


def contents_misfit(buffers: Sequence[Var], values: Sequence[Atom] | None = None) -> Iterator[str]:
    """Buffers are buffers, and values are what they hold."""
    held: list[DType] = []
    for buffer in buffers:
        if not isinstance(buffer.type, BufferType):
            yield f"{buffer} is no buffer"
        held.append(buffer.type.dtype if isinstance(buffer.type, BufferType) else i64)
    if values is not None:
        yield from types_misfit("the values", values, held)


def count_misfits(count: int) -> Iterator[str]:
    """Memory is for at least one element."""
    if count < 1:
        yield f"memory for {count} elements: it takes at least 1"


def level_misfits(level: str) -> Iterator[str]:
    """A level is one of a machine's."""
    if level not in LEVEL_NAMES:
        yield f"there is no level {level}, only {', '.join(LEVEL_NAMES)}"
