"""A variant in which blocks divide a scattering sweep: when it runs, and its launches."""

from __future__ import annotations

from typing import ClassVar

from flatweave.lower.machine.machine import Machine
from flatweave.lower.scatter.scattering import Scattering
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.lower.schedule.plan import When
from flatweave.lower.schedule.scatter_variant import ScatterVariant
from flatweave.ops import Prefix
from flatweave.terms.build import TRUE, Builder
from flatweave.terms.syntax import Atom

SCANS = "what it writes is scanned on the way, and blocks would have to wait for each other"


class Division(ScatterVariant):
    """A way of dividing one sweep; made with its kernels, which are written when they run.

    For machines whose blocks are few and run on: CPUs.
    """

    divides_scans: ClassVar[bool] = False
    """Whether it can divide a sweep whose elements depend on those before them."""

    writes_destination: ClassVar[bool] = True
    """Whether each element is combined with what the destination holds."""

    def __init__(self, scattering: Scattering, when: When) -> None:
        self.scattering = scattering
        self.when = when

    @classmethod
    def obstacle(cls, machine: Machine, facts: SweepFacts) -> str:
        if machine.atomics:
            return f"on {machine.name} there is no such division"
        scans = any(isinstance(let.op, Prefix) for let in facts.op.body.lets)
        return SCANS if scans and not cls.divides_scans else ""

    @property
    def why(self) -> str:
        """Why it runs, and whether it is wished for."""
        is_forced = self.when is not When.PAYS and self.chosen is When.PAYS
        return f"{self.reason}, as the schedule says" if is_forced else self.reason

    def holds(self, host: Builder) -> Atom:
        """Whether it runs, found by the host."""
        match self.when:
            case When.ALWAYS:
                return TRUE
            case When.FITS:
                return self.fits(host)
            case When.PAYS:
                return self.pays(host)

    def fits(self, host: Builder) -> Atom:
        """Whether it has room for so large a destination."""
        return TRUE

    def pays(self, host: Builder) -> Atom:
        """Whether it has room, and the sizes are those that it is faster for."""
        raise NotImplementedError

    def launch(self, host: Builder) -> None:
        """Emit its launches."""
        raise NotImplementedError
