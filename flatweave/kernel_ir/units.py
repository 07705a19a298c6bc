"""Units of the machine language: their text, and the rules without which they are refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from flatweave.kernel_ir import (
    IN_LANES,
    KernelOp,
    hierarchy,  # noqa: F401  known by name
    memory_ops,  # noqa: F401  known by name
    warp_ops,  # noqa: F401  known by name
)
from flatweave.kernel_ir import host as of_host  # noqa: F401
from flatweave.kernel_ir.hierarchy import (
    BLOCK,
    GRID,
    LEVELS,
    THREAD,
    WARP,
    ForAll,
    Level,
    Local,
    WarpShared,
)
from flatweave.kernel_ir.host import Launch
from flatweave.kernel_ir.lane_facts import BY_LANE, NONE, Marks, Variation
from flatweave.kernel_ir.memory_ops import StoreWhole
from flatweave.kernel_ir.syntax import (
    Acquire,
    Backoff,
    Call,
    Kernel,
    Lane,
    Lanes,
    Release,
    Shared,
    Sync,
    Unit,
)
from flatweave.kernel_ir.warp_ops import InSet
from flatweave.terms.control import For, If, While
from flatweave.terms.parse import Parser
from flatweave.terms.print import print_function
from flatweave.terms.syntax import (
    ArrayType,
    Atom,
    BufferType,
    Lambda,
    Let,
    Op,
    Type,
    Var,
    are_alike,
    types_of,
)
from flatweave.terms.traverse import Verifier, atoms_in, free_vars, walk_lets

# -- text -----------------------------------------------------------------------------------------
#
# Units as text and back: the host function, then the kernels.
#
#   host(n: i64, xs: global f32) =>                kernel double(n: i64, xs: global f32) warps 4 =>
#       launch double 8 [n, xs]                        b: i64 = block_index
#       in n                                           ..
#
# Behind a kernel with `inner 2` stand the two that it launches.


def print_unit(unit: Unit, canonical: bool = False) -> str:
    """The text of a unit, all kernels written."""
    host = print_function("host", unit.host, canonical=canonical)
    kernels = unit.complete().kernels
    return "\n".join([host, *(print_kernel(kernel, canonical) for kernel in kernels)])


def print_kernel(kernel: Kernel, canonical: bool = False) -> str:
    """The text of a kernel and of those that it launches; one warp goes without saying."""
    fn = Lambda(kernel.params, kernel.body.lets, kernel.body.results)
    label = f"warps {kernel.warps}" if kernel.warps != 1 else ""
    if kernel.inner is not None:
        label = f"inner {len(kernel.inner)}"
    text = print_function(f"kernel {kernel.name}", fn, label, canonical)
    return "\n".join([text, *(print_kernel(inner, canonical) for inner in kernel.inner or ())])


def parse_unit(text: str) -> Unit:
    """The unit that a text stands for."""
    parser = Parser(text)
    parser.expect("host")
    host = parser.rest_of_function(parser.header())
    kernels = []
    while parser.accept("kernel"):
        kernels.append(_kernel(parser))
    parser.expect("")
    return Unit(host, tuple(kernels))


def _kernel(parser: Parser) -> Kernel:
    """The text after the word `kernel`."""
    parser.scope = {}
    name = parser.word()
    params = parser.header()
    warps = int(parser.take()) if parser.accept("warps") else 1
    count = int(parser.take()) if parser.accept("inner") else None
    fn = parser.rest_of_function(params)
    inner = None if count is None else tuple(_next_kernel(parser) for _ in range(count))
    return Kernel(name, fn.params, Lambda((), fn.lets, fn.results), warps, inner)


def _next_kernel(parser: Parser) -> Kernel:
    parser.expect("kernel")
    return _kernel(parser)


# -- verify ---------------------------------------------------------------------------------------
#
# Refuses a unit that breaks a rule of the machine language; the message shows the guilty let.
#
#   everywhere   scope and types as of all terms; no arrays, only scalars and buffers
#   host         no position, no lanes, no shared memory, no barriers; launches name a kernel of the
#                unit and pass what it takes
#   kernel       no allocation, no launch; it gives no results and reads nothing from outside. One
#                with inner kernels is a host that launches these
#   lanes        not inside lanes or code of a thread; their results are the same in all lanes
#   collectives  only inside lanes, and where control is the same in all of them
#   for_all      only of a level below that of the code, where all units of that code come with
#                the same count, and nothing that its body reads differs between those who share it
#   sync         only in code of its level, and only where all whom it joins arrive
#   memory       of a thread, warp or block is made in code of that level, and read there or below


SCALAR = frozenset({"apply", "cast", "if", "while", "for"})
"""Ops of all terms: they are allowed in all code."""


def verify(unit: Unit) -> None:
    """Raise CompilerBug unless the unit, all kernels written, keeps all rules."""
    unit = unit.complete()
    HostVerifier(unit).function(unit.host)
    _verify_kernels(unit.kernels)


def _verify_kernels(kernels: Sequence[Kernel]) -> None:
    names = Counter(kernel.name for kernel in kernels)
    for kernel in kernels:
        if kernel.inner is not None:
            fn = Lambda(kernel.params, kernel.body.lets, kernel.body.results)
            HostVerifier(Unit(fn, kernel.inner), rows=True).function(fn)
            _verify_kernels(kernel.inner)
            continue
        verifier = KernelVerifier(kernel)
        if names[kernel.name] > 1:
            verifier.fail(f"two kernels are called {kernel.name}")
        if kernel.warps < 1:
            verifier.fail(f"{kernel.name} has {kernel.warps} warps")
        if kernel.body.params or kernel.body.results:
            verifier.fail(f"the body of {kernel.name} has parameters or results")
        verifier.function(Lambda(kernel.params, kernel.body.lets, ()))


def stands(op: Op, place: str) -> bool:
    """Whether an op is allowed in code of the host, a block, a warp, a thread, or in lanes."""
    return place in op.stands if isinstance(op, KernelOp) else op.name in SCALAR


class MachineVerifier(Verifier):
    """What holds on the host and in kernels."""

    def visit(self, let: Let) -> None:
        super().visit(let)
        for misfit in let.op.misfits():
            self.fail(f"{let.op.name}: {misfit}")

    def type(self, type_: Type) -> None:
        if isinstance(type_, ArrayType):
            self.fail("there are no arrays any more, only buffers")


class HostVerifier(MachineVerifier):
    """The host program, or with `rows` the code of a kernel that is one."""

    def __init__(self, unit: Unit, rows: bool = False) -> None:
        super().__init__()
        self.rows = rows
        self.kernels = {kernel.name: kernel for kernel in unit.kernels}

    def visit(self, let: Let) -> None:
        if not stands(let.op, "host") and not (self.rows and stands(let.op, "rows")):
            self.fail(f"{let.op.name} is not allowed on the host")
        super().visit(let)
        if isinstance(let.op, Launch):
            self._launch(let.op)

    def _launch(self, op: Launch) -> None:
        for name in op.roles:
            if name not in self.kernels:
                self.fail(f"there is no kernel {name}")
            if not are_alike(types_of(op.args), types_of(self.kernels[name].params)):
                self.fail(f"{name} does not take these arguments")


class KernelVerifier(MachineVerifier):
    """A kernel: whose code this is, where lanes are, and between whom control may differ here."""

    def __init__(self, kernel: Kernel) -> None:
        super().__init__()
        self.variation = Variation(kernel.body)
        self.has_levels = any(isinstance(let.op, ForAll) for let in walk_lets(kernel.body))
        self.level: Level = BLOCK
        self.lanes = False
        self.differs: Marks = NONE
        for param in kernel.params:
            if isinstance(param.type, BufferType) and param.type.space != GRID.space:
                self.fail(f"{param} is {param.type.space} memory: only global comes from the host")

    def visit(self, let: Let) -> None:
        self._stands_right(let)
        around = self.level, self.lanes, self.differs
        match let.op:
            case Lanes():
                self.lanes = True
            case If() | While() | For():
                self.differs = self.differs | self.variation.turns(let.op)
            case ForAll(level=level):
                self.level, self.differs = LEVELS[level], NONE
            case Call():
                self.level = THREAD  # each thread calls it for itself
        super().visit(let)
        self.level, self.lanes, self.differs = around

    def atom(self, atom: Atom) -> None:
        """Memory is out of scope where the code of its unit ends."""
        if isinstance(atom, Var) and atom not in self.scope and isinstance(atom.type, BufferType):
            self.fail(f"{atom} is {atom.type.space} memory, read outside of the code it belongs to")
        super().atom(atom)

    def _place(self) -> str:
        """Where this is, in words."""
        if self.level is not BLOCK:
            return f"in code of a {self.level.word}" + (", inside lanes" if self.lanes else "")
        return "inside lanes" if self.lanes else "in a kernel outside of lanes"

    def _stands_right(self, let: Let) -> None:
        op, name = let.op, let.op.name
        match op:
            case ForAll():
                self._for_all(op)
            case Sync():
                self._sync(op)
            case Shared() | WarpShared() | Local():
                self._memory(op)
        if not stands(op, "lanes" if self.lanes else self.level.word):
            remedy = ""
            if isinstance(op, KernelOp) and op.stands == IN_LANES and self.level is THREAD:
                remedy = ": it needs a warp, so put it inside lanes, in code of a warp"
            self.fail(f"{name} is not allowed {self._place()}{remedy}")
        if isinstance(op, KernelOp) and op.together and "lane" in self.differs:
            self.fail(f"{name} stands where not all lanes run")
        if isinstance(op, Acquire | Release | StoreWhole | Backoff | Lane | InSet):
            self._is_uniform(let)
        if isinstance(op, Lanes) and "lane" in self.variation.of(*op.body.results):
            self.fail("the results of lanes differ from lane to lane")

    def _for_all(self, op: ForAll) -> None:
        """Of a level below this code, where all its units come with what its body reads."""
        level, what = LEVELS.get(op.level), f"for_all {op.level}"
        if level is None:
            self.fail(f"{what}: there is no level {op.level}, only {', '.join(LEVELS)}")
        if level >= BLOCK:
            self.fail(f"{what} is not allowed in a kernel: the host launches kernels on blocks")
        if self.lanes:
            self.fail(f"{what} is not allowed inside lanes, which are threads already")
        if level >= self.level:
            below = "a `for` loop" if self.level is THREAD else "for_all thread"
            self.fail(
                f"{what} is in code of a {self.level.word}, which has no {level.word}s below "
                f"it: take {below}"
            )
        varying = BY_LANE if self.level is WARP else BY_LANE | {"warp"}
        if self.differs & varying:
            self.fail(
                f"{what} stands where not all threads of the {self.level.word} come: control "
                "differs between them; put the condition inside the body"
            )
        for read in (var for var in free_vars(op) if var in self.scope):
            if marks := sorted(self.variation.of(read) & varying):
                self.fail(
                    f"{what} reads {read}, which differs from {marks[-1]} to {marks[-1]} of the "
                    f"{self.level.word} that shares the work: store it, sync and load it"
                )

    def _sync(self, op: Sync) -> None:
        """In code of its level, where all units that it joins arrive; that of a warp in code of the
        block, too, where some warps go their own way."""
        level = LEVELS.get(op.level)
        if level is None or level is THREAD:
            self.fail(f"sync level={op.level}: there is nobody to wait for; leave it out")
        if level is GRID:
            self.fail("no barrier spans the grid: split the kernel")
        alone = level is WARP and self.level is BLOCK and "warp" in self.differs
        if self.level is not level and not alone and (self.has_levels or self.level is not BLOCK):
            self.fail(
                f"sync of a {level.word} is in code of a {self.level.word}: not all "
                f"{'threads' if level is WARP else 'warps'} of one {level.word} come here; put it "
                f"into code of the {level.word}"
            )
        if self.differs & (BY_LANE if level is WARP else BY_LANE | {"warp"}):
            whom = "threads" if level is WARP else "warps"
            self.fail(f"sync stands where not all {whom} arrive; move it out of this control")

    def _memory(self, op: Shared | WarpShared | Local) -> None:
        """In the code that it belongs to."""
        owner = {Local: THREAD, WarpShared: WARP, Shared: BLOCK}[type(op)]
        here = THREAD if self.lanes else self.level
        if owner is here:
            return
        if self.level is BLOCK and not self.has_levels and owner is not WARP:
            return  # refused, or not, by what may stand inside lanes and outside
        self.fail(
            f"{op.name} is memory of a {owner.word} but is in code of a {here.word}: allocate it "
            f"in code of a {owner.word}"
        )

    def _is_uniform(self, let: Let) -> None:
        differs = "lane" in self.variation.of(*atoms_in(let.op))
        if differs and not isinstance(let.op, StoreWhole):
            self.fail(f"{let.op.name} has operands that differ from lane to lane")
        if "lane" in self.differs and not isinstance(let.op, Lane | InSet):
            self.fail(f"{let.op.name} stands where not all lanes run")
