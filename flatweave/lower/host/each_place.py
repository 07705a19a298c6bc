"""One launch over the places of an array: for what is done before and after a sweep."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flatweave.base.dtypes import DType
from flatweave.kernel_ir.host import Role
from flatweave.lower.host.context import Lowering
from flatweave.lower.host.places import place_blocks, write_places
from flatweave.lower.kernel.builder import KernelBuilder
from flatweave.terms.build import Builder
from flatweave.terms.syntax import Atom, Let

Act = Callable[[Builder, KernelBuilder, Atom], None]


def each_place(
    lowering: Lowering, let: Let, suffix: str, role: Role, extent: Atom, dtypes: Sequence[DType],
    act: Act,
) -> None:  # fmt: skip
    """Launch a kernel that acts at 0, 1, .. below `extent`, on elements of these dtypes."""
    kernel = lowering.kernel(let, suffix)
    write_places(
        lowering.machine, kernel, kernel.capture(extent), dtypes, lambda b, i: act(b, kernel, i)
    )
    lowering.launch(kernel, place_blocks(lowering.host, lowering.machine, extent, dtypes), role)
