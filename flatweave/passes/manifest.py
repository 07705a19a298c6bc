"""The arrays that a program writes to memory: what its sweeps store, and nothing else.

    a: f32[n] = sweep [n] (i: i64 => ..) [store]                a: f32[n]
    s: f32 = sweep [n] (i: i64 => ..) [combine ..]              nothing: a number
    ys: f32[n] = sweep [m] (i: i64 => ..) [scatter_store [a]]   nothing: a is dead, so it is
                                                                written to

Scratch memory of the lowering (partial results of blocks, private copies) is not listed: it does
not grow with the arrays, but for the second copy that a radix sort needs to move elements back and
forth.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flatweave.array_ir.extents import Extents, bytes_of, find_last_uses
from flatweave.array_ir.syntax import Program
from flatweave.base.diagnostics import StoredArray
from flatweave.base.records import record
from flatweave.base.source import Location
from flatweave.ops import (
    ByRow,
    Callback,
    CallKernel,
    Empty,
    RadixSort,
    Reshape,
    SortRow,
    SortRows,
    Suits,
    Sweep,
)
from flatweave.terms.control import Apply, For, If, While
from flatweave.terms.syntax import ArrayType, Atom, Const, Lambda, Let, Op, Var
from flatweave.terms.traverse import free_vars, lambdas_in, walk_lets

Makers = dict[Var, tuple[Op, int]]  # each variable's op, and its position among the op's results
SIGNS = {"add": "+", "sub": "-", "mul": "*"}


@record(eq=True)
class Stored:
    """An array in memory: its name in the program, its type, and the line that asks for it.

    `var` is what it was called when it was made; updates in place give it other names.
    """

    var: Var
    name: str
    type: str
    is_result: bool
    where: Location | None

    def sized(self, extents: Extents) -> StoredArray:
        """The array as reported to users; its size follows from the extents that are known."""
        assert isinstance(self.var.type, ArrayType)
        n_bytes = bytes_of(self.var.type, extents)
        return StoredArray(self.name, self.type, self.is_result, self.where, n_bytes)


def stored(program: Program) -> list[Stored]:
    """The arrays that a swept program writes to memory, in order."""
    made = {var: (let.op, k) for let in walk_lets(program.fn) for k, var in enumerate(let.vars)}
    results = _returned(program.fn.results, made)
    written: list[Stored] = []
    for fn in _host_bodies(program.fn):
        fresh = {var for let in fn.lets for var in let.vars}
        ends = find_last_uses(fn)
        for let in fn.lets:
            for var, dest in _arrays(let):
                if dest is None or not _is_given_up(dest, let, fresh, ends):
                    type_ = _type_text(var, made)
                    written.append(Stored(var, var.name, type_, var in results, let.where))
                else:
                    _rename(written, dest, var, var in results)
    return written


def _returned(atoms: Sequence[Atom], made: Makers) -> set[Atom]:
    """The variables whose memory is the program's result: through views, loops and branches."""
    found: set[Atom] = set()
    waiting = list(atoms)
    while waiting:
        atom = waiting.pop()
        if atom in found or not isinstance(atom, Var):
            continue
        found.add(atom)
        match made.get(atom):
            case Reshape(xs=xs), _:
                waiting.append(xs)
            case (If() | While() | For()) as op, k:
                bodies = [fn for fn in lambdas_in(op) if len(fn.results) == len(op.binders())]
                waiting += [fn.results[k] for fn in bodies]
    return found


def _host_bodies(fn: Lambda) -> Iterator[Lambda]:
    """The program's body and the bodies of its loops and branches."""
    yield fn
    for let in fn.lets:
        if isinstance(let.op, If | While | For):
            for inner in Suits.bodies(let, fn.lets):
                yield from _host_bodies(inner)


def _arrays(let: Let) -> Iterator[tuple[Var, Atom | None]]:
    """The arrays that a let makes, each with the array that it is an update of."""
    if isinstance(let.op, ByRow | Callback | CallKernel | Empty | RadixSort | SortRow | SortRows):
        yield from ((var, None) for var in let.vars if isinstance(var.type, ArrayType))
    if isinstance(let.op, Sweep):
        for sink, vars_ in zip(let.op.sinks, let.op.binders_by_sink(let.vars), strict=True):
            arrays = [var for var in vars_ if isinstance(var.type, ArrayType)]
            yield from zip(arrays, sink.updated or (None,) * len(arrays), strict=True)


def _is_given_up(dest: Atom, let: Let, fresh: set[Var], ends: dict[Let, set[Var]]) -> bool:
    """Whether this body made `dest` and reads it no more, so that it can be written to."""
    dead = isinstance(dest, Var) and dest in fresh and dest in ends.get(let, ())
    return dead and dest not in free_vars(getattr(let.op, "body", ()))


def _rename(written: list[Stored], dest: Atom, var: Var, is_result: bool) -> None:
    """Give an array that is updated in place the name of the updated array."""
    for k, array in enumerate(written):
        if isinstance(dest, Var) and array.name == dest.name:
            written[k] = Stored(array.var, var.name, array.type, is_result, array.where)


def _type_text(var: Var, made: Makers) -> str:
    assert isinstance(var.type, ArrayType)
    extents = ", ".join(_extent_text(extent, made) for extent in var.type.shape)
    return f"{var.type.dtype}[{extents}]"


def _extent_text(extent: Atom, made: Makers) -> str:
    """An extent in terms of those that the program is given: n_1 + 2."""
    if isinstance(extent, Const):
        return str(extent.value)
    op, _ = made.get(extent, (None, 0))
    if not isinstance(op, Apply) or op.fn not in SIGNS:
        return extent.name
    a, b = (_extent_text(arg, made) for arg in op.args)
    if op.fn == "mul":
        a, b = (f"({text})" if " + " in text or " - " in text else text for text in (a, b))
    return f"{a} {SIGNS[op.fn]} {b}"
