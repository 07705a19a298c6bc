"""What the simulator finds wrong with a kernel."""

from __future__ import annotations

from flatweave.base.errors import CompilerBug
from flatweave.base.source import Location


class Misuse(CompilerBug):
    """A kernel uses memory or barriers as no kernel may.

    In kernels that the compiler has written that is its own fault, in those of a user the user's:
    whoever started the run knows which. `origin` is another line that has to do with it, and `role`
    what was done there; `bounds` says that an index is outside.
    """

    def __init__(
        self, message: str, *, origin: Location | None = None, role: str = "", remedy: str = "",
        bounds: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(message)
        self.origin = origin
        self.role = role
        self.remedy = remedy
        self.bounds = bounds

    def origins(self) -> tuple[str, ...]:
        """The other line, to stand below the message."""
        if self.origin is None or not self.origin.is_known:
            return ()
        return (f"{self.role} {self.origin.excerpt().splitlines()[0]}",)
