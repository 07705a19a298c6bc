"""How long a call takes, beside the time that its bytes need at this machine's rate of memory."""

from __future__ import annotations

import time

from flatweave.array_ir.fault import Fault
from flatweave.base.errors import UserError
from flatweave.base.records import record
from flatweave.frontend.call.stages import Stages
from flatweave.frontend.trace.faults import user_error
from flatweave.places.rates import rates

RUNS, ENOUGH = 20, 0.3


@record
class Timing:
    """The fastest of `runs` calls; `wrong` says why there is none. `rate` is in bytes a second."""

    seconds: float | None
    runs: int
    rate: float
    wrong: str = ""

    def floor(self, n_bytes: int) -> float:
        """How long so many bytes take at the rate of the machine."""
        return n_bytes / self.rate if self.rate else 0.0


def timing(stages: Stages) -> Timing | None:
    """Run a program a few times; None without its arguments."""
    if stages.args is None:
        return None
    found: list[float] = []
    args = list(stages.args)
    try:
        stages.executable.run(list(args))  # makes the kernels that these sizes need
        end = time.perf_counter() + ENOUGH
        while not found or (len(found) < RUNS and time.perf_counter() < end):
            begin = time.perf_counter()
            stages.executable.run(list(args))
            found.append(time.perf_counter() - begin)
    except Fault as fault:
        return Timing(None, 0, 0.0, user_error(fault).args[0])
    except UserError as wrong:
        return Timing(None, 0, 0.0, str(wrong))
    rate = rates("cpu", None).memory if _is_on_cpu(stages) else 0.0
    return Timing(min(found), len(found), rate)


def _is_on_cpu(stages: Stages) -> bool:
    return str(stages.executable.whole.target.name) == "cpu"
