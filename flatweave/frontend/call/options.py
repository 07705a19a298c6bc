"""What callers ask: where calls run, by which variants, and which arguments they may overwrite.

    with fw.on(client): mean(ticks)        on the workers of a dask.distributed client
    mean(ticks)                            here, one chunk after the other
    with fw.schedule(permute="partition"):
        total(idx, vals)                   compiled for it, separately from other calls
    with fw.schedule("sweep t_9 ..."):
        total(idx, vals)                   its sweep t_9 runs by this plan

    step = fw.jit(f, donate="xs")
    ys = step(xs)                                       written where xs was
    xs + 1                                              EscapedArrayError: xs was donated to step
    donated = claim([(xs, 0)], flat, hidden, "step")    xs can be used no more
    donated.flags                                       [True]: nobody else sees its memory

An array of ours is written to only where nobody else holds its memory, so that no array ever
changes for who still has it. NumPy's is written to where it can be: its owner said so. An array
that was donated becomes a `DonatedArray` in place: whoever holds it finds out.
"""

from __future__ import annotations

import contextlib
import ctypes
import re
import sys
import weakref
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from flatweave.base.config import checked, config
from flatweave.base.errors import ArgumentError, EscapedArrayError
from flatweave.base.locks import Lock
from flatweave.base.records import replace
from flatweave.base.schedule import VARIANTS, Schedule, schedule_of
from flatweave.base.source import Location, user_location
from flatweave.frontend.values.array import HostArray, HostComplex, kind_of
from flatweave.frontend.values.elsewhere import DeviceArray
from flatweave.frontend.values.exchange import Values
from flatweave.frontend.values.number_formats import is_complex
from flatweave.frontend.values.scope import innermost
from flatweave.runtime.calls import buffer_of
from flatweave.runtime.devices.arrays import ARRAYS, Resident
from flatweave.runtime.execute import Owner, owners_of
from flatweave.runtime.lazy_import import opened

UNITS = {
    "": 1, **{f"{unit}i": 1 << 10 * k for k, unit in enumerate("KMGT", 1)},
    **{unit: 1000**k for k, unit in enumerate("KMGT", 1)},
}  # fmt: skip
PLACE: ContextVar[Any] = ContextVar("place", default=None)
"""Where chunks are computed; None: in this process."""


def on(
    client: Any = None, *, memory: int | str | None = None,
    folder: str | PathLike[str] | None = None, progress: bool = False,
) -> AbstractContextManager[None]:
    """Within it, functions that are given `Chunked` arrays run there; others run as ever.

    `client` is one of `dask.distributed`, of the extra `flatweave[cluster]`: chunks are computed by
    the workers of its cluster. Without one they are computed here, in order, within
    `memory`, a number of bytes or "2 GiB": results of chunks that are more than a quarter of it go
    to files in `folder`. `progress` shows how far a call has come, with a bar for each step, which
    needs rich, on a cluster with Dask's own bar. Types: a client, a size `->` what `with` takes.
    Raises ArgumentError for anything else. Source: `dask.distributed.Client`.

        >>> xs = fw.Chunked.cut(np.arange(9), 4)
        >>> with fw.on(memory="1 GiB"): fw.jit(lambda x: fw.sum(x))(xs)
        Array(36, dtype=int64)
    """
    if client is None:
        in_process = opened("here").InProcess
        return _at(in_process(memory=_bytes(memory), folder=folder, progress=progress))
    if memory is not None or folder is not None:
        raise ArgumentError.here(
            "on takes a client, or memory and folder: the memory of workers is bounded by Dask.",
            'Give the cluster its bound: LocalCluster(memory_limit="2 GiB").',
        )
    if not all(hasattr(client, name) for name in ("map", "scatter", "gather")):
        raise ArgumentError.here(
            f"on needs a client of dask.distributed, got {kind_of(client)}.",
            "Make one: from distributed import Client; client = Client().",
        )
    return _at(opened("dask").OnDask(client, progress=progress))


def _bytes(memory: int | str | None) -> int | None:
    """A size, as a number or as text with a unit."""
    if memory is None:
        return None
    found = re.fullmatch(r"\s*([0-9.]+)\s*([KMGT]i?)?B?\s*", str(memory))
    try:
        size = int(float(found[1]) * UNITS[found[2] or ""]) if found else 0
    except ValueError:
        size = 0
    if size < 1:
        raise ArgumentError.here(
            f"memory of on must be a number of bytes, or a size as text, got {memory!r}.",
            'For instance memory="2 GiB".',
        )
    return size


@contextlib.contextmanager
def _at(place: Any) -> Iterator[None]:
    token = PLACE.set(place)
    try:
        yield
    finally:
        PLACE.reset(token)
        place.end()


