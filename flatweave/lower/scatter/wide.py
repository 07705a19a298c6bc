"""Sums of f32 that are f64 while elements are added, where they meet in the destination itself.

    dest: f32[extent]                            wide: f64[extent] = dest
    dest[place] add= value       ==>             wide[place] add= value
                                                 dest = wide

A sum of n elements in sequence is wrong by up to n roundings: 10^7 equal f32 at one index are wrong
by 7 %, 10^6 by 1 %. Sums in f64 copy the destination twice, which would slow down a loop that
updates a few of many indices. So a copy may move at most one cache line of bytes for each element:
2^22 elements are added to 2^24 indices in f64, fewer in f32. Private copies hold f64 anyway.

ms of CPU time for f32, added to f32 and to f64, 2 threads of a Zen 5, below the line of a Zen 4:

    elements    indices   equally likely    sorted
    2^24        2^24      108  155          15.9  31.0
    2^24        2^22       65   81          14.4  19.3
    2^22        2^22       17   25           4.2   8.4
    2^20        2^20      4.2  6.9           1.0   2.1
    ------------------------------------------------------
    2^24        2^24      110  162            22    38
    2^23        2^24       60   90            10    29
    2^22        2^24       32   55             9    27
    2^21        2^24       22   40             8    30
    2^20        2^22      9.0   14           2.8   7.4
"""

from __future__ import annotations

from flatweave.base.dtypes import f32, f64
from flatweave.kernel_ir.host import Alloc, Free, Role
from flatweave.lower.scatter.scattering import Division, widened
from flatweave.terms.build import FALSE, TRUE, Builder, index
from flatweave.terms.control import If
from flatweave.terms.syntax import Atom, Var

FEW = 1 << 12
"""So many elements are added to f32: their sum is wrong by 10^-4 at most."""


def launch(host: Builder, division: Division) -> None:
    """The launches of a division, which adds to f64 where that pays."""
    s = division.scattering
    many: Atom = FALSE
    if division.writes_destination and widened(s.op) is not None:
        more = host.apply("gt", s.total, index(FEW))
        lines = host.mul(s.total, index(s.lowering.machine.line_bytes))
        copied = host.mul(s.extent, index(f32.bytes + f64.bytes))
        many = host.apply("and", more, host.apply("ge", lines, copied))
    if many == FALSE:
        return division.launch(host)
    if many == TRUE:
        return _launch_wide(host, division, Role.PASS)
    wide, narrow = host.inner(), host.inner()
    _launch_wide(wide, division, Role.VARIANT)
    division.launch(narrow)
    host.emit(If(many, wide.close([], []), narrow.close([], [])))


def _launch_wide(host: Builder, division: Division, role: Role) -> None:
    """The same division into buffers of wider sums, between two copies."""
    s, lowering = division.scattering, division.scattering.lowering
    dest: list[Var] = []
    pairs: list[tuple[Var, Var]] = []
    for buffer, dtype, sum_ in zip(s.dest, s.held, widened(s.op) or s.held, strict=True):
        dest.append(buffer)
        if sum_ != dtype:
            dest[-1] = host.emit(Alloc(sum_, s.extent, lowering.site()), "sums")[0]
            pairs.append((buffer, dest[-1]))
    for buffer, sums in pairs:
        lowering.copy_elements(host, buffer, sums, s.extent)
    type(division)(s.into(dest, role), division.when).launch(host)
    for buffer, sums in pairs:
        lowering.copy_elements(host, sums, buffer, s.extent)
        host.emit(Free(sums))
