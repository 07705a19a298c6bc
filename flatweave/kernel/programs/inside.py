"""A call of a kernel in a jitted function, taken apart: traced arrays, and what is static."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

from flatweave.base.source import user_location
from flatweave.frontend.elements.conversion import cast
from flatweave.frontend.parameters import Picked
from flatweave.frontend.trace.trace import Leaf
from flatweave.frontend.trace.tracers import as_tracer, emit
from flatweave.frontend.values.array import Tracer
from flatweave.frontend.values.scope import current
from flatweave.frontend.values.tree import Tree, flatten, paths, portions, unflatten
from flatweave.kernel_ir.text import print_unit
from flatweave.ops import KERNELS, CallKernel, KernelProgram


class Inside:
    """The leaves of a call's arguments, traced; numbers have the dtypes of a call from outside."""

    def __init__(
        self, who: str, static: Picked, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self.who = who
        self.keywords = tuple(sorted(kwargs))
        self.args = [*args, *(kwargs[name] for name in self.keywords)]
        names = [static.name_at(i) for i in range(len(args))] + list(self.keywords)
        self.static = {i for i, name in enumerate(names) if static.holds(i, name)}
        self.leaves: list[Tracer] = []
        self.names: list[str] = []
        self.trees = []
        for i, value in enumerate(self.args):
            if i in self.static:
                continue
            found, tree = flatten(value)
            self.trees.append(tree)
            self.names += paths(tree, names[i] or f"args{i}")
            self.leaves += [_strong(as_tracer(leaf, f"an argument of {who}")) for leaf in found]

    def described(self) -> list[Leaf]:
        """The leaves as the trace of a kernel sees them."""
        return [
            Leaf(leaf.element, name, f"the call of {self.who}", (0,) * leaf.ndim)
            for leaf, name in zip(self.leaves, self.names, strict=True)
        ]

    def body(self, fn: Callable[..., Any], leaves: list[Any]) -> Any:
        """Call the function on what stands for the leaves."""
        parts = iter(portions(self.trees, leaves))
        trees = iter(self.trees)
        values = [
            value if i in self.static else unflatten(next(trees), next(parts))
            for i, value in enumerate(self.args)
        ]
        count = len(values) - len(self.keywords)
        named = dict(zip(self.keywords, values[count:], strict=True))
        return fn(*values[:count], **named)


def _strong(value: Tracer) -> Tracer:
    return cast(value, value.element) if value.weak else value


def call_program(program: KernelProgram, tree: Tree, leaves: Sequence[Tracer]) -> Any:
    """What a kernel gives for traced arrays, run as it was written."""
    digest = hashlib.sha256(f"{print_unit(program.unit)}{program.plan.results}".encode())
    name = f"{program.name}_{digest.hexdigest()[:12]}"
    KERNELS.setdefault(name, program)
    current().trace.where = user_location()
    args = [atom for leaf in leaves for atom in (*leaf.extents, leaf.atom)]
    found = iter(emit(CallKernel(name, tuple(args))))
    results = []
    for result in program.plan.results:
        for extent in result.extents or ():
            if extent is None:
                current().natural.add(next(found).atom)  # type: ignore[arg-type]
        results.append(next(found))
    return unflatten(tree, results)
