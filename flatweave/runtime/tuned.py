"""What `fw.tune`, `fk.tune` and the target `auto` measured: of this process, and on disk.

    key = key_of(print_program(program), schedule)
    keep(key, (Thresholds(..), None))     one for each nest with versions; None: the machine's
    kept(key)  ==>  the same              also in a later process; () if nobody has tuned it
    keep_plans(key, "sweep t_9 ..")       the schedules of some sweeps
    keep_choice(key, digest)              which of several kernels is the fastest
    keep_rates(key, (3e-6, ..))           how fast a device is, for the target `auto`

They are in a folder next to compiled code, under the same rules. They are data: a file that is
damaged or from another machine is ignored.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from flatweave.base.config import config
from flatweave.base.records import replace
from flatweave.base.schedule import Schedule, Thresholds
from flatweave.runtime.cache import DiskCache, default_folder, kind_of_cpu
from flatweave.runtime.image import Unfit, from_bytes, to_bytes

LIMIT = 4 * 2**20  # bytes: some ten thousand programs
Tuned = tuple[Thresholds | None, ...]


class TunedFolder(DiskCache):
    """A folder of thresholds, of which those unused for longest go."""

    content = "what fw.tune measured,"
    instead = "The machine's own thresholds hold."


def key_of(text: str, schedule: Schedule) -> str:
    """What the thresholds of a traced program are kept under: its text, the machine, its code."""
    choices = str(replace(schedule, tuned=(), tuned_text="", donated=()))
    whole = "\0".join(["thresholds 2", _machine(), config.cpu, choices, text])
    return hashlib.sha256(whole.encode()).hexdigest()


def keep(key: str, tuned: Tuned) -> bool:
    """Keep thresholds, for later processes, too, unless the cache is switched off; whether they
    are kept."""
    if not config.no_cache:
        plain = tuple(each and _numbers(each) for each in tuned)
        if not folder().put(key, to_bytes(plain)):
            return False
    _KEPT[key] = tuned
    return True


def kept(key: str) -> Tuned:
    """The thresholds that were kept under a key; () if there are none."""
    if key in _KEPT or config.no_cache:
        return _KEPT.get(key, ())
    content = folder().get(key)
    try:
        found = () if content is None else from_bytes(content)
    except Unfit:
        found = ()
    return tuple(map(_thresholds, found)) if isinstance(found, tuple) else ()


def keep_plans(key: str, text: str) -> bool:
    """Keep schedules of sweeps as text; whether they are kept for later processes, if wanted."""
    _PLANS[key] = text
    return config.no_cache or folder().put(_of_plans(key), to_bytes((text,)))


def kept_plans(key: str) -> str:
    """The schedules that were kept under a key; "" if there are none."""
    if key in _PLANS or config.no_cache:
        return _PLANS.get(key, "")
    content = folder().get(_of_plans(key))
    try:
        found = None if content is None else from_bytes(content)
    except Unfit:
        return ""
    match found:
        case (str(text),):
            return text
    return ""


def _of_plans(key: str) -> str:
    return hashlib.sha256(f"schedules 1\0{key}".encode()).hexdigest()


def key_of_kernels(parts: Sequence[str]) -> str:
    """What the choice among kernels is kept under: their texts and sizes, the machine."""
    whole = "\0".join(["kernels 1", _machine(), config.cpu, *parts])
    return hashlib.sha256(whole.encode()).hexdigest()


def keep_choice(key: str, chosen: str) -> bool:
    """Keep which kernel was fastest; whether it is kept for later processes."""
    _CHOSEN[key] = chosen
    return not config.no_cache and folder().put(key, to_bytes((chosen,)))


def kept_choice(key: str) -> str | None:
    """Which kernel was fastest; None if nobody has measured."""
    if key in _CHOSEN or config.no_cache:
        return _CHOSEN.get(key)
    content = folder().get(key)
    try:
        found = None if content is None else from_bytes(content)
    except Unfit:
        return None
    match found:
        case (str(chosen),):
            return chosen
    return None


def key_of_rates(place: str) -> str:
    """What the rates of a device are kept under: the device, the machine it is in."""
    return hashlib.sha256("\0".join(["rates 1", _machine(), place]).encode()).hexdigest()


def keep_rates(key: str, rates: tuple[float, ...]) -> bool:
    """Keep how fast a device is; whether it is kept for later processes."""
    _RATES[key] = rates
    return not config.no_cache and folder().put(key, to_bytes(rates))


def kept_rates(key: str) -> tuple[float, ...]:
    """How fast a device is; () if nobody has measured."""
    if key in _RATES or config.no_cache:
        return _RATES.get(key, ())
    content = folder().get(key)
    try:
        found = () if content is None else from_bytes(content)
    except Unfit:
        return ()
    if isinstance(found, tuple) and all(isinstance(each, float) for each in found):
        return found
    return ()


def is_any_kept() -> bool:
    """Whether it is worth while to make a key."""
    return bool(_KEPT or _PLANS) or (not config.no_cache and folder().folder.is_dir())


def place() -> Path | None:
    """The folder where thresholds are kept; None where they are this process's alone."""
    return None if config.no_cache else folder().folder


def _thresholds(plain: object) -> Thresholds | None:
    match plain:
        case (int(rows), int(longest), int(share), int(mean), int(least)):
            return Thresholds(rows, longest, share, mean, least)
    return None


def _numbers(limits: Thresholds) -> tuple[int, ...]:
    return limits.rows, limits.longest, limits.share, limits.mean, limits.least


@functools.cache
def folder() -> TunedFolder:
    """Its location on disk."""
    return TunedFolder(default_folder() / "tuned", LIMIT)


@functools.cache
def _machine() -> str:
    try:
        cpu = kind_of_cpu()
    except OSError:
        cpu = ""
    return f"{sys.platform} {os.cpu_count()} {cpu}"


_KEPT: dict[str, Tuned] = {}
_PLANS: dict[str, str] = {}
_CHOSEN: dict[str, str] = {}
_RATES: dict[str, tuple[float, ...]] = {}
