"""What a program calls as it was written: kernels of users, and programs of a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flatweave.base.dtypes import i64
from flatweave.base.records import replace
from flatweave.base.schedule import ALWAYS, NEVER, Schedule
from flatweave.kernel_ir.host import AtRow, CallHost, CopyTo, Free, HasProducts, Launch, Role
from flatweave.kernel_ir.syntax import BlockIndex, Kernel, Load, Store, Unit
from flatweave.kernel_passes.barriers import needless_barriers, reuse_memory, warp_phases
from flatweave.kernel_passes.distribute import distribute
from flatweave.kernel_passes.registers import registers, shuffles
from flatweave.kernel_passes.streaming import stream
from flatweave.lower.context import Lowering, Program
from flatweave.lower.kernel_builder import HostArray, HostScope, KernelBuilder
from flatweave.lower.machine import Machine
from flatweave.ops import ByRow, Callback, CallKernel, KernelProgram, Suits
from flatweave.ops.nests import LIBRARY
from flatweave.terms.build import FALSE, TRUE, Builder, index
from flatweave.terms.inequalities import LONGEST
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Let, Op, Var, array_type
from flatweave.terms.traverse import free_vars, map_field

# -- by row ---------------------------------------------------------------------------------------
#
# by_row: one kernel, whose code is the host program of a row inside a loop over a block's rows.
#
#     launch rows blocks ..                     kernel rows ..
#                                                   for i in the rows of this block
#     y = by_row n (i => body)        ==>               at_row i
#                                                       .. body, lowered as a program is ..
#                                                       copy_to ys (i * m) y m
#
# Its arrays are buffers of the thread. The host launches kernels for all rows; the program of a row
# launches private kernels for one row, each as one block. Rows share nothing, so blocks of rows
# differ only in when they run.


# -- The machine of one row: a single thread, which runs blocks sequentially -----------------------


ALONE = Schedule(permute="owner")
"""Scatters write in element order: a single thread has nothing to divide them among."""


def machine_of_a_row(machine: Machine) -> Machine:
    """A single core of the machine, whose arrays stay in its caches; no row fills a block, so every
    launch is one."""
    return replace(
        machine, block_bytes=LONGEST, block_work=LONGEST, one_block=True, streaming_from=None
    )


BLOCKS = 1024
"""The number of blocks, given at least as many rows: it spreads rows of unlike lengths evenly."""
WHY = "its rows are done one after the other, each from its first step to its last"

LowerBody = Callable[[Lowering, Lambda], Sequence[Atom]]


def lower_by_row(lowering: Lowering, let: Let, op: ByRow, body: LowerBody) -> None:
    """Emit the launch for all rows and bind the results; `body` lowers the body of a row."""
    host, scope = lowering.host, lowering.scope
    count = scope.scalar(op.count)
    targets = []
    for var in let.vars:
        shape = tuple(scope.scalar(extent) for extent in array_type(var).shape)
        dtype = array_type(var).dtype
        targets.append(lowering.alloc(dtype, host.product(shape), "rows"))
        scope.bind(var, HostArray(targets[-1], shape))
    ahead = host.add(count, index(BLOCKS - 1))
    size = host.apply("floordiv", ahead, index(BLOCKS))
    size = host.apply("maximum", size, index(1))
    blocks = host.ceil_div(count, size)
    needs = [*lowering.reads(op), *targets, count, size]
    offsets = [scope.array(atom).buffer for atom in op.offsets]
    written = _Rows(lowering, op, targets, offsets, count, size, body)
    kernel = lowering.later(
        let, "_by_row", needs, lambda kernel, own: written.write(kernel), why=WHY
    )
    lowering.launch(kernel, blocks, Role.VARIANT)


class _Rows:
    """The kernel of a block of rows."""

    def __init__(
        self, lowering: Lowering, op: ByRow, targets: Sequence[Var], offsets: Sequence[Var],
        count: Atom, size: Atom, body: LowerBody,
    ) -> None:  # fmt: skip
        self.lowering = lowering
        self.op = op
        self.targets = targets
        self.offsets = offsets
        self.count = count
        self.size = size
        self.body = body

    def write(self, kernel: KernelBuilder) -> None:
        """The loop over the rows of a block."""
        outside = self.lowering
        program = Program(
            machine_of_a_row(outside.machine), outside.checks, outside.program.lower_lets, ALONE, {}
        )  # fmt: skip
        program.names = kernel.body.names
        program.sites = kernel.sites.shared()
        inside = Lowering(program, kernel.body, self._scope(kernel))
        inside.where = outside.where
        b = kernel.body
        size, count = kernel.capture(self.size), kernel.capture(self.count)
        first = b.mul(b.emit(BlockIndex())[0], size)
        last = b.apply("minimum", b.add(first, size), count)
        turn = inside.inner()
        row = turn.host.param("i", i64, count)
        self._row(kernel, turn, row)
        turn.host.close_loop(first, last, [], [])
        kernel.inner = (*program.kernels, *(later.made for later in program.later))

    def _scope(self, kernel: KernelBuilder) -> HostScope:
        """What the body reads, inside the kernel."""
        scope = HostScope()
        for var in free_vars(self.op.fn):
            if isinstance(var.type, ArrayType):
                scope.bind(var, HostArray(*kernel.array(var)))
            else:
                scope.bind(var, kernel.scalar(var))
        return scope

    def _row(self, kernel: KernelBuilder, turn: Lowering, row: Var) -> None:
        """One row: its program, then its results to where they belong."""
        turn.host.emit(AtRow(row))
        turn.scope.bind(self.op.fn.params[0], row)
        results = self.body(turn, self.op.fn)
        found = zip(self.op.fn.results, results, self.targets, self.op.groups, strict=True)
        for atom, value, target, group in found:
            into = kernel.buffer(target)
            if not isinstance(atom.type, ArrayType):
                turn.host.emit(Store(into, row, value))
                continue
            shape = turn.scope.array(atom).shape
            assert isinstance(value, Var)
            start = self._start(kernel, turn.host, row, group, shape)
            turn.host.emit(CopyTo(into, start, value, turn.host.product(shape)))
            turn.host.emit(Free(value))

    def _start(
        self, kernel: KernelBuilder, b: Builder, row: Atom, group: int, shape: Sequence[Atom]
    ) -> Atom:
        if group < 0:
            return b.mul(row, b.product(shape))
        offsets = kernel.buffer(self.offsets[group])
        return b.mul(b.emit(Load(offsets, row))[0], b.product(shape[1:]))


# -- Which version is taken: the sizes that decide, and what the user wishes -----------------------


TUNED = "rows are done one after the other {}: thresholds that fw.tune measured here"


def suits(lowering: Lowering, op: Suits) -> Atom:
    """Whether a version is taken."""
    return _by_library(lowering, op) if op.version == LIBRARY else _by_row(lowering, op)


def _by_library(lowering: Lowering, op: Suits) -> Atom:
    """Whether the library computes a product."""
    limits, wished = lowering.machine.products, lowering.schedule.product
    if limits is None:
        return FALSE
    host, scalar = lowering.host, lowering.scope.scalar
    if wished is not None:
        large: Atom = TRUE if wished == LIBRARY else FALSE
    else:
        wide = host.apply("ge", scalar(op.rows), index(limits.extent))
        many = host.apply("ge", scalar(op.values_), index(limits.multiplications))
        large = host.apply("and", wide, many)
    if lowering.machine.shares_memory or large == FALSE:
        return large
    return host.emit(HasProducts(large))[0]


def _by_row(lowering: Lowering, op: Suits) -> Atom:
    """Whether each row runs sequentially."""
    if lowering.machine.rows_alone is None:
        return FALSE
    wished = lowering.schedule.version
    if wished is not None:
        return TRUE if wished == op.version else FALSE
    tuned = lowering.program.tuned.get(op)
    if tuned is not None:
        lowering.note(TUNED.format(tuned))
    limits = tuned or lowering.machine.rows_alone.of(op.gain)
    if limits in (ALWAYS, NEVER):
        return TRUE if limits == ALWAYS else FALSE
    host, scalar = lowering.host, lowering.scope.scalar
    rows, values, longest = scalar(op.rows), scalar(op.values_), scalar(op.longest)
    many = host.apply("ge", rows, index(limits.rows))
    small = host.apply("le", longest, index(limits.longest))
    if limits.least:
        small = host.apply("and", small, host.apply("ge", longest, index(limits.least)))
    even = host.apply("le", host.mul(longest, index(limits.share)), values)
    least = host.mul(rows, index(limits.mean))
    long = host.apply("ge", values, least)
    return host.apply("and", host.apply("and", many, long), host.apply("and", small, even))


# -- call kernel ----------------------------------------------------------------------------------
#
# What a program calls as it was written: a kernel, whose host code becomes part of the program's,
# or a Python function, as one host step.


def unit_for(program: KernelProgram, machine: Machine) -> Unit:
    """The kernels for the warps and lanes of a machine."""
    shape = machine.block_of(program.threads)
    unit = shuffles(program.on(machine).unit, shape)
    unit = registers(unit, shape)
    unit = warp_phases(reuse_memory(needless_barriers(unit, shape)), shape)
    unit = distribute(unit, shape)
    return unit if machine.streaming_from is None else stream(unit, machine.streaming_from)


def lower_call(lowering: Lowering, let: Let, op: CallKernel | Callback) -> None:
    """Call a kernel or a Python function here."""
    if isinstance(op, Callback):
        _lower_callback(lowering, let, op)
    else:
        _lower_kernel(lowering, let, op)


def _lower_callback(lowering: Lowering, let: Let, op: Callback) -> None:
    """Call it; a result that is a number is read from a buffer of one element."""
    calls, host = lowering.program.calls, lowering.host
    args, made = map(lowering.scope.host, op.given()), []
    for result in op.results:
        shape = tuple(map(lowering.scope.scalar, result.total or result.shape))
        buffer = lowering.alloc(result.dtype, host.product(shape), "buffer")
        made.append(HostArray(buffer, shape))
    calls.append((op.described, lowering.site()))
    host.emit(CallHost(len(calls) - 1, (*args, *(array.buffer for array in made))))
    for var, array in zip(let.vars, made, strict=True):
        if array.shape:
            lowering.scope.bind(var, array)
        else:
            lowering.scope.bind(var, host.emit(Load(array.buffer, index(0)))[0])
            host.emit(Free(array.buffer))


def _lower_kernel(lowering: Lowering, let: Let, op: CallKernel) -> None:
    """Run the host code of a kernel here, its launches among the program's own."""
    program, made = op.program.on(lowering.machine), lowering.program
    unit = unit_for(program, lowering.machine)
    number = len(made.kernels)
    names = {kernel.name: f"{kernel.name}_{number}" for kernel in unit.kernels}
    sites = {
        site: lowering.sites.add(row) for site, row in sorted(program.plan.sites.items())
    }
    rename = _Renamed(names, sites)
    made.kernels += [rename.kernel(kernel) for kernel in unit.kernels]
    args = [lowering.scope.host(atom) for atom in op.args]
    results = iter(lowering.host.inline(rename.function(unit.host), args))
    for var, result in zip(let.vars, _by_result(program, results), strict=True):
        lowering.scope.bind_host(var, result)


