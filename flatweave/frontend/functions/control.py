"""cond, while_loop, fori_loop: on arrays and, inside element functions, on scalars.

    while_loop(cond, body, state)       while cond (s => ..) body (s => ..) state

The state is any tree. A loop's body is traced until the types of its state are known: Python
numbers in it take the dtype that the body gives back, a complex one, too, and an axis whose extent
the body changes becomes state, an i64 in addition to the array. A new trace discards what was
emitted before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from flatweave.base.dtypes import DType, bool_, i64
from flatweave.base.errors import DTypeError, OperatorError, ShapeError, UserError
from flatweave.base.records import record, replace
from flatweave.frontend.arrays.assignment import separated
from flatweave.frontend.call.operation import operation
from flatweave.frontend.elements.bodies import as_kinds_of, branch, difference, leaves_and_tree
from flatweave.frontend.elements.broadcasting import cast
from flatweave.frontend.elements.lambdas import check_arity, need_function, shape_text
from flatweave.frontend.elements.scalars import truth
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.tracers import emit, extent_of, scalar_of
from flatweave.frontend.values.arguments import common
from flatweave.frontend.values.array import Tracer, describe
from flatweave.frontend.values.scope import Scope, current, entered
from flatweave.frontend.values.tree import Tree, paths, spelled, unflatten
from flatweave.ops import Reshape
from flatweave.terms.control import For, While
from flatweave.terms.syntax import ArrayType, Atom, Const, Lambda, Type, Var


@record(eq=True)
class Slot:
    """A leaf of a loop's state: its dtype, and for each axis its extent, None where it varies."""

    dtype: DType
    weak: bool
    shape: tuple[Atom | None, ...]
    path: str

    @property
    def text(self) -> str:
        """The type as messages show it."""
        extents = ", ".join("?" * len(self.shape))
        return f"{self.dtype.name}[{extents}]" if self.shape else self.dtype.name

    @property
    def varying(self) -> int:
        """How many axes have an extent of the state's own."""
        return sum(extent is None for extent in self.shape)


def slot_of(leaf: Tracer, path: str) -> Slot:
    """A leaf as it enters the loop."""
    return Slot(leaf.element, leaf.weak, leaf.extents, path)


class Again(Exception):
    """The body gives other types than its state had: trace it once more with these slots."""

    def __init__(self, slots: list[Slot]) -> None:
        super().__init__()
        self.slots = slots


class Complete(Exception):
    """The body gives complex numbers for Python numbers of its state: begin with such ones."""

    def __init__(self, tree: Tree, leaves: list[Tracer]) -> None:
        super().__init__()
        self.tree, self.leaves = tree, leaves


def bind_state(inside: Scope, slots: Sequence[Slot]) -> tuple[list[Var], list[Tracer]]:
    """Parameters for the state: varying extents, then the array; and its leaves."""
    params: list[Var] = []
    leaves: list[Tracer] = []
    for slot in slots:
        shape: list[Atom] = []
        for extent in slot.shape:
            if extent is None:
                var = extents.known_extent(inside.bind("n", i64))
                params.append(var)
                shape.append(var)
            else:
                shape.append(extent)
        type_: Type = ArrayType(slot.dtype, tuple(shape)) if slot.shape else slot.dtype
        var = inside.bind("s", type_)
        params.append(var)
        leaves.append(Tracer(var, inside, slot.weak))
    return params, leaves


def state_atoms(slots: Sequence[Slot], leaves: Sequence[Tracer]) -> list[Atom]:
    """The atoms of a state in the order of its parameters."""
    atoms: list[Atom] = []
    for slot, leaf in zip(slots, leaves, strict=True):
        pairs = zip(slot.shape, leaf.extents, strict=True)
        atoms += [extent for known, extent in pairs if known is None]
        atoms.append(cast(leaf, slot.dtype).atom if not leaf.ndim else leaf.atom)
    return atoms


def checked_state(
    result: Any, tree: Tree, slots: list[Slot], state: list[Tracer], who: str
) -> list[Tracer]:
    """The leaves that a body gives back; Again when the slots must change to hold them."""
    leaves, given = leaves_and_tree(result, f"the result of the body of {who}")
    if given != tree:
        leaves, given = _of_one_kind(leaves, given, state, tree, who)
    if given != tree:
        raise OperatorError.here(
            f"the body of {who} takes a state {spelled(tree, [s.text for s in slots])} but gives"
            f" {shape_text(given, leaves)}.",
            "Return the state in the structure that it came in.",
        )
    wanted, misfits = [], []
    for slot, leaf in zip(slots, leaves, strict=True):
        try:
            wanted.append(_met(slot, leaf, who))
        except UserError as misfit:
            wanted.append(slot)
            misfits.append(misfit)
    if wanted != slots:
        raise Again(wanted)
    if misfits:  # all other slots are settled, so the types do not converge
        raise misfits[0]
    return leaves


