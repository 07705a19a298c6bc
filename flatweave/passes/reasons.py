"""The arrays that a program writes to memory, and why, in the words of its author."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flatweave.access import print_value
from flatweave.access.analyse import scalar_values
from flatweave.array_ir.interp import Extents, bytes_of
from flatweave.array_ir.syntax import Program
from flatweave.base.plan import LIBRARIES, SEQUENTIAL
from flatweave.base.pretty import Note, StoredArray
from flatweave.base.records import record
from flatweave.base.source import Location
from flatweave.ops import (
    HOST_BODIES,
    ByRow,
    Callback,
    CallKernel,
    Empty,
    Index,
    Locate,
    Prefix,
    RadixSort,
    Reshape,
    SortRow,
    SortRows,
    Suits,
    Sweep,
)
from flatweave.passes.cost import READ, STORING, cost_of_body
from flatweave.passes.rewrite import is_ordered
from flatweave.terms.control import For, If, While
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Let, Op, Var
from flatweave.terms.traverse import (
    atoms_in,
    find_last_uses,
    free_vars,
    lambdas_in,
    needed_for,
    walk_lets,
)

# -- manifest -------------------------------------------------------------------------------------
#
# The arrays that a program writes to memory: what its sweeps store, and nothing else.
#
#     a: f32[n] = sweep [n] (i: i64 => ..) [store]                a: f32[n]
#     s: f32 = sweep [n] (i: i64 => ..) [combine ..]              nothing: a number
#     ys: f32[n] = sweep [m] (i: i64 => ..) [scatter_store [a]]   nothing: a is dead, so it is
#                                                                 written to
#
# Scratch memory of the lowering (partial results of blocks, private copies) is not listed: it does
# not grow with the arrays, but for the second copy that a radix sort needs to move elements back
# and forth.


Makers = dict[Var, tuple[Op, int]]  # each variable's op, and its position among the op's results


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
    """An array's type, with extents in terms of those that the program is given: f64[n_1 + 2]."""
    assert isinstance(var.type, ArrayType)
    known = scalar_values({name: op for name, (op, _) in made.items()}.get)
    extents = ", ".join(print_value(known.of(extent)) for extent in var.type.shape)
    return f"{var.type.dtype}[{extents}]"


# -- reasons --------------------------------------------------------------------------------------
#
# Why a program stores arrays that are not its results, in the words and lines of its author.
#
#     total.py:3: a scan is stored (f64[n_6]): total.py:4 reads it at other positions than its own
#
# The lowered program shows which sweep reads an array, where, and why the two did not fuse.


Why = tuple[int, str, str]
"""How strong a reason is (0: the strongest), the reason, and what would help, if anything."""
INLINE = "Where the kernel goes through it in order, a map or a reduction fuses with what makes it."
BRANCH = "Let both branches give what is computed from it, a number say, and not the array."
ELSEWHERE = (
    "Where it is cheap to compute, compute it from its index there (fw.generate); a read at its own"
    " position fuses."
)
FIRST = (
    "Where algebra allows it, use what is needed first only after the pass: sum(x / t) is"
    " sum(x) / t."
)
DIRECTION = "Go through both from the same end, if the result allows it."
JOINED = "Reduce the parts by themselves, and join the results."
UNREAD: Why = (0, "nobody reads it", "Leave out what makes it.")
MOVED_ALONG: Why = (0, "the sort moves it along with what is asked for", "")


@record(eq=True)
class Use:
    """One use of an array: by a let of the host, at a line, in a body under `loops` loops."""

    by: Let
    where: Location | None
    loops: int
    body: Lambda
    read: Index | None = None


def reasons(program: Program) -> list[Note]:
    """A line for each array that is stored and is no result."""
    uses: dict[Var, list[Use]] = {}
    makers: dict[Var, tuple[Let, int]] = {}
    for use, var in _uses(program.fn, 0, makers):
        uses.setdefault(var, []).append(use)
    lines = []
    for array in stored(program):
        if array.is_result:
            continue
        let, loops = makers[array.var]
        found = (use for use in _through_views(array.var, uses) if use.by is not let)
        unread = MOVED_ALONG if isinstance(let.op, RadixSort | SortRow | SortRows) else UNREAD
        _, why, remedy = min((_why(array.var, let, loops, use) for use in found), default=unread)
        what, where = _what(array.var, let)
        text = f"{_line(where)}: {what} is stored ({array.type}): {why}"
        lines.append(Note(text, where, what=what, name=array.name, array=array.type, reason=why,
                          remedy=remedy))  # fmt: skip
    return lines


def calls(program: Program) -> list[Note]:
    """A line for each Python function that the program calls."""
    found = []
    for let in walk_lets(program.fn):
        if isinstance(let.op, Callback):
            name = let.op.called
            library = LIBRARIES.get(let.op.fn)
            reason = "it is called on the host, once for all rows" if let.op.rows else (
                "it is called on the host"
            )  # fmt: skip
            if let.op.method == SEQUENTIAL and let.op.rows:
                reason = "it is called on the host, once for each row"
            if library:
                reason = f"{reason}: a step of {library}, whose bits it gives"
            if let.op.is_local:
                reason += (
                    "; the program is compiled anew in each process, as its module does not have it"
                    " under its name"
                )
            text = f"{_line(let.where)}: {name}: {reason}"
            found.append(Note(text, let.where, what=name, reason=reason))
    return found


def _line(where: Location | None) -> str:
    return f"{where.file}:{where.line}" if where else "the program"