def _by_result(program: KernelProgram, results: Any) -> list[Atom]:
    """The host's results, the extents of each array before it, as the op binds them."""
    found: list[Atom] = []
    for result in program.plan.results:
        value = next(results)
        found += [next(results) for extent in result.extents or () if extent is None]
        found.append(value)
    return found


class _Renamed:
    """Code with other names of kernels, and other numbers of sites."""

    def __init__(self, names: Mapping[str, str], sites: Mapping[int, int]) -> None:
        self.names = names
        self.sites = sites

    def kernel(self, kernel: Kernel) -> Kernel:
        """A kernel anew."""
        return replace(
            kernel, name=self.names[kernel.name], body=self.function(kernel.body)
        )

    def function(self, fn: Lambda) -> Lambda:
        """A body anew."""
        return replace(fn, lets=tuple(replace(let, op=self.op(let.op)) for let in fn.lets))

    def op(self, op: Op) -> Op:
        """An op anew."""
        found: Op = map_field(op, lambda atom: atom, self.function)
        if isinstance(found, Launch):
            variants = tuple(
                choice.replace(kernel=self.names[choice.kernel]) for choice in found.variants
            )
            return found.replace(kernel=self.names[found.kernel], variants=variants)
        if "site" in found.fields:
            return found.replace(site=self.sites[found.site])  # type: ignore[attr-defined]
        return found