def _of_one_kind(
    leaves: list[Tracer], given: Tree, state: list[Tracer], tree: Tree, who: str
) -> tuple[list[Tracer], Tree]:
    """What a body gives, with Python numbers complex where the state is; Complete where those of
    the state must be, DTypeError for other numbers."""
    leaves, given = as_kinds_of(given, leaves, tree, state)
    if as_kinds_of(tree, state, given, leaves)[1] != tree:
        raise Complete(given, leaves)
    if found := difference(tree, state, given, leaves):
        raise _other_dtype(found.path, who, found.first, found.second)
    return leaves, given


def _other_dtype(path: str, who: str, entered_as: str, found: str) -> DTypeError:
    name = f"the leaf state{path}" if path else "the state"
    wanted = "bool_" if entered_as == "bool" else entered_as
    remedy = f"Convert one of them: the first state, or the result with .astype(fw.{wanted})."
    if found in ("c64", "c128"):
        remedy = f"Begin with complex numbers, .astype(fw.{found}), or return fw.real(..)."
    return DTypeError.here(
        f"{name} of {who} enters as {entered_as} and comes back as {found}.", remedy
    )


def _met(slot: Slot, leaf: Tracer, who: str) -> Slot:
    """The slot that holds both the state's leaf and what the body gives for it."""
    name = f"the leaf state{slot.path}" if slot.path else "the state"
    if leaf.ndim != len(slot.shape):
        raise ShapeError.here(
            f"{name} of {who} enters with rank {len(slot.shape)} and comes back as"
            f" {describe(leaf)}.",
            "Keep the rank; only extents may change.",
        )
    shape = tuple(
        known if known is not None and known == extent else None
        for known, extent in zip(slot.shape, leaf.extents, strict=True)
    )
    if leaf.element is slot.dtype and leaf.weak == slot.weak:
        return replace(slot, shape=shape)
    if leaf.weak and slot.dtype is not bool_ and (slot.dtype.is_float or not leaf.element.is_float):
        return replace(slot, shape=shape)  # a Python number takes the state's dtype
    if slot.weak and not leaf.ndim:
        dtype, weak = leaf.element, leaf.weak
        if common_with(slot, leaf) is dtype:
            return replace(slot, dtype=dtype, weak=weak, shape=shape)
    raise _other_dtype(slot.path, who, slot.dtype.name, leaf.element.name)


def common_with(slot: Slot, leaf: Tracer) -> DType:
    """The dtype of a weak number together with what the body gives."""
    stand_in = Tracer(Var("s", slot.dtype), leaf.scope, slot.weak)
    return common((stand_in, leaf))[0]


@record
class State:
    """What a loop begins with, and the slots that hold it and what its body gives."""

    leaves: list[Tracer]
    tree: Tree
    slots: list[Slot]

    def atoms(self) -> tuple[Atom, ...]:
        """The atoms that the loop begins with."""
        return tuple(state_atoms(self.slots, self.leaves))


def _entering(leaves: list[Tracer], tree: Tree) -> State:
    pairs = zip(leaves, paths(tree), strict=True)
    return State(leaves, tree, [slot_of(leaf, path) for leaf, path in pairs])


def settled(
    given: Any, who: str, attempt: Callable[[State], Any], rounds: int = 64
) -> tuple[State, Any]:
    """Trace a loop until its state's types hold; what was emitted before is taken back."""
    state = _entering(*leaves_and_tree(given, f"the state of {who}"))
    restore = current().snapshot()
    for _ in range(rounds):
        try:
            return state, attempt(state)
        except Again as again:
            restore()
            state = replace(state, slots=again.slots)
        except Complete as found:
            restore()
            leaves, tree = as_kinds_of(state.tree, state.leaves, found.tree, found.leaves)
            state = _entering(leaves, tree)
    raise UserError.here(
        "the types of a loop's state never settle.",
        "Convert each leaf of the state to one dtype in the body.",
    )


def loop_body(
    body: Callable[..., Any], tree: Tree, slots: list[Slot], who: str, counter: DType | None,
    optional: bool = True,
) -> Lambda:
    """The body of a loop as a lambda over its state, and the counter before it, a weak number."""
    inside = current().inner(optional)
    with entered(inside):
        first = [inside.bind("i", counter)] if counter is not None else []
        params, leaves = bind_state(inside, slots)
        args = [Tracer(var, inside, weak=True) for var in first]
        result = body(*args, unflatten(tree, leaves))
        found = checked_state(result, tree, slots, leaves, who)
        atoms = state_atoms(slots, found)
    inside.closed = True
    return inside.builder.close([*first, *params], atoms)


Carried = TypeVar("Carried")
"""The state of a loop, from one iteration to the next."""
Out = TypeVar("Out")


def results_of(
    slots: Sequence[Slot], vars_: Sequence[Var], tree: Tree, given: Sequence[Atom] = ()
) -> Any:
    """The final state from the variables that a loop binds, and from what its body gives, for a
    loop that surely runs: extents that are known around the loop are those of its result."""
    scope = current()
    rest = iter(zip(vars_, given or vars_, strict=True))
    leaves: list[Tracer] = []
    for slot in slots:
        last: list[Atom] = []
        for _ in range(slot.varying):
            own, found = next(rest)
            extents.known_extent(own)
            is_around = isinstance(found, Const) or scope.holds(scope.trace.homes[found])
            last.append(found if is_around else own)
        leaf = Tracer(next(rest)[0], scope, slot.weak)
        known = iter(last)
        shape = tuple(next(known) if extent is None else extent for extent in slot.shape)
        leaves.append(leaf if shape == leaf.extents else emit(Reshape(leaf.atom, shape))[0])
    return unflatten(tree, leaves)


