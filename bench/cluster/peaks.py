"""The memory that a process takes at most, as Linux tells it; a peak can be forgotten."""

from __future__ import annotations

from pathlib import Path

STATUS, FORGET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def resident() -> int:
    """Bytes that the process has now; its peak is from now on."""
    FORGET.write_text("5")
    return _of("VmRSS")


def peak() -> int:
    """The most bytes that it had since."""
    return _of("VmHWM")


def _of(key: str) -> int:
    lines = STATUS.read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(key))
