"""fw.explain: what one pass over memory is, what is stored and why, what would help, what ran.

    fw.explain(f, xs)

    f: 1 pass over memory. It moves 8.0 KiB, which takes 150 ns at 52.0 GiB/s; kernels took 1.2 us.

    Pass 1, total.py:3 and total.py:4: sweep: combine
        reads xs_2 (8.0 KiB)
        t_9 ran
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flatweave.base.errors import ArgumentError
from flatweave.base.source import user_location
from flatweave.frontend.values.array import kind_of
from flatweave.frontend.values.scope import innermost
from flatweave.jit import jit
from flatweave.profiler.profile import Profile
from flatweave.runtime.lazy_import import opened


class Explanation:
    """What became of a call, in words: `str` of it, and `.passes`, the paragraph of each pass.

        >>> len(fw.explain(fw.jit(lambda x: fw.sum(x * x), target="cpu"), np.arange(9.0)).passes)
        1
    """

    def __init__(self, head: str, passes: tuple[str, ...], others: str) -> None:
        self.head, self.passes, self.others = head, passes, others

    def __str__(self) -> str:
        return "\n\n".join(part for part in (self.head, *self.passes, self.others) if part)

    __repr__ = __str__


def explain(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Explanation:
    """Say in words what becomes of a call: which lines are one pass over memory, what each pass
    reads and writes, what is stored and why, what would help, and which kernels ran and why.

    `f` is called once, for that. A function that is not jitted is jitted for it. `.stages` and
    their page have the same facts with the programs themselves.
    Raises ArgumentError for what is no function and inside a trace, and what the call raises.

    Types: a function and its arguments `->` an `Explanation`, which `print` shows.

        >>> print(fw.explain(fw.jit(lambda x: x + 1, target="interp"), np.arange(3)))
        <lambda>: the interpreter runs the program as it was written, one operation at a time.
    """
    if not callable(f):
        raise ArgumentError(
            f"explain needs a function, got {kind_of(f)}.",
            where=user_location(), remedy="Give it with its arguments: fw.explain(f, xs).",
        )  # fmt: skip
    if innermost() is not None:
        raise ArgumentError(
            "fw.explain inside of a function that is being traced: nothing runs there.",
            where=user_location(), remedy="Explain the call of the function.",
        )  # fmt: skip
    known: Any = f if hasattr(f, "stages") else jit(f)
    stages = known.stages(*args, **kwargs)  # before the call, to which arguments may be given away
    with Profile() as profile:
        known(*args, **kwargs)
    made: Explanation = opened("profiler").explanation(stages, profile)
    return made
