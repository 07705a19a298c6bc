"""What each hard operation becomes over all rows."""

from flatweave.passes.nests.rules import control, inner, scans, sorts_and_writes

__all__ = ["control", "inner", "scans", "sorts_and_writes"]
