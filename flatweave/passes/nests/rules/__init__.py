"""What each hard operation becomes over all rows."""

from flatweave.passes.nests.distribute import host_body
from flatweave.passes.nests.rules import control, inner, scans

__all__ = ["control", "host_body", "inner", "scans"]
