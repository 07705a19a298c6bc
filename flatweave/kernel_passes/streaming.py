"""Stores that would fill the caches go around them: the host chooses by the size of arrays.

    m: global f32 = alloc f32 n 0           m: global f32 = alloc f32 n 0
    launch k t [m]                          s: i64 = mul n 4
                                            q: bool = ge s 4194304
                                    ==>     launch k t [m] variants=[choice q k_s]

    kernel k(m: global f32) =>              kernel k(m: global f32) => .. as before ..
        lanes 16 (() =>                     kernel k_s(m: global f32) =>
            for 0 1024 16 (base =>              lanes 16 (() =>
                i = lane base                       for 0 1024 16 (base =>
                store m i x))                           i = lane base
                                                        store m i x streaming=true))

A store may do so if a step fills whole cache lines, each line once, and the kernel does nothing
with the array but store: what has gone around the caches is read from memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.access import variables_in
from flatweave.access.analyse import kernel_values
from flatweave.base.dtypes import DType
from flatweave.base.records import replace
from flatweave.kernel_ir.host import Alloc, Choice, Launch
from flatweave.kernel_ir.lane_facts import trailing_zeros, zeros_of
from flatweave.kernel_ir.syntax import BlockIndex, Kernel, Lane, Lanes, Store, Unit
from flatweave.terms.bounds import Sum
from flatweave.terms.build import Builder, index
from flatweave.terms.control import For, While
from flatweave.terms.syntax import Atom, BufferType, Const, Lambda, Let, Op, Var
from flatweave.terms.traverse import Substitution, atoms_in, lambdas_in, map_field, walk_lets

LINE = 64
"""Bytes of a cache line, and what the memory of arrays is aligned to."""


def stream(unit: Unit, least: int) -> Unit:
    """The unit, in which launches that store `least` bytes go around the caches where they can."""
    found = {kernel.name: _Streams(kernel) for kernel in unit.kernels}
    streams = {name: each for name, each in found.items() if each.buffers}
    if not streams:
        return unit
    b = Builder()
    params = b.params_like(unit.host.params, renaming := Substitution())
    host = _Host(b, renaming, streams, least)
    host.body(b, unit.host.lets)
    results = [renaming.atom(atom) for atom in unit.host.results]
    made = [streams[name].kernel() for name in sorted(host.chosen)]
    return Unit(b.close(params, results), (*unit.kernels, *made))


# -- kernels --------------------------------------------------------------------------------------


class _Streams:
    """The stores of a kernel that may go around the caches, and the buffers they are to."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._values = kernel_values(kernel.body)
        self._lanes: dict[Var, Atom] = {}  # and their bases
        self._known = {param for param in kernel.params if isinstance(param.type, DType)}
        self._zeros = trailing_zeros(kernel.body)
        self._stores: list[Store] = []
        only = set(kernel.params) - _used_otherwise(kernel.body)
        self._body(kernel.body, 1, frozenset(), only)
        self.buffers = tuple(dict.fromkeys(store.buffer for store in self._stores))

    def given(self, args: Sequence[Atom]) -> list[Var]:
        """The buffers among the arguments of a launch."""
        held = dict(zip(self._kernel.params, args, strict=True))
        return [arg for buffer in self.buffers if isinstance(arg := held[buffer], Var)]

    def kernel(self) -> Kernel:
        """The kernel with these stores around the caches."""
        marked = set(map(id, self._stores))

        def anew(fn: Lambda) -> Lambda:
            return replace(fn, lets=tuple(replace(let, op=of(let.op)) for let in fn.lets))

        def of(op: Op) -> Op:
            if isinstance(op, Store):
                return op.replace(streaming=True) if id(op) in marked else op
            return map_field(op, lambda atom: atom, anew) if lambdas_in(op) else op

        return replace(
            self._kernel, name=streaming_name(self._kernel.name), body=anew(self._kernel.body)
        )

    def _body(self, fn: Lambda, lanes: int, loops: frozenset[Var], only: set[Var]) -> None:
        for let in fn.lets:
            match let.op:
                case Store() if let.op.buffer in only:
                    if self._fills_lines(let.op, lanes, loops):
                        self._stores.append(let.op)
                case Lanes(width=width, body=body):
                    self._body(body, width, loops, only)
                case For(body=body, lo=lo, step=step):
                    counter = body.params[0]
                    ends = map(self._values.of, (lo, step))
                    if all(self._known.issuperset(variables_in(end)) for end in ends):
                        self._known.add(counter)
                    self._body(body, lanes, loops | {counter}, only)
                case While():
                    pass  # its trip count is unknown
                case Lane(base=base, reverse=False):
                    self._lanes[let.vars[0]] = base
                case BlockIndex():
                    self._known.add(let.vars[0])
                case op:
                    for inner in lambdas_in(op):
                        self._body(inner, lanes, loops, only)

    def _fills_lines(self, store: Store, lanes: int, loops: frozenset[Var]) -> bool:
        """Whether a step fills whole lines, different ones in each iteration."""
        assert isinstance(store.buffer.type, BufferType)
        each, value = store.buffer.type.dtype.bytes, self._values.of(store.index)
        if lanes * each % LINE or each << zeros_of(self._zeros, store.index) < LINE:
            return False
        for lane in self._lanes.keys() & value.terms.keys():
            first = value.plus(Sum({lane: 1}), -1).plus(self._values.of(self._lanes[lane]))
            if loops <= set(variables_in(first)) <= self._known:
                return True
        return False