def _uses(
    fn: Lambda, loops: int, makers: dict[Var, tuple[Let, int]]
) -> Iterator[tuple[Use, Var]]:
    """Every use of a variable in a body of the host and in those inside it."""
    for let in fn.lets:
        makers.update((var, (let, loops)) for var in let.vars)
        for atom in atoms_in(let.op):
            if isinstance(atom, Var):
                yield Use(let, let.where, loops, fn), atom
        if isinstance(let.op, HOST_BODIES):
            for inner in Suits.bodies(let, fn.lets):
                yield from _uses(inner, loops + (not isinstance(let.op, If)), makers)
                for atom in inner.results:
                    if isinstance(atom, Var):
                        yield Use(let, let.where, loops, fn), atom
        for inside in walk_lets(let.op.body) if isinstance(let.op, Sweep) else ():
            where = inside.where or let.where
            match inside.op:
                case Index(xs=Var() as xs):
                    yield Use(let, where, loops, fn, inside.op), xs
                case Locate(ends=Var() as ends):
                    yield Use(let, where, loops, fn), ends


def _through_views(var: Var, uses: dict[Var, list[Use]]) -> Iterator[Use]:
    """The uses of an array and of its views."""
    for use in uses.get(var, []):
        if isinstance(use.by.op, Reshape):
            yield from _through_views(use.by.vars[0], uses)
        else:
            yield use


def _what(var: Var, let: Let) -> tuple[str, Location | None]:
    """What an array is to the user, and the line that makes it."""
    op = let.op
    if isinstance(op, RadixSort | SortRow | SortRows):
        return "what is sorted", let.where
    if isinstance(op, CallKernel):
        return f"what {op.program.name} gives", let.where
    if isinstance(op, Callback):
        return f"what {op.called} gives", let.where
    if isinstance(op, Empty):
        return "what is put together of parts", let.where
    assert isinstance(op, Sweep)
    parts = zip(op.sinks, op.portions(), op.binders_by_sink(let.vars), strict=True)
    sink, taken = next((sink, taken) for sink, taken, vars_ in parts if var in vars_)
    if not sink.at_own_position:
        return sink.said, let.where
    needed = needed_for(op.body.lets, taken)
    scans = any(isinstance(each.op, Prefix) for each in needed)
    where = next((each.where for each in reversed(needed) if each.where), let.where)
    return "a scan" if scans else "a map", where


def _why(var: Var, let: Let, loops: int, use: Use) -> Why:
    """What a use needs an array for."""
    op, line = use.by.op, _line(use.where)
    match op:
        case CallKernel():
            return 0, f"the kernel {op.program.name} at {line} reads memory", INLINE
        case Callback():
            return 0, f"the function {op.called} that {line} calls reads memory", ""
        case RadixSort() | SortRow() | SortRows():
            return 0, f"the sort at {line} moves all of it", ""
        case While() | For():
            return 0, f"the loop at {line} carries it from iteration to iteration", ""
        case If():
            said = f"the branch at {line} gives it, where another one gives another array"
            return 0, said, BRANCH
        case Sweep() if use.loops > loops:
            return 1, f"{line} reads it in each iteration of a loop", ""
        case Sweep() if var in atoms_in(op.sinks):
            return 2, f"{line} writes to it", ""
        case Sweep() if use.read is not None and use.read.indices != op.body.params:
            return 3, f"{line} reads it at other positions than its own", ELSEWHERE
        case Sweep() if use.read is not None and isinstance(let.op, Sweep):
            return _why_in_place(let, let.op, use, op)
        case Sweep():
            return 8, f"{line} looks up in it which row an element belongs to", ""
    return 9, f"{line} reads an element of it", ""


def _why_in_place(let: Let, maker: Sweep, use: Use, reader: Sweep) -> Why:
    """Why a sweep that reads an array in place is not part of the sweep that makes it."""
    line = _line(use.where)
    if any(sink.at_own_position and not sink.is_open for sink in maker.sinks):
        return 0, "fw.store keeps it in memory", "Without fw.store it is fused where that pays."
    between = _made_between(let, use)
    if between is not None:
        said = f"{line} needs {_line(between.where)} first, which goes over all of it"
        return 4, said, FIRST
    if reader.reverse != maker.reverse and is_ordered(reader):
        return 5, f"{line} goes through it from the other end", DIRECTION
    if reader.inserts:
        return 5, f"{line} writes it after another part", JOINED
    kept = any(sink.filters for sink in maker.sinks)
    if kept and reader.shape != maker.shape and cost_of_body(reader.body) - READ > STORING:
        said = f"{line} does more with an element than storing it costs, for kept ones only"
        return 6, said, ""
    if any(sink.alone for sink in reader.sinks):
        return 6, f"{line} writes to computed places, in a pass of its own", ""
    return 7, f"{line} reads it in another pass", ""


def _made_between(let: Let, use: Use) -> Let | None:
    """A sweep between the two whose result the use needs, besides the array itself."""
    lets = use.body.lets
    if let not in lets or use.by not in lets:
        return None
    first, last = lets.index(let), lets.index(use.by)
    made = {var: each for each in lets[first:last] for var in each.vars}
    made.update((var, let) for var in let.vars)
    assert isinstance(use.by.op, Sweep)
    own = {use.read.xs} if use.read else set()
    waiting: list[Atom] = [var for var in _scalars_of(use.by.op) if var in made and var not in own]
    seen: set[Atom] = set()
    while waiting:
        atom = waiting.pop()
        if atom in seen or not isinstance(atom, Var) or atom not in made:
            continue
        seen.add(atom)
        if isinstance(made[atom].op, Sweep):
            return made[atom]
        waiting += free_vars(made[atom].op)
    return None


def _scalars_of(op: Sweep) -> list[Var]:
    """The variables that a sweep's body names; extents in types of arrays are not among them."""
    named = {atom for each in walk_lets(op.body) for atom in atoms_in(each.op)}
    return [var for var in free_vars(op.body) if var in named]
