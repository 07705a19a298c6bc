"""Copying a buffer on all cores: what an update of an array that is still needed begins with.

The target may have another dtype: sums of f32 are added in f64 (`scatter/wide.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.kernel_ir.op import dtype_in
from flatweave.kernel_ir.syntax import Load, Store
from flatweave.lower.host.places import write_places
from flatweave.lower.kernel.builder import KernelBuilder
from flatweave.lower.machine.machine import Machine
from flatweave.terms.build import Builder
from flatweave.terms.syntax import Atom, Var


def write_copy(machine: Machine, kernel: KernelBuilder, own: Sequence[Var]) -> None:
    """copy(count, source, target): target[i] = source[i], cast to its dtype, for i below count."""
    count, source, target = own
    dtypes = dtype_in(source), dtype_in(target)

    def at(b: Builder, i: Atom) -> None:
        b.emit(Store(target, i, b.cast(b.emit(Load(source, i))[0], dtypes[1])))

    steps = 2 if machine.fixed_width is None else 1
    write_places(machine, kernel, count, [max(dtypes, key=lambda d: d.bytes)], at, steps)
