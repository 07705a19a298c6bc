"""Refuses a unit that breaks a rule of the machine language; the message shows the guilty let.

    everywhere   scope and types as of all terms; no arrays, only scalars and buffers
    host         no position, no lanes, no shared memory, no barriers; launches name a kernel of the
                 unit and pass what it takes
    kernel       no allocation, no launch; it gives no results and reads nothing from outside
    lanes        not inside lanes; their results are the same in all lanes
    collectives  only inside lanes, and where control is the same in all of them
    sync         only where control is the same in all warps and lanes: else some never arrive
"""

from __future__ import annotations

from collections import Counter

from flatweave.kernel_ir.host import Launch
from flatweave.kernel_ir.rules import misfits
from flatweave.kernel_ir.syntax import Acquire, Backoff, InSet, Lane, Lanes, Release, Unit
from flatweave.kernel_ir.variation import NONE, Marks, Variation
from flatweave.terms.control import For, If, While
from flatweave.terms.rules import are_alike
from flatweave.terms.syntax import ArrayType, Lambda, Let, Type, types_of
from flatweave.terms.traverse import atoms_in
from flatweave.terms.verify import Verifier

SCALAR = frozenset({"apply", "cast", "if", "while", "for"})
COLLECTIVE = frozenset(
    {"reduce_lanes", "scan_lanes", "shift_lanes", "last_lane", "count_lanes", "ballot"}
)
UNIFORM = frozenset({"acquire", "release", "backoff"})
HOST = SCALAR | {
    "load", "store", "alloc", "retain", "free", "is_unique", "trim", "launch", "fail", "threads",
}  # fmt: skip
IN_LANES = SCALAR | COLLECTIVE | UNIFORM | {
    "block_index", "warp_index", "lane", "in_set", "load", "load_near", "load_tile", "select_zero",
    "store", "store_compact", "atomic", "atomic_update", "locked_update", "sync", "report",
}  # fmt: skip
OF_LANES = COLLECTIVE | {"lane", "in_set", "load_near", "load_tile", "select_zero"}
KERNEL = (IN_LANES - OF_LANES) | {"lanes", "shared", "call"}


def verify(unit: Unit) -> None:
    """Raise CompilerBug unless the unit keeps all rules."""
    HostVerifier(unit).function(unit.host)
    names = Counter(kernel.name for kernel in unit.kernels)
    for kernel in unit.kernels:
        verifier = KernelVerifier(Variation(kernel.body))
        if names[kernel.name] > 1:
            verifier.fail(f"two kernels are called {kernel.name}")
        if kernel.warps < 1:
            verifier.fail(f"{kernel.name} has {kernel.warps} warps")
        if kernel.body.params or kernel.body.results:
            verifier.fail(f"the body of {kernel.name} has parameters or results")
        verifier.function(Lambda(kernel.params, kernel.body.lets, ()))


class MachineVerifier(Verifier):
    """What holds on the host and in kernels."""

    def visit(self, let: Let) -> None:
        super().visit(let)
        for misfit in misfits(let.op):
            self.fail(f"{let.op.name}: {misfit}")

    def type(self, type_: Type) -> None:
        if isinstance(type_, ArrayType):
            self.fail("there are no arrays any more, only buffers")


class HostVerifier(MachineVerifier):
    """The host program."""

    def __init__(self, unit: Unit) -> None:
        super().__init__()
        self.kernels = {kernel.name: kernel for kernel in unit.kernels}

    def visit(self, let: Let) -> None:
        if let.op.name not in HOST:
            self.fail(f"{let.op.name} cannot stand on the host")
        super().visit(let)
        if isinstance(let.op, Launch):
            self._launch(let.op)

    def _launch(self, op: Launch) -> None:
        if op.kernel not in self.kernels:
            self.fail(f"there is no kernel {op.kernel}")
        params = self.kernels[op.kernel].params
        if not are_alike(types_of(op.args), types_of(params)):
            self.fail(f"{op.kernel} does not take these arguments")


class KernelVerifier(MachineVerifier):
    """A kernel: where lanes are, and between whom control may differ at this place."""

    def __init__(self, variation: Variation) -> None:
        super().__init__()
        self.variation = variation
        self.lanes = False
        self.differs: Marks = NONE

    def visit(self, let: Let) -> None:
        self._stands_right(let)
        around = self.lanes, self.differs
        match let.op:
            case Lanes():
                self.lanes = True
            case If() | While() | For():
                self.differs = self.differs | self.variation.turns(let.op)
        super().visit(let)
        self.lanes, self.differs = around

    def _stands_right(self, let: Let) -> None:
        op, name = let.op, let.op.name
        if name not in (IN_LANES if self.lanes else KERNEL):
            place = "inside lanes" if self.lanes else "in a kernel outside of lanes"
            self.fail(f"{name} cannot stand {place}")
        if name in COLLECTIVE and "lane" in self.differs:
            self.fail(f"{name} stands where not all lanes run")
        if name == "sync" and self.differs:
            self.fail("sync stands where not all warps arrive")
        if isinstance(op, Acquire | Release | Backoff | Lane | InSet):
            self._is_uniform(let)
        if isinstance(op, Lanes) and "lane" in self.variation.of(*op.body.results):
            self.fail("the results of lanes differ from lane to lane")

    def _is_uniform(self, let: Let) -> None:
        if "lane" in self.variation.of(*atoms_in(let.op)):
            self.fail(f"{let.op.name} has operands that differ from lane to lane")
        if "lane" in self.differs and not isinstance(let.op, Lane | InSet):
            self.fail(f"{let.op.name} stands where not all lanes run")
