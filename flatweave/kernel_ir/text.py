"""Units as text and back: the host function, then the kernels.

    host(n: i64, xs: global f32) =>                kernel double(n: i64, xs: global f32) warps 4 =>
        launch double 8 [n, xs]                        b: i64 = block_index
        in n                                           ..

Behind a kernel with `inner 2` stand the two that it launches.
"""

from __future__ import annotations

from flatweave.kernel_ir import hierarchy, memory_ops, warp_ops  # noqa: F401  known by name
from flatweave.kernel_ir import host as of_host  # noqa: F401
from flatweave.kernel_ir.syntax import Kernel, Unit
from flatweave.terms.parse import Parser
from flatweave.terms.print import print_function
from flatweave.terms.syntax import Lambda


def print_unit(unit: Unit, canonical: bool = False) -> str:
    """The text of a unit, all kernels written."""
    host = print_function("host", unit.host, canonical=canonical)
    kernels = unit.complete().kernels
    return "\n".join([host, *(print_kernel(kernel, canonical) for kernel in kernels)])


def print_kernel(kernel: Kernel, canonical: bool = False) -> str:
    """The text of a kernel and of those that it launches; one warp goes without saying."""
    fn = Lambda(kernel.params, kernel.body.lets, kernel.body.results)
    label = f"warps {kernel.warps}" if kernel.warps != 1 else ""
    if kernel.inner is not None:
        label = f"inner {len(kernel.inner)}"
    text = print_function(f"kernel {kernel.name}", fn, label, canonical)
    return "\n".join([text, *(print_kernel(inner, canonical) for inner in kernel.inner or ())])


def parse_unit(text: str) -> Unit:
    """The unit that a text stands for."""
    parser = Parser(text)
    parser.expect("host")
    host = parser.rest_of_function(parser.header())
    kernels = []
    while parser.accept("kernel"):
        kernels.append(_kernel(parser))
    parser.expect("")
    return Unit(host, tuple(kernels))


def _kernel(parser: Parser) -> Kernel:
    """The text after the word `kernel`."""
    parser.scope = {}
    name = parser.word()
    params = parser.header()
    warps = int(parser.take()) if parser.accept("warps") else 1
    count = int(parser.take()) if parser.accept("inner") else None
    fn = parser.rest_of_function(params)
    inner = None if count is None else tuple(_next_kernel(parser) for _ in range(count))
    return Kernel(name, fn.params, Lambda((), fn.lets, fn.results), warps, inner)


def _next_kernel(parser: Parser) -> Kernel:
    parser.expect("kernel")
    return _kernel(parser)