def schedule(
    text: str | None = None, *, expand: str | None = None, permute: str | None = None,
    version: str | None = None, seq_factor: int | None = None, tape: int | None = None,
) -> AbstractContextManager[None]:  # fmt: skip
    """Force how work is divided inside a `with`, for this thread.

    `expand` is "per-source", "per-warp", "per-block", "16-per-block" (any number) or "balanced"; on
    devices the last two may end in "-search": each lane searches for its source; the
    others may end in "-random", for a pseudo-random order;
    `permute`, which goes for scatter, reduce_by_index and histogram, too, is "owner", "private",
    "partition", "shared", "shared-atomic", "sorted", "atomic" or "cas"; `version` says how
    the rows of a nest are done: "by-row", each from its first step to its last by one thread, or
    "flat", every step for all rows.
    `seq_factor` is how many elements of a block each of its threads takes, on a CPU each lane of a
    step: a small one makes many blocks. None leaves it as it is outside, where sizes decide.
    `tape` is the most bytes of states that the gradient of a loop of the program saves; where there
    are more, it computes states again.
    `text` has variants by name, "permute=owner,store=plain", as the variable FLATWEAVE_SCHEDULE, or
    plans of sweeps of one program, as `stages(..).text["plan"]` prints them: change some of it.
    A plan that a sweep does not allow raises an error with the reason; only functions with
    `deterministic=False` group floats otherwise.
    Raises ArgumentError for other names, and calls raise it for a variant that cannot do them.

    Types: names of variants `->` what `with` takes. Source: Halide's schedules.

        >>> with fw.schedule(permute="owner"): print(fw.histogram(2, [0, 1, 1]))
        [1 2]
    """
    if innermost() is not None:
        raise ArgumentError.here(
            "fw.schedule inside a function that is being compiled: a program has one schedule.",
            "Write the `with` around the call.",
        )
    options = {
        "expand": expand, "permute": permute, "version": version, "seq_factor": seq_factor,
        "tape": tape,
    }  # fmt: skip
    wished = config.schedule
    try:
        if text is not None:
            named: Any = checked(schedule_of, text, f"{text!r:.60}")
            given = {name: getattr(named, name) for name in (*VARIANTS, "text")}
            said = {name: value for name, value in given.items() if value not in (None, "")}
            wished = replace(wished, **said)
        for name, value in options.items():
            if value is not None:
                found: Any = checked(VARIANTS[name], value, f"{name}={value!r}")
                wished = replace(wished, **{name: found})
    except ArgumentError as failure:
        failure.where = user_location()
        raise
    return config.scoped(schedule=wished)


def in_force(*, deterministic: bool = True) -> Schedule:
    """The schedule for what is compiled here and now."""
    return replace(config.schedule, deterministic=deterministic)


class Donated(NamedTuple):
    """The donations of a call: whether the memory of each array that it may donate is writable,
    and all arguments that are kept."""

    flags: list[bool]
    kept: list[Any]


_VALUES: Any = HostArray.__dict__["_values"]  # where a call is kept that an array was donated to
_RESIDENT: Any = DeviceArray.__dict__["resident"]


def mark_donated(array: HostArray, who: str, where: Location | None) -> None:
    """Let nobody use an array from now on, as it was donated to a call of `who`."""
    if isinstance(array, DonatedArray | DonatedDeviceArray):
        raise _used(array)
    if isinstance(array, DeviceArray):
        array.__class__ = DonatedDeviceArray
        _RESIDENT.__delete__(array)
    else:
        array.__class__ = DonatedArray
    _VALUES.__set__(array, (who, where))


class DonatedArray(HostComplex):
    """An array of the host that was donated to a call."""

    __slots__ = ()

    @property
    def _values(self) -> Any:  # type: ignore[override]
        raise _used(self)

    def _repr_html_(self) -> None:
        """Nothing but the text."""

    def __repr__(self) -> str:
        return _shown(self)

    __str__ = __repr__


