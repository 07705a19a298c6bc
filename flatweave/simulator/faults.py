"""What the simulator finds wrong with a kernel."""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.errors import CompilerBug
from flatweave.base.source import Location


class Misuse(CompilerBug):
    """A kernel uses memory or barriers as no kernel may.

    In kernels that the compiler has written that is its own fault, in those of a user the user's:
    whoever started the run knows which. `before` is the line of the other access of a race.
    """

    def __init__(
        self, message: str, *, before: Location | None = None, remedy: str = "",
        bounds: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(message)
        self.before = before
        self.remedy = remedy
        self.bounds = bounds

    def others(self) -> Sequence[str]:
        """The line of the other access, to stand below the message."""
        if self.before is None or not self.before.is_known:
            return ()
        return (f"the other one: {self.before.excerpt().splitlines()[0]}",)
