"""A unit becomes a program of machine code: the host now, a branch's kernels when they are needed.

    host's module    fw_main, which finds kernels in a table
    other modules    the kernels that run whatever happens, made with the host; then those of each
                     branch: written, emitted and compiled at their first launch

A kernel that no call needs costs nothing. Modules that are compiled later use the switches from the
time when the program was compiled. Larger kernels are separate modules, compiled in parallel with
each other and with the host. How often code runs decides how much LLVM optimises: kernels are
optimised, the host only where it contains a hot loop (`load.py`).
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence

from flatweave.base.config import config
from flatweave.base.phase_timer import PhaseTimer, shown
from flatweave.base.plan import Plan
from flatweave.codegen.llvm.isa import here
from flatweave.codegen.llvm.unit.emit import emit_host, emit_kernels
from flatweave.kernel_ir.host import Launch, parts_of
from flatweave.kernel_ir.syntax import Kernel, Unit
from flatweave.runtime.cpu import CpuProgram
from flatweave.runtime.deep_stack import check_wanted, on_deep_stack
from flatweave.runtime.execute import CompiledGroup, KernelTable
from flatweave.runtime.llvm_passes import LIGHT, RAW
from flatweave.runtime.native import NativeCode, begin, compile_text
from flatweave.runtime.support import POOL, Code
from flatweave.terms.control import Apply, For, While
from flatweave.terms.syntax import Atom, Lambda, Op, Var
from flatweave.terms.traverse import lambdas_in, walk_lets

# How much LLVM does for a host program: most of it runs once per call, or once per launch.
#
# while (..) (x => mul x 3 ..)                   LIGHT: instructions dominate an iteration
# while (..) (xs => .. launch a ..)              RAW: the launch dominates an iteration
# for 0 blocks 1 (..)  with  launch a blocks     RAW: a block outlasts its iteration


def level_of(host: Lambda) -> int:
    """The level of optimisation at which a host program is compiled."""
    lets = list(walk_lets(host))
    loops = [let.op for let in lets if isinstance(let.op, (For, While))]
    definitions = {var: let.op for let in lets for var in let.vars}
    grids = {let.op.grid for let in lets if isinstance(let.op, Launch)}
    alone = [loop for loop in loops if not _launches(loop)]
    is_hot = any(not _is_per_block(loop, definitions, grids) for loop in alone)
    return LIGHT if is_hot else RAW


def _launches(op: Op) -> bool:
    inside = (let.op for fn in lambdas_in(op) for let in walk_lets(fn))
    return any(isinstance(each, Launch) for each in inside)


def _is_per_block(loop: For | While, definitions: dict[Var, Op], grids: set[Atom]) -> bool:
    """Whether there is an iteration for each block of a launch, and perhaps a few more."""
    if not isinstance(loop, For):
        return False
    count: list[Atom] = [loop.hi]
    op = definitions.get(loop.hi) if isinstance(loop.hi, Var) else None
    if isinstance(op, Apply) and op.fn == "add":
        count += op.args
    return any(isinstance(atom, Var) and atom in grids for atom in count)


ENOUGH = 100  # lets of kernels that are worth a module; a module costs LLVM 1 to 2 ms


def load(unit: Unit, plan: Plan, timer: PhaseTimer) -> CpuProgram:
    """The program; `timer` continues while kernels are made."""
    parts, switches = parts_of(unit.host), config.current
    likely = {name: names for names in parts.alike for name in names}
    waiting: dict[str, tuple[Code, str]] = {}

    def made(names: Sequence[str]) -> CompiledGroup:
        """A group of kernels; what is likely to be asked for next is made with it, and waits."""
        if names[0] in waiting:
            return [waiting.pop(name) for name in names]
        others = [name for name in likely.pop(names[0], ()) if likely.pop(name, None)]
        every = [*names, *others]
        with config.scoped(cpu=switches.cpu, no_cache=switches.no_cache), shown(timer) as look:
            kernels = on_deep_stack(lambda: make_kernels(unit, every, timer), look)
        timer.report()
        waiting.update(zip(others, kernels[len(names) :], strict=True))
        return kernels[: len(names)]

    table = KernelTable(parts.groups, made)
    first = begin_kernels(unit, parts.first, timer, begin)
    with timer.stage("emit"):
        text = emit_host(unit, parts, here())
    check_wanted()
    with timer.stage("compile"):
        code = compile_text(text, level=level_of(unit.host))
    table.put(1, first())
    return CpuProgram(code, plan, table)


def make_kernels(unit: Unit, names: Sequence[str], timer: PhaseTimer) -> CompiledGroup:
    """The machine code of some kernels, and the symbol of each."""
    return begin_kernels(unit, names, timer, now)()


def now(text: str) -> Callable[[], NativeCode]:
    """As `begin`, for who has nothing else to do meanwhile."""
    code = compile_text(text)
    return lambda: code


def begin_kernels(
    unit: Unit,
    names: Sequence[str],
    timer: PhaseTimer,
    last: Callable[[str], Callable[[], NativeCode]],
) -> Callable[[], CompiledGroup]:
    """What gives the machine code of some kernels: LLVM is at work on the first ones while the
    last ones are written, and on as many modules at once as a program may use threads."""
    begun: list[Callable[[], CompiledGroup]] = []
    known: dict[str, Callable[[], NativeCode]] = {}  # by text: equal kernels are compiled once
    done: list[CompiledGroup] = []

    def finish(count: int) -> None:
        while len(done) < count:
            with timer.stage("compile"):
                done.append(begun[len(done)]())
            timer.finish(len(done[-1]))

    timer.expect(len(names))
    kernels: list[Kernel] = []
    for name in names:
        with timer.stage("lower"):
            kernels.append(unit.kernel(name))
        check_wanted()
        if name == names[-1] or sum(map(_size, kernels)) >= ENOUGH:
            finish(len(begun) + 1 - (config.threads or POOL.default))
            begin_one = last if name == names[-1] else begin
            begun.append(_begin_module(kernels, timer, begin_one, known))
            kernels = []

    def finished() -> CompiledGroup:
        finish(len(begun))
        return list(itertools.chain.from_iterable(done))

    return finished


def _begin_module(
    kernels: Sequence[Kernel], timer: PhaseTimer, begin: Callable[[str], Callable[[], NativeCode]],
    known: dict[str, Callable[[], NativeCode]],
) -> Callable[[], CompiledGroup]:  # fmt: skip
    with timer.stage("emit"):
        text, symbols = emit_kernels(kernels, here())
    check_wanted()
    with timer.stage("compile"):
        compiled = known.get(text) or known.setdefault(text, functools.cache(begin(text)))

    def made() -> CompiledGroup:
        code = compiled()
        return [(code, symbol) for symbol in symbols]

    return made


def _size(kernel: Kernel) -> int:
    return sum(1 for _ in walk_lets(kernel.body))
