"""How a sweep is divided into blocks and steps, from what its body costs."""

from __future__ import annotations

from flatweave.base.dtypes import DType, bool_
from flatweave.lower.machine.machine import ROW_LANES, WIDEST, Machine
from flatweave.lower.schedule.arrangement import folds_down_columns
from flatweave.nest.schedule import Bind
from flatweave.ops import Prefix, Sweep
from flatweave.ops.rows import scalar_type
from flatweave.passes.cost import cost_of_body
from flatweave.terms.control import For, While
from flatweave.terms.syntax import ArrayType, Lambda
from flatweave.terms.traverse import free_vars, lambdas_in, walk_lets


def element_dtypes(sweep: Sweep) -> list[DType]:
    """The dtypes that a sweep reads from arrays or passes to its sinks."""
    read = [var.type.dtype for var in free_vars(sweep) if isinstance(var.type, ArrayType)]
    return [*read, *(scalar_type(result) for result in sweep.body.results)]


def choose_blocks(
    machine: Machine, sweep: Sweep, *, in_order: bool, along_rows: bool = False,
    streams: list[DType] | None = None,
) -> tuple[int, Bind]:  # fmt: skip
    """Lanes of a step, and the least and most elements of a block, from what the body costs.

    `streams`: the dtypes moved for each element, if these are not those of all reads and stores.
    """
    cost, at_once = max(1, cost_of_body(sweep.body)), _at_once(sweep)
    dtypes = element_dtypes(sweep)
    width = machine.lanes(dtypes)
    if machine.fixed_width is None:
        if not machine.one_block:  # few elements, which are in the nearest cache
            several = width * _registers(at_once, in_order=in_order)
            if 2 * several * _state_of_loops(sweep.body) > machine.registers * machine.vector_bytes:
                several = width  # a loop's state before an iteration and after it
            width = min(WIDEST, max(several, _lanes_of_scans(machine, sweep)))
        width = ROW_LANES if along_rows else width
    bytes_each = max(1, sum(dtype.bytes for dtype in (dtypes if streams is None else streams)))
    step = width * machine.warps
    most = max(step, machine.block_bytes // bytes_each // step * step)
    least = min(most, max(step, machine.block_work // cost // step * step))
    return width, Bind(least, most)


def _lanes_of_scans(machine: Machine, sweep: Sweep) -> int:
    """Lanes that fill a register with what is scanned: its operator is taken once for each doubling
    of their number. Of anything else they fill four at most."""
    scanned = [
        scalar_type(atom) for let in sweep.body.lets if isinstance(let.op, Prefix)
        for atom in let.op.args
    ]  # fmt: skip
    carried = [dtype for dtype in scanned if dtype is not bool_]
    if not carried:
        return 1
    return min(machine.lanes(carried), 4 * machine.lanes(element_dtypes(sweep)))


def _state_of_loops(fn: Lambda) -> int:
    """The bytes that the widest loop of an element carries from one iteration to the next."""
    loops = (let.op for let in walk_lets(fn) if isinstance(let.op, For | While))
    return max((sum(scalar_type(x).bytes for x in op.init) for op in loops), default=0)


def blocks_of(each: int, width: int, machine: Machine) -> Bind:
    """Blocks of which every thread takes `each` elements, one in each step."""
    size = each * width * machine.warps
    return Bind(size, size)


def _at_once(sweep: Sweep) -> int:
    """The cost of the computation of an element at one time. Folds down columns read a row in each
    iteration: they cost an iteration of the dearest; the more of the row the better."""
    folds = folds_down_columns(sweep)
    if not folds:
        return cost_of_body(sweep.body)
    others = tuple(let for let in sweep.body.lets if let.op not in folds)
    around = cost_of_body(Lambda((), others, ()))
    return max(around, *(sum(map(cost_of_body, lambdas_in(fold))) for fold in folds))


def _registers(cost: int, *, in_order: bool) -> int:
    """Registers for each value of a step: independent work hides latency until they run out."""
    if in_order:
        return 4 if cost <= 8 else 2 if cost <= 16 else 1
    return 4 if cost < 40 else 2