def streaming_name(kernel: str) -> str:
    """The copy of a kernel that goes around the caches."""
    return f"{kernel}_s"


def _used_otherwise(body: Lambda) -> set[Var]:
    """The buffers with which something else is done than to store into them."""
    found: set[Var] = set()
    for let in walk_lets(body):
        if not isinstance(let.op, Store):
            found.update(atom for atom in atoms_in(let.op) if isinstance(atom, Var))
    return found


# -- the host -------------------------------------------------------------------------------------


class _Host:
    """The host's code anew, in which launches choose; `chosen` are the kernels they choose from."""

    def __init__(
        self, b: Builder, renaming: Substitution, streams: dict[str, _Streams], least: int
    ) -> None:
        renaming.fresh = lambda var, type_: b.var(var.name, type_)
        self.renaming = renaming
        self.streams = streams
        self.least = least
        self.made: dict[Var, Alloc] = {}  # buffers
        self.chosen: set[str] = set()

    def body(self, b: Builder, lets: Sequence[Let]) -> None:
        """Emit lets."""
        for let in lets:
            b.where = let.where
            op = let.op
            if isinstance(op, Launch) and op.kernel in self.streams:
                self._launch(b, self.renaming.op(op), op.args)
            elif lambdas_in(op):
                made = map_field(op, self.renaming.atom, lambda fn: self._function(b, fn))
                found = b.emit(made)
                self.renaming.mapping.update(zip(let.vars, found, strict=True))
            else:
                b.inline_let(let, self.renaming)
                if isinstance(op, Alloc):
                    self.made[let.vars[0]] = self.renaming.op(op)

    def _function(self, b: Builder, fn: Lambda) -> Lambda:
        inside = b.inner()
        params = inside.params_like(fn.params, self.renaming)
        self.body(inside, fn.lets)
        return inside.close(params, [self.renaming.atom(atom) for atom in fn.results])

    def _launch(self, b: Builder, launch: Launch, args: Sequence[Atom]) -> None:
        """Emit a launch with its choice, if its streamed buffers were all allocated here."""
        streams = self.streams[launch.kernel]
        buffers = streams.given(args)
        if all(buffer in self.made for buffer in buffers):
            total: Atom = index(0)
            for made in (self.made[buffer] for buffer in buffers):
                total = b.add(total, b.mul(made.count, index(made.dtype.bytes)))
            large = b.apply("ge", total, index(self.least))
            if not isinstance(large, Const):
                choice = Choice(large, streaming_name(launch.kernel))
                self.chosen.add(launch.kernel)
                launch = launch.replace(variants=(choice, *launch.variants))
            elif large.value:
                self.chosen.add(launch.kernel)
                launch = launch.replace(kernel=streaming_name(launch.kernel))
        b.emit(launch)
