"""How far a call has come, in a terminal: a bar for each step, with bytes and the time left."""

from __future__ import annotations

from typing import Any

from flatweave.cluster.sources.paths import missing


class Bars:
    """Bars for the steps of one call after the other."""

    def __init__(self) -> None:
        try:
            from rich import progress  # optional dependency
        except ImportError as failure:
            raise missing("a progress bar", "rich", failure) from None
        self._columns = (
            progress.TextColumn("{task.description}", markup=False), progress.BarColumn(),
            progress.DownloadColumn(binary_units=True), progress.TimeRemainingColumn(),
        )  # fmt: skip
        self._new = progress.Progress
        self._shown: Any = None
        self._step: Any = None

    def begin(self, name: str, size: int) -> None:
        """A step that takes so many bytes begins."""
        if self._shown is None:
            self._shown = self._new(*self._columns)
            self._shown.start()
        self._step = self._shown.add_task(name, total=size)

    def advance(self, size: int) -> None:
        """So many bytes more have been taken, and what is computed of them is there."""
        if self._shown is not None:
            self._shown.advance(self._step, size)

    def end(self) -> None:
        """No step is left; nothing happens where none was."""
        if self._shown is not None:
            self._shown.stop()
            self._shown = None
