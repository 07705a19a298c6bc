"""What ran when, as a file for chrome://tracing or ui.perfetto.dev: a track for each thread.

The format is that of Chrome's trace events: times in microseconds, from when the profile began.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from flatweave.base import files
from flatweave.profiler.profile import Profile

US = 1e-3
DEVICES = 1 << 40  # their tracks are numbered from here on, beside those of threads


def write_trace(profile: Profile, path: str | Path) -> Path:
    """Write the events of a profile."""
    target = Path(path)
    files.check_folder(target, "the trace")
    profile.sums.settle()
    made = {
        "traceEvents": list(_events(profile)),
        "displayTimeUnit": "ms",
        "otherData": {"events left out": profile.sums.left_out},
    }
    return files.write(target, json.dumps(made), "the trace")


def _events(profile: Profile) -> Iterator[dict[str, Any]]:
    process = os.getpid()
    events = list(profile.sums.events)
    tracks: dict[int | str, int] = {}
    for event in events:
        track = event.track
        tracks.setdefault(track, track if isinstance(track, int) else DEVICES + len(tracks))
    for track, number in tracks.items():
        name = profile.threads.get(track, f"thread {track}") if isinstance(track, int) else track
        yield {
            "name": "thread_name", "ph": "M", "pid": process, "tid": number,
            "args": {"name": name},
        }  # fmt: skip
    for event in events:
        yield {
            "name": event.name, "cat": event.kind, "ph": "X", "pid": process,
            "tid": tracks[event.track], "ts": (event.begin - profile.begin) * US,
            "dur": max(event.end - event.begin, 0) * US, "args": event.said,
        }  # fmt: skip