@operation(structured="state")
def while_loop(
    cond: Callable[[Carried], Any], body: Callable[[Carried], Carried], state: Carried
) -> Carried:
    """Repeats `state = body(state)` while `cond(state)` holds; the last state.

    The state is any tree; its arrays may change length between iterations, but neither dtype nor
    rank; Python numbers take the dtype that the body gives. Raises DTypeError or ShapeError naming
    the leaf that does.

    Types: `cond: s -> bool, body: s -> s, state: s -> s`. Source: `jax.lax.while_loop`.

        >>> fw.while_loop(lambda n: n < 100, lambda n: n * 3, 1)
        Array(243, dtype=int64)
    """
    check_arity(need_function(cond, "while_loop"), 1, "while_loop")
    check_arity(need_function(body, "while_loop"), 1, "while_loop")

    def attempt(now: State) -> tuple[Lambda, Lambda]:
        made = loop_body(body, now.tree, now.slots, "while_loop", None)
        return _condition(cond, now.tree, now.slots), made

    now, (condition, made) = settled(state, "while_loop", attempt)
    found = current().emit(While(condition, made, now.atoms()), "s")
    last: Carried = results_of(now.slots, found, now.tree)
    return last


def _condition(cond: Callable[[Any], Any], tree: Tree, slots: Sequence[Slot]) -> Lambda:
    inside = current().inner()
    with entered(inside):
        params, leaves = bind_state(inside, slots)
        holds = scalar_of(cond(unflatten(tree, leaves)), "the condition of while_loop")
        need_bool(holds, "the condition of while_loop")
    inside.closed = True
    return inside.builder.close(params, [holds.atom])


def need_bool(value: Tracer, what: str) -> None:
    """Refuse a condition that is a number."""
    if value.element is not bool_:
        raise DTypeError.here(
            f"{what} must be bool, got {describe(value)}.", "Compare it, for instance with != 0."
        )


@operation(structured="state")
def fori_loop(
    lo: Any, hi: Any, body: Callable[[Any, Carried], Carried], state: Carried
) -> Carried:
    """`state = body(i, state)` for i = lo, .., hi - 1 in order; the last state.

    The state is as for `while_loop`. There is no iteration if `hi <= lo`.

    Types: `lo, hi: integers, body: (i64, s) -> s, state: s -> s`. Raises DTypeError or ShapeError
    where the body gives another state. Source: `jax.lax.fori_loop`.

        >>> fw.fori_loop(0, 5, lambda i, s: s + i, 0)
        Array(10, dtype=int64)
    """
    check_arity(need_function(body, "fori_loop"), 2, "fori_loop")
    start, stop = extent_of(lo, "lo of fori_loop"), extent_of(hi, "hi of fori_loop")
    known = isinstance(start, Const) and isinstance(stop, Const) and start.value < stop.value

    def counted(i: Tracer, now: Carried) -> Carried:
        if current().is_natural(start) and isinstance(i.atom, Var):
            current().natural.add(i.atom)
            current().trace.bounds[i.atom] = stop
        return body(i, now)

    def attempt(now: State) -> Lambda:
        return loop_body(counted, now.tree, now.slots, "fori_loop", i64, optional=not known)

    now, made = settled(state, "fori_loop", attempt)
    op = For(start, stop, extents.ONE, made, now.atoms())
    given = made.results if known else ()
    last: Carried = results_of(now.slots, current().emit(op, "s"), now.tree, given)
    return last


@operation(static="same", structured="args")
def cond(
    p: Any, then: Callable[..., Out], other: Callable[..., Out], *args: Any, same: bool = False
) -> Out:
    """`then(*args)` where the scalar `p` holds, else `other(*args)`; only that one is computed.

    Both give the same structure, dtypes and ranks; extents may differ. With `same`, they are two
    ways to equal results, and `p` says which is faster: a map, which would divide its elements
    between both, computes `other` for all.
    Raises DTypeError or ShapeError where they do not. For choices by element see `where`.

    Types: `p: bool, then: args -> r, other: args -> r -> r`. Source: `jax.lax.cond`.

        >>> fw.cond(True, lambda x: x + 1, lambda x: x * x, 3)
        Array(4, dtype=int64)
    """
    check_arity(need_function(then, "cond"), len(args), "cond")
    check_arity(need_function(other, "cond"), len(args), "cond")
    condition = scalar_of(p, "the condition of cond")
    need_bool(condition, "the condition of cond")
    if same and current().is_mapped:
        return other(*separated(args))
    return branch(truth(condition), lambda: then(*separated(args)), lambda: other(*separated(args)))
