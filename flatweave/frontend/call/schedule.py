"""fw.schedule: the variants that programs take, said by the user.

    with fw.schedule(permute="partition"):
        total(idx, vals)              compiled for it, beside what is compiled without
    with fw.schedule("sweep t_9 ..."):
        total(idx, vals)              its sweep t_9 runs by this plan
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from flatweave.base.config import checked, config
from flatweave.base.errors import ArgumentError
from flatweave.base.records import replace
from flatweave.base.schedule import (
    Schedule,
    expand_variant,
    permute_variant,
    plans_of_sweeps,
    stencil_variant,
    version_variant,
)
from flatweave.base.schedule import seq_factor as read_seq_factor
from flatweave.base.source import user_location
from flatweave.frontend.values.scope import innermost


def schedule(
    text: str | None = None, *, expand: str | None = None, permute: str | None = None,
    version: str | None = None, seq_factor: int | None = None, stencil: str | None = None,
) -> AbstractContextManager[None]:  # fmt: skip
    """Force how work is divided inside a `with`, for this thread.

    `expand` is "per-source", "per-warp", "per-block", "16-per-block" (any number) or "balanced"; on
    devices the last two also with "-search" behind them, by which each lane finds its source; the
    others with "-random", for an order without pattern;
    `permute`, which goes for scatter, reduce_by_index and histogram, too, is "owner", "private",
    "partition", "shared", "shared-atomic", "sorted", "atomic", "cas" or "locks"; `version` says how
    the rows of a nest are done: "by-row", each from its first step to its last by one thread, or
    "flat", every step for all rows.
    `seq_factor` is how many elements of a block each of its threads takes, on a CPU each lane of a
    step: a small one makes many blocks. `stencil` says for devices how elements around others are
    read: in "tiles" that each block puts into its shared memory, or through the "caches". None
    leaves it as it is outside, where sizes decide.
    `text` has plans of sweeps of one program, by name, as `stages(..).text["plan"]` prints them:
    change some of it. What a sweep does not allow is an error with the reason; only functions with
    `deterministic=False` group floats otherwise.
    Raises ArgumentError for other names, and calls raise it for a variant that cannot do them.

    Types: names of variants `->` what `with` takes.

        >>> with fw.schedule(permute="owner"): print(fw.histogram(2, [0, 1, 1]))
        [1 2]
    """
    if innermost() is not None:
        raise ArgumentError(
            "fw.schedule inside a function that is being compiled: a program has one schedule.",
            where=user_location(),
            remedy="Write the `with` around the call.",
        )
    wished = config.schedule
    try:
        if text is not None:
            checked(plans_of_sweeps, text, f"{text!r:.60}")
            wished = replace(wished, text=plans_of_sweeps(text))
        if expand is not None:
            checked(expand_variant, expand, f"{expand=}")
            wished = replace(wished, expand=expand)
        if permute is not None:
            checked(permute_variant, permute, f"{permute=}")
            wished = replace(wished, permute=permute)
        if version is not None:
            checked(version_variant, version, f"{version=}")
            wished = replace(wished, version=version)
        if seq_factor is not None:
            checked(read_seq_factor, seq_factor, f"{seq_factor=}")
            wished = replace(wished, seq_factor=seq_factor)
        if stencil is not None:
            checked(stencil_variant, stencil, f"{stencil=}")
            wished = replace(wished, stencil=stencil)
    except ArgumentError as failure:
        failure.where = user_location()
        raise
    return config.scoped(schedule=wished)


def in_force(*, deterministic: bool = True) -> Schedule:
    """The schedule for what is compiled here and now."""
    return replace(config.schedule, deterministic=deterministic)
