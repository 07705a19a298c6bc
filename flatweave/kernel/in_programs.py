"""Kernels that a jitted function calls: as elements of arrays, or as separate operations."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

from flatweave.array_ir.syntax import Program
from flatweave.base.plan import Site
from flatweave.base.source import user_location
from flatweave.frontend.elements.broadcasting import cast
from flatweave.frontend.functions.combinators import generate
from flatweave.frontend.jit_arguments import Picked
from flatweave.frontend.trace.trace import Leaf
from flatweave.frontend.trace.tracers import as_tracer, emit
from flatweave.frontend.values.array import Tracer
from flatweave.frontend.values.scope import Scope, current
from flatweave.frontend.values.tree import Tree, flatten, paths, portions, unflatten
from flatweave.kernel.chunks import flatten as one_row
from flatweave.kernel.code import NotElements, Scopes
from flatweave.kernel.pulls import Pull, rows
from flatweave.kernel.pushes import Push
from flatweave.kernel.stores import Memory
from flatweave.kernel.units import as_elements
from flatweave.kernel_ir.units import print_unit
from flatweave.lower.kernel_builder import Sites
from flatweave.ops import KERNELS, CallKernel, Check, KernelProgram
from flatweave.terms.build import Builder
from flatweave.terms.syntax import ArrayType, Atom

# A call of a kernel in a jitted function, decomposed: traced arrays, and static values.


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
        self.weak: list[bool] = []  # which of them are Python numbers
        self.trees = []
        for i, value in enumerate(self.args):
            if i in self.static:
                continue
            found, tree = flatten(value)
            self.trees.append(tree)
            self.names += paths(tree, names[i] or f"args{i}")
            traced = [as_tracer(leaf, f"an argument of {who}") for leaf in found]
            self.weak += [leaf.weak for leaf in traced]
            self.leaves += [cast(leaf, leaf.element) if leaf.weak else leaf for leaf in traced]

    def described(self) -> list[Leaf]:
        """The leaves as the trace of a kernel sees them."""
        return [
            Leaf(leaf.element, name, f"the call of {self.who}", (0,) * leaf.ndim, weak=weak)
            for leaf, name, weak in zip(self.leaves, self.names, self.weak, strict=True)
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


def call_program(program: KernelProgram, tree: Tree, leaves: Sequence[Tracer]) -> Any:
    """What a kernel gives for traced arrays, run as it was written."""
    trace = current().trace
    trace.where = user_location()
    if program.tried is not None:
        trace.unproven.append(trace.where)
    args = [atom for leaf in leaves for atom in (*leaf.extents, leaf.atom)]
    found = iter(emit(CallKernel(_known_as(program), tuple(args))))
    results = []
    for result in program.plan.results:
        for extent in result.extents or ():
            if extent is None:
                current().natural.add(next(found).atom)  # type: ignore[arg-type]
        results.append(next(found))
    return unflatten(tree, results)


def program_of(kernel: KernelProgram) -> Program:
    """A program that does nothing else than to call a kernel. Its types say nothing of extents,
    which are numbers among its parameters."""
    b, where = Builder(), user_location()
    b.where = where
    params = [
        b.param("x", ArrayType(param.dtype, ()) if param.is_array else param.dtype)
        for param in kernel.plan.params
    ]
    results = b.emit(CallKernel(_known_as(kernel), tuple(params)))
    return Program(kernel.name, b.close(params, results), (where,))


def _known_as(kernel: KernelProgram) -> str:
    """The name of a kernel in programs."""
    text = f"{print_unit(kernel.unit)}{kernel.plan.results}"
    if kernel.tried is not None:
        text += print_unit(kernel.tried)
    name = f"{kernel.name}_{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    KERNELS.setdefault(name, kernel)
    return name


# A kernel called in a jitted function: as elements of arrays, where it is nothing else.
#
# A kernel whose arrays are pulled, or pushed by threads and blocks of which each computes its
# element separately, defines an element for every index. So it becomes a `generate` of the
# array language, which fuses with what is around it. Where it stores, waits or updates,
# NotElements is raised.


class Elements:
    """Elements of arrays that are written in the trace of a jitted function."""

    def __init__(self, scope: Scope, checks: bool) -> None:
        self.scope = scope
        self.checks = checks
        self.sites = Sites()
        self._scopes = Scopes()

    def scope_of(self, b: Builder) -> Scope:
        """The scope whose code goes to a builder."""
        return self._scopes.of(b)

    def must(self, scope: Scope, holds: Atom, site: Site, values: tuple[Atom, Atom]) -> bool:
        """A check of a kernel as one of the program; what fails goes on with an index of 0."""
        home = scope.check_home((holds, *values))
        if not home.is_checked(holds):
            home.checked.add(holds)
            home.emit(Check(holds, site.kind, values[: site.count], site.message))
        return False


def fused(body: Callable[[list[Any]], Any], args: Sequence[Tracer], checks: bool = True) -> Any:
    """What a kernel's function gives for traced arrays, as arrays of the jitted function.

    Raises NotElements, with nothing emitted, where the kernel is more than its elements.
    """
    scope = current()
    restore = scope.snapshot()
    made: Any = scope.trace
    made.elements = Elements(scope, checks)
    try:
        found, tree = flatten(body([_argument(arg) for arg in args]))
        return unflatten(tree, [_result(value) for value in found])
    except NotElements:
        restore()
        raise
    finally:
        del made.elements


def _argument(arg: Tracer) -> Any:
    """An array as a pull array, of rank n as one of pull arrays; a number as it is."""
    if not arg.ndim:
        return arg
    return rows(arg.shape, lambda *at: arg[at])


def _result(value: Any) -> Any:
    if isinstance(value, Memory):
        raise NotElements
    if not isinstance(value, Pull | Push):
        return value
    array = as_elements(value)
    shape, flat = _shape(array)
    if len(shape) == 1:
        return generate(shape[0], flat.at)
    return generate(shape, lambda *at: _at(array, at))


def _at(array: Any, at: Sequence[Any]) -> Any:
    for i in at:
        array = array.at(i)
    return array


def _shape(array: Pull) -> tuple[tuple[Any, ...], Pull]:
    """The extents of an array of arrays, to its numbers."""
    restore = current().snapshot()
    element = array.at(0)
    restore()
    if not isinstance(element, Pull):
        return (array.length,), array
    inner, _ = _shape(element)
    return (array.length, *inner), one_row(array)