class DonatedDeviceArray(DeviceArray):
    """An array on a device that was donated to a call."""

    __slots__ = ()

    @property
    def resident(self) -> Any:  # type: ignore[override]
        raise _used(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": _shown(self)}

    def _repr_html_(self) -> None:
        """Nothing but the text."""

    def __repr__(self) -> str:
        return _shown(self)

    __str__ = __repr__


def _used(array: HostArray) -> EscapedArrayError:
    who, where = _VALUES.__get__(array)
    place = f" at {where}" if where is not None and where.is_known else ""
    return EscapedArrayError(
        f"an array is used after it was donated to {who}{place}.",
        where=user_location(),
        remedy=f"Go on with what {who} returned. To keep the array, give a copy,"
        " fw.asarray(xs, copy=True), or leave it out of donate.",
        more="donated-arguments",
    )  # fmt: skip


def _shown(array: HostArray) -> str:
    who, where = _VALUES.__get__(array)
    place = f" at {where}" if where is not None and where.is_known else ""
    return f"<an array donated to {who}{place}>"


Leaves = Sequence[tuple[Any, int]]
"""Donated arguments, with their numbers among the program's arrays; -1 for other values."""
_lock = Lock()


def given_of(
    leaves: Sequence[Any], values: Sequence[Any], donated: Collection[int]
) -> list[tuple[Any, int]]:
    """The arguments that a call gives: these of all `leaves`, whose values the program is given."""
    found, number = [], -1
    for k, (leaf, value) in enumerate(zip(leaves, values, strict=True)):
        is_array = is_complex(value) or bool(getattr(value, "shape", ()))
        number += is_array
        if k in donated:
            found.append((leaf, number if is_array else -1))
    return found


def given_plainly(
    args: Sequence[Any], is_given: Callable[[int], bool]
) -> list[tuple[Any, int]]:
    """The same of a call with plain arrays and numbers by position, some of which are given."""
    found, number = [], -1
    for position, arg in enumerate(args):
        is_array = bool(getattr(arg, "shape", ()))
        number += is_array
        if is_given(position):
            found.append((arg, number if is_array else -1))
    return found


def claim(leaves: Leaves, flat: list[Any], hidden: Sequence[Any], who: str) -> Donated:
    """Take what a call gives from its owner. Raises EscapedArrayError for what is gone already."""
    where = user_location()
    with _lock:
        ours = {id(leaf): leaf for leaf, _ in leaves if isinstance(leaf, HostArray)}
        for leaf in ours.values():
            leaf.shape  # noqa: B018  all are there, or none is taken
        for leaf in ours.values():
            mark_donated(leaf, who, where)
    places = [at for at, value in enumerate(flat) if isinstance(value, ARRAYS) and value.ndim]
    donated = [(leaf, places[number]) for leaf, number in leaves if number >= 0]
    flags = [_is_free(leaf, flat, at, hidden) for leaf, at in donated]
    free = {at for (_, at), is_free in zip(donated, flags, strict=True) if is_free}
    kept = [value for at, value in enumerate(flat) if at not in free]
    return Donated(flags, [*kept, *hidden])


def _is_free(leaf: Any, flat: list[Any], at: int, hidden: Sequence[Any]) -> bool:
    """Whether an argument, which the program gets as `flat[at]`, may be written to."""
    if type(flat[at]) is Resident:
        return _is_alone(flat, at, _of_device)
    if not flat[at].size:
        return False
    if not isinstance(leaf, np.ndarray) or not np.may_share_memory(leaf, flat[at]):
        return _is_alone(flat, at, _of_host)
    others = [*flat[:at], *flat[at + 1 :], *hidden]
    return leaf.flags.writeable and not any(
        np.may_share_memory(flat[at], other) for other in others if type(other) is np.ndarray
    )


# -- who holds memory -----------------------------------------------------------------------------


def _of_host(array: Values) -> Values | None:
    """What the memory of an array belongs to."""
    return array.base


def _of_device(array: Resident) -> Any:
    return array.memory


def _holders(flat: list[Any], at: int, behind: Callable[[Any], Any]) -> tuple[list[int], Any]:
    """How many hold an array, and each thing that its memory belongs to; the last of these."""
    found = flat[at]
    counts = [sys.getrefcount(found)]
    while isinstance(found, ARRAYS) and behind(found) is not None:
        found = behind(found)
        counts.append(sys.getrefcount(found))
    return counts, found


def _is_alone(
    flat: list[Any], at: int, behind: Callable[[Any], Any], more: int = 0
) -> bool:
    """Whether nothing but the call, and `more`, holds an array, and nothing but the array its
    memory."""
    counts, last = _holders(flat, at, behind)
    first, others = _ALONE
    if counts[0] != first + more or any(count != others for count in counts[1:]):
        return False
    if behind is _of_device:
        flat[at].forget_copy()
        return bool(flat[at].is_private)
    buffer = ctypes.addressof(last) if isinstance(last, Owner) else buffer_of(last)
    if buffer:
        return owners_of(buffer) == 1
    return isinstance(last, np.ndarray)


def is_alone(held: list[Values], others: int) -> bool:
    """Whether nothing but a list and `others` holds an array, not weakly either, and nothing but
    the array its memory."""
    return not weakref.getweakrefcount(held[0]) and _is_alone(held, 0, _of_host, others)


def _alone() -> tuple[int, int]:
    """The counts of an array that a list holds alone, and of what it is a view of."""
    counts, _ = _holders([np.empty(1)[:]], 0, _of_host)
    return counts[0], counts[1]


_ALONE = _alone()
