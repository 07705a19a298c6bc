"""Units written as text for tests: a host that allocates results, launches one kernel and frees."""

from flatweave.kernel_ir.units import parse_unit, verify


def unit(text, checked=True):
    """The unit that a text stands for, verified."""
    made = parse_unit(text)
    if checked:
        verify(made)
    return made


def kernel_of(text):
    """One kernel alone."""
    return parse_unit(f"host() => in 1\n{text}").kernels[0]


def one_kernel(body, *, shared="", warps=1, grid="1", count="n", xs="i64", checked=True):
    """out = alloc i64 count; the kernel `k` with n, xs and out in scope runs on `grid` blocks."""
    return unit(
        f"""
        host(n: i64, xs: global {xs}) =>
            out: global i64 = alloc i64 {count} 0
            launch k {grid} [n, xs, out]
            in out

        kernel k(n: i64, xs: global {xs}, out: global i64) warps {warps} =>
            {shared}
            {body}
        """,
        checked,
    )
