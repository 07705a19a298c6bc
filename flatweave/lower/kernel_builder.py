"""A kernel under construction: what its body captures from the host becomes its parameters.

A lazily compiled kernel is launched before its body is known, so all that the body may capture is
*given* up front; unused values cost nothing.

A kernel that acts at each position of an array has as many blocks as `place_blocks` says. Where
timing or the number of threads says which copy of an operator's code runs, it is called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import count

from flatweave.access.analyse import scalar_values
from flatweave.algorithms.operator import Combine
from flatweave.base.dtypes import DType, bool_, f32, f64, i64, u64
from flatweave.base.errors import CompilerBug
from flatweave.base.plan import Param, Site
from flatweave.base.records import record
from flatweave.kernel_ir import dtype_in
from flatweave.kernel_ir.hierarchy import Values
from flatweave.kernel_ir.syntax import MOST_SITES, BlockIndex, Call, Kernel, Load, Store
from flatweave.lower.machine import Machine
from flatweave.lower.traverse.steps import Position, State
from flatweave.lower.traverse.traversal import flat
from flatweave.passes.operators import makes_nan, reads_nan
from flatweave.terms.bounds import Sum
from flatweave.terms.build import Builder, Names, index
from flatweave.terms.operators import component_functions
from flatweave.terms.syntax import ArrayType, Atom, BufferType, Const, Lambda, Type, Var

# -- What the variables of a program are on the host: scalars, and arrays in buffers ---------------


@record
class HostArray:
    """An array in memory: its buffer and the host atoms of its extents."""

    buffer: Var
    shape: tuple[Atom, ...]


def param_of(type_: Type) -> Param:
    """What a call must know of a parameter."""
    return Param(type_, False) if isinstance(type_, DType) else Param(type_.dtype, True)


class HostScope:
    """The host values of the variables in reach; a variable owns one reference to its buffer."""

    def __init__(self, outer: HostScope | None = None) -> None:
        self.outer = outer
        self._values: dict[Var, Atom | HostArray] = {}
        self.ended: set[Var] = set()  # arrays of this body that nothing uses any more

    def inner(self) -> HostScope:
        return HostScope(self)

    def bind(self, var: Var, value: Atom | HostArray) -> None:
        self._values[var] = value

    def bind_host(self, var: Var, host: Atom) -> None:
        """Bind a variable to its host value; of an array that is the buffer."""
        if isinstance(var.type, ArrayType):
            assert isinstance(host, Var)
            self.bind(var, HostArray(host, tuple(map(self.scalar, var.type.shape))))
        else:
            self.bind(var, host)

    def owns(self, var: Var) -> bool:
        """Whether the variable was bound in this body, not outside it."""
        return var in self._values

    def sharing(self, buffer: Var) -> set[Var]:
        """The arrays of this body in a buffer that are still needed."""
        return {
            var for var, value in self._values.items() if var not in self.ended
            and isinstance(value, HostArray) and value.buffer is buffer
        }  # fmt: skip

    def find(self, atom: Atom) -> Atom | HostArray:
        scope: HostScope | None = self
        while scope is not None and isinstance(atom, Var):
            if atom in scope._values:
                return scope._values[atom]
            scope = scope.outer
        return atom

    def host(self, atom: Atom) -> Atom:
        """The host value of a variable; of an array the buffer."""
        value = self.find(atom)
        return value.buffer if isinstance(value, HostArray) else value

    def scalar(self, atom: Atom) -> Atom:
        value = self.find(atom)
        assert not isinstance(value, HostArray), f"{atom!r} is an array"
        return value

    def array(self, atom: Atom) -> HostArray:
        value = self.find(atom)
        assert isinstance(value, HostArray), f"{atom!r} is no array"
        return value


class Sites:
    """The table of sites; the machine code contains their numbers."""

    def __init__(self, rows: dict[int, Site] | None = None, first: int = 0) -> None:
        self.rows = {} if rows is None else rows
        self._numbers = count(first)

    def add(self, site: Site) -> int:
        number = next(self._numbers)
        self.rows[number] = site
        return number

    def shared(self) -> Sites:
        """The same table with the same numbers for all kernels of a kernel, written one by one."""
        return _SharedSites(self.rows, self._numbers)

    def of_kernel(self, kernel: int) -> Sites:
        """The same table for a kernel written later: its numbers do not depend on when that is."""
        return Sites(self.rows, kernel * MOST_SITES)


class _SharedSites(Sites):
    """Sites of kernels that are all written together."""

    def __init__(self, rows: dict[int, Site], numbers: count[int]) -> None:
        super().__init__(rows)
        self._numbers = numbers

    def of_kernel(self, kernel: int) -> Sites:
        return self


class KernelBuilder:
    """Collects parameters and, for each, the host atom that the launch passes for it."""

    def __init__(
        self, name: str, host: Builder, scope: HostScope, warps: int, sites: Sites,
        names: Names | None = None,
    ) -> None:  # fmt: skip
        self.name = name
        self.host = host
        self.scope = scope
        self.warps = warps
        self.sites = sites
        self.body = Builder(names or host.names)
        self.params: list[Var] = []
        self.args: list[Atom] = []
        self._captured: dict[Atom, Atom] = {}
        self._given: dict[Atom, Var] | None = None
        self.inner: tuple[Kernel, ...] | None = None  # see Kernel

    def capture(self, host: Atom) -> Atom:
        """A host value inside the kernel."""
        if not isinstance(host, Var):
            return host
        if host not in self._captured:
            known = self.host.constant(host)
            self._captured[host] = known or self._shifted(host) or self._param(host)
        return self._captured[host]

    def know(self, host: Atom, value: Const) -> None:
        """A host value that is known where this kernel runs."""
        self._captured[host] = value

    def give(self, hosts: Iterable[Var]) -> None:
        """Restrict the body to capturing these host values."""
        self._given = {host: self._new(host) for host in hosts}

    def _shifted(self, host: Var) -> Atom | None:
        """A sum of an index and a constant, computed again so that index algebra sees its terms."""
        base, more = shift_of(self.host, host)
        if not more:
            return None
        fn = "add" if more > 0 else "sub"
        return self.body.apply(fn, self.capture(base), index(abs(more)))

    def _param(self, host: Var) -> Var:
        if self._given is None:
            return self._new(host)
        if host not in self._given:
            raise CompilerBug(f"kernel {self.name} is written later and was not given {host!r}.")
        return self._given[host]

    def _new(self, host: Var) -> Var:
        self.args.append(host)
        return self.own(host.name, host.type)

    def own(self, hint: str, type_: Type) -> Var:
        """A parameter after the captured ones, for which each launch passes any value."""
        self.params.append(self.body.param(hint, type_))
        return self.params[-1]

    def buffer(self, host: Var) -> Var:
        """A host buffer inside the kernel."""
        inside = self.capture(host)
        assert isinstance(inside, Var) and isinstance(inside.type, BufferType)
        return inside

    def scalar(self, var: Atom) -> Atom:
        """A scalar of the program outside the sweep."""
        return self.capture(self.scope.scalar(var))

    def array(self, var: Atom) -> tuple[Var, tuple[Atom, ...]]:
        """An array of the program: its buffer and extents inside the kernel."""
        held: HostArray = self.scope.array(var)
        shape = tuple(self.capture(extent) for extent in held.shape)
        self.body.assume_shape(shape)
        return self.buffer(held.buffer), shape

    def finish(self) -> Kernel:
        """The kernel."""
        body = Lambda((), tuple(self.body.lets), ())
        return Kernel(self.name, tuple(self.params), body, self.warps, self.inner)


def shift_of(host: Builder, atom: Atom) -> tuple[Atom, int]:
    """A host value, where it is a sum of an index and a constant: these; else itself and 0."""
    if atom.type is not i64:
        return atom, 0
    known = scalar_values(host.definition)
    value = known.of(atom)
    base = known.atom(Sum(value.terms)) if value.more else None
    return (atom, 0) if base is None else (base, value.more)


def to_give(host: Builder, atoms: Iterable[Atom]) -> tuple[Var, ...]:
    """The host values that must be given for these to be captured."""
    found: dict[Var, None] = {}
    for atom in atoms:
        base, _ = shift_of(host, atom)
        if isinstance(base, Var):
            found[base] = None
    return tuple(found)


At = Callable[[Builder, Atom], None]
"""The action at a position."""


def write_places(
    machine: Machine, kernel: KernelBuilder, extent: Atom, dtypes: Sequence[DType], at: At,
    steps: int = 1,
) -> None:  # fmt: skip
    """Act at 0, 1, .. below `extent`, on elements of these dtypes, `steps` registers at once."""
    write_positions(machine, kernel, extent, dtypes, _where_active(at), steps)


def write_positions(
    machine: Machine, kernel: KernelBuilder, extent: Atom, dtypes: Sequence[DType],
    act: Callable[[Builder, Position], None], steps: int = 1,
) -> None:  # fmt: skip
    """The same by all lanes of a step, of which those that are not active have no position."""
    width = machine.lanes(list(dtypes)) * steps
    _write_blocks(machine, kernel, extent, index(machine.positions_of_block(dtypes)), width, act)


def write_steps(machine: Machine, kernel: KernelBuilder, count: Atom, at: At) -> None:
    """Act at 0, 1, .. below `count`, of which each warp takes one step: where acting is long."""
    width = machine.lanes([i64])
    _write_blocks(
        machine, kernel, count, index(width * machine.warps), width, _where_active(at)
    )


def _where_active(at: At) -> Callable[[Builder, Position], None]:
    """The action at the positions that a step has."""
    def act(b: Builder, position: Position) -> None:
        with b.when(position.active) as inside:
            at(inside, position.flat)

    return act


def _write_blocks(
    machine: Machine, kernel: KernelBuilder, extent: Atom, size: Atom, width: int,
    act: Callable[[Builder, Position], None],
) -> None:  # fmt: skip
    b = kernel.body
    lo = b.mul(b.emit(BlockIndex())[0], size)
    hi = b.apply("minimum", b.add(lo, size), extent)

    def step(c: Builder, position: Position, state: State) -> State:
        act(c, position)
        return state

    flat(machine, extent, width).block(b, lo, hi, (), step)


def place_blocks(host: Builder, machine: Machine, extent: Atom, dtypes: Sequence[DType]) -> Atom:
    """How many blocks such a kernel takes."""
    return host.ceil_div(extent, index(machine.positions_of_block(dtypes)))


def step_blocks(host: Builder, machine: Machine, count: Atom) -> Atom:
    """How many blocks take one step of each warp."""
    return host.ceil_div(count, index(machine.lanes([i64]) * machine.warps))


# -- Copying a buffer on all cores: the start of an update of an array that is still needed --------
#
# The target may have another dtype: sums of f32 are added in f64 (`scatter/choose.py`).


def write_copy(machine: Machine, kernel: KernelBuilder, own: Sequence[Var]) -> None:
    """copy(count, source, target): target[i] = source[i], cast to its dtype, for i below count."""
    count, source, target = own
    dtypes = dtype_in(source), dtype_in(target)

    def at(b: Builder, i: Atom) -> None:
        b.emit(Store(target, i, b.cast(b.emit(Load(source, i))[0], dtypes[1])))

    steps = 2 if machine.fixed_width is None else 1
    write_places(machine, kernel, count, [max(dtypes, key=lambda d: d.bytes)], at, steps)


# An operator by a call, where timing or the number of threads says which copy of its code runs.
#
#     end = fn prefix aggregate        call (fn) prefix aggregate       one function, not two copies
#
# Two copies of one operator need not agree on the bits of a NaN: of two NaNs an addition gives its
# first operand, and LLVM may swap the operands in one copy and not in the other. One function
# always returns the same result for the same values.


def called(
    b: Builder, fns: Sequence[Lambda], types: Sequence[Type], combine: Combine
) -> Combine:
    """`combine`, which applies `fns` to values of `types`, as calls of one function for all uses in
    `b`; inlined if its copies agree."""
    if not any(makes_nan(part) for part in fns):
        return combine
    size = len(types)
    function = b.function(
        (*types, *types), lambda inside, *args: combine(inside, args[:size], args[size:])
    )
    return lambda c, left, right: c.emit(Call(function, (*left, *right)))


def called_for_nan(
    b: Builder, part: Lambda, combine: Combine, types: Sequence[Type]
) -> Combine:
    """`combine`, which applies `part` to values of `types`, written out; and by one function where
    a NaN comes of it."""
    call = called(b, [part], types, combine)
    if call is combine or reads_nan(part) or not any(type_ in (f32, f64) for type_ in types):
        return call

    def unless_nan(c: Builder, left: Values, right: Values) -> Values:
        found = combine(c, left, right)
        return c.choose(any_nan(c, found), lambda d: call(d, left, right), lambda _: found)

    return unless_nan


def agrees_without_nan(part: Lambda) -> bool:
    """Whether copies of an operator may differ, but not where no right operand is a NaN."""
    names = component_functions(part) or ()
    floats = [name for name, x in zip(names, part.results, strict=False) if x.type in (f32, f64)]
    return bool(floats) and set(floats) <= {"add", "mul"}


def any_nan(b: Builder, values: Sequence[Atom]) -> Atom:
    """Whether a value does not equal itself."""
    found: Atom = Const(False, bool_)
    for each in [b.apply("ne", x, x) for x in values if x.type in (f32, f64)]:
        found = b.apply("or", found, each)
    return found


# -- Multiples of the golden ratio spread adjacent numbers over all of a word ----------------------


def spread(b: Builder, number: Atom) -> Atom:
    """A u64 times 2^64 over the golden ratio; its upper bits are a hash (Knuth, volume 3, section
    6.4): multiples of adjacent numbers are distant and evenly spread."""
    return b.mul(number, Const(0x9E3779B97F4A7C15, u64))
