"""fk.tune: the fastest of several kernels that give the same, measured once and kept.

    def make(size, each):                                    # the host language enumerates
        @fk.kernel
        def total(xs): ..
        return total

    total = fk.tune(fk.variants(make, size=[4096, 16384], each=[16, 64]), (xs,))
    total(ys)                                                # the fastest one
    print(total)                                             # what each took
    total.best                                               # {"size": 16384, "each": 64}

The choice is stored next to compiled code, for this machine, the kernels' texts and arguments
of about these sizes: a later process, or call, finds it and measures nothing.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from flatweave.base.config import config
from flatweave.base.errors import ArgumentError, KernelError, UserError
from flatweave.base.pretty import duration, table
from flatweave.base.records import record
from flatweave.frontend.values.array import kind_of
from flatweave.frontend.values.tree import flatten
from flatweave.kernel.called import Kernel
from flatweave.kernel_ir.units import print_unit
from flatweave.runtime.tuned import keep_choice, kept_choice, key_of_kernels

BUDGET = 10.0
ROUNDS = 15
SURE, HOPELESS = 3, 3.0
"""After SURE rounds, a variant that took HOPELESS times as long as the best is not run again."""


@record
class Variant:
    """A kernel, and the values that it was made with."""

    kernel: Kernel
    values: Mapping[str, Any]

    def __str__(self) -> str:
        said = ", ".join(f"{name}={value}" for name, value in self.values.items())
        return said or self.kernel.__name__


def variants(make: Callable[..., Kernel], **values: Iterable[Any]) -> list[Variant]:
    """The kernels that `make` gives for all combinations of these values.

    Types: `make: (..) -> Kernel, values: lists -> list of Variant`. Raises what `make` raises.
    Source: Flatweave.

        >>> [each.values for each in fk.variants(lambda q: fk.kernel(fk.reverse), q=[1, 2])]
        [{'q': 1}, {'q': 2}]
    """
    chosen = (
        dict(zip(values, each, strict=True)) for each in itertools.product(*values.values())
    )
    return [Variant(make(**each), each) for each in chosen]


class Tuned:
    """The fastest of some kernels; calling it calls that one.

    Source: Flatweave.

        >>> copies = fk.variants(lambda q: fk.kernel(fk.reverse, threads=q), q=[32, 64])
        >>> fk.tune(copies, (np.arange(4),), budget=0.01)(np.arange(4))
        Array([3, 2, 1, 0], dtype=int64)
    """

    def __init__(self, chosen: Variant, said: str, rows: Sequence[tuple[str, str]]) -> None:
        self.kernel = chosen.kernel
        self.best = dict(chosen.values)
        self.said = said
        self.rows = list(rows)
        self.chosen = str(chosen)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.kernel(*args, **kwargs)

    def __str__(self) -> str:
        head = f"{self.kernel.__name__}: {self.chosen}, {self.said}"
        return f"{head}\n{table(['variant', 'time'], self.rows)}" if self.rows else head


def tune(
    kernels: Iterable[Kernel | Variant], args: tuple[Any, ...], budget: float = BUDGET, *,
    again: bool = False,
) -> Tuned:  # fmt: skip
    """The fastest of some kernels on these arguments, measured for at most `budget` seconds.

    They must give the same: integers exactly, floats up to the rounding of another order. A variant
    that these arguments do not suit, as where a length is no multiple of its parts, is passed over.
    With `again` the stored choice is measured anew. Raises KernelError where results differ, and
    the first variant's error if all raise.

    Types: `kernels: list of Kernel, args: a tuple, budget: seconds -> Tuned`. Source:
    Flatweave.

        >>> def doubled(threads):
        ...     return fk.kernel(lambda xs: fk.map(lambda x: x * 2, xs), threads=threads)
        >>> xs = (np.arange(4),)
        >>> fastest = fk.tune(fk.variants(doubled, threads=[32, 64]), xs, budget=0.01)
        >>> fastest(*xs)
        Array([0, 2, 4, 6], dtype=int64)
    """
    found = [_variant(kernel) for kernel in kernels]
    if not found or not isinstance(args, tuple):
        raise ArgumentError.here(
            "tune got no kernels." if not found
            else f"tune needs the arguments as a tuple, got {kind_of(args)}.",
            "fk.tune([one, two], (xs,)).",
        )
    target = found[0].kernel.target or config.target
    texts = [_text(variant, args) for variant in found]
    digests = [hashlib.sha256(text.encode()).hexdigest() for text in texts]
    key = key_of_kernels([*digests, target, *map(_kind, flatten(args)[0])])
    kept = None if again else kept_choice(key)
    if kept in digests and texts[digests.index(kept)]:
        return Tuned(found[digests.index(kept)], "as measured before", ())
    trial = _Trial(found, args)
    trial.run(time.perf_counter() + budget)
    best = min(trial.seconds, key=lambda k: trial.seconds[k])
    stays = keep_choice(key, digests[best])
    return Tuned(
        found[best], "kept from now on" if stays else "for this process", trial.rows(found)
    )


def _variant(kernel: Any) -> Variant:
    if isinstance(kernel, Variant):
        return kernel
    if isinstance(kernel, Kernel):
        return Variant(kernel, {})
    raise ArgumentError.here(
        f"tune chooses among kernels, got {kind_of(kernel)}.",
        "Make them with @fk.kernel, or by fk.variants(make, ..).",
    )


def _text(variant: Variant, args: tuple[Any, ...]) -> str:
    """What a variant is for these arguments; nothing where they do not suit it."""
    try:
        program = variant.kernel.traced(*args)
    except UserError:
        return ""
    return f"{program.threads}\n{print_unit(program.unit)}"


def _kind(leaf: Any) -> str:
    """The dtype and shape of an argument: what is fastest, and what suits, depends on both."""
    return f"{np.asarray(leaf).dtype} {np.shape(leaf)}"


class _Trial:
    """Variants that run alternately on the same arguments; the fastest of several rounds counts."""

    def __init__(self, found: Sequence[Variant], args: tuple[Any, ...]) -> None:
        self.args = args
        self.found = found
        self.seconds: dict[int, float] = {}
        self.refused: dict[int, UserError] = {}

    def run(self, until: float) -> None:
        """A first round, which compiles and compares, then others until that time."""
        self._compare()
        if not self.seconds:
            raise next(iter(self.refused.values()))
        for turn in range(ROUNDS):
            for k in list(self.seconds):
                best = min(self.seconds.values())
                if turn >= SURE and self.seconds[k] > HOPELESS * best:
                    continue
                if turn and time.perf_counter() > until:
                    return
                begin = time.perf_counter()
                self.found[k].kernel(*self.args)
                self.seconds[k] = min(self.seconds[k], time.perf_counter() - begin)

    def _compare(self) -> None:
        first: Any = None
        for k, variant in enumerate(self.found):
            try:
                result = variant.kernel(*self.args)
            except KernelError:
                raise
            except UserError as error:
                self.refused[k] = error
                continue
            self.seconds[k] = math.inf
            if first is None:
                first = (variant, result)
            elif not _agree(first[1], result):
                raise KernelError.here(
                    f"{variant} gives another result than {first[0]}, on the same arguments.",
                    "Run both in the simulator, kernel.simulate(*args): it finds races.",
                )

    def rows(self, found: Sequence[Variant]) -> list[tuple[str, str]]:
        """Each variant, and how long it took or why it did not run."""
        return [
            (
                str(variant),
                duration(self.seconds[k]) if k in self.seconds
                else str(self.refused[k]).splitlines()[0],
            )
            for k, variant in enumerate(found)
        ]  # fmt: skip


def _agree(one: Any, other: Any) -> bool:
    """Whether two results are the same, floats up to the rounding of another order."""
    ones, others = flatten(one)[0], flatten(other)[0]
    return len(ones) == len(others) and all(map(_is_same, ones, others))


def _is_same(one: Any, other: Any) -> bool:
    a, b = np.asarray(one), np.asarray(other)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if not np.issubdtype(a.dtype, np.floating):
        return bool(np.array_equal(a, b))
    near = float(np.sqrt(np.finfo(a.dtype).eps))
    finite = np.abs(a[np.isfinite(a)])
    scale = float(finite.max()) if finite.size else 0.0
    return bool(np.allclose(a, b, rtol=near, atol=near * scale, equal_nan=True))
