"""How much text a first call compiles: bounds that keep what has been won, program by program.

The modules are those for AVX-512, whatever machine this is: the host's, and one for each group of
kernels of which a run of the simulator launches one. Nothing is compiled.
"""

import numpy as np
import pytest

import flatweave as fw
from flatweave.codegen.llvm.isa.avx512 import Avx512
from flatweave.codegen.llvm.unit import emit_host, emit_kernels
from flatweave.kernel_ir.host import parts_of
from flatweave.lower.machine import CPU_AVX512
from flatweave.lower.program import lower
from flatweave.simulator import run as interp

XS = np.arange(1000.0)
SIZES = np.array([3, 0, 5, 2] * 50)
ROWS = fw.ragged(np.arange(100.0), np.array([0, 30, 31, 100]))


def expand_and_permute(sizes, totals):
    """Each element of an expansion is added at an index."""
    values = fw.expand(lambda size: size, lambda size, i: size + i, sizes)
    return fw.permute(fw.add, totals, values % 4, values)


def softmax(rows):
    """Of each row."""

    def of_row(row):
        powers = fw.exp(row - fw.max(row))
        return powers / fw.sum(powers)

    return fw.map(of_row, rows)


def flat(args):
    """Arguments as the host program takes them: before each array its length."""
    for arg in args:
        arrays = [arg.values, arg.offsets] if isinstance(arg, fw.Ragged) else [arg]
        for array in map(np.asarray, arrays):
            yield from (len(array), array)


def modules(fn, args, monkeypatch):
    """The texts that the first call of a program compiles: the host's, then kernels'."""
    stages = fw.jit(fn, target="cuda").stages(*args)
    unit = lower(stages.executable.program, CPU_AVX512).unit
    launched, launch = set(), interp.launch

    def recorded(kernel, grid, *others):
        launched.update({kernel.name} if grid else ())
        return launch(kernel, grid, *others)

    monkeypatch.setattr(interp, "launch", recorded)
    interp.run(unit, list(flat(args)))
    parts, isa = parts_of(unit.host), Avx512(frozenset(), has_vbmi2=True)
    groups = [group for group in parts.groups if launched & set(group)]
    kernels = [emit_kernels([unit.kernel(name) for name in group], isa)[0] for group in groups]
    return [emit_host(unit, parts, isa), *kernels]


def host_of(module):
    """The host program in its module."""
    return module[module.index("define i64 @fw_main") :]


@pytest.mark.parametrize(
    ("fn", "args", "host_lines", "all_lines"),
    [
        (lambda xs: xs * 2.0 + 1.0, (XS,), 50, 120),
        (lambda xs: fw.cumsum(xs * 2.0), (XS,), 110, 350),
        (lambda xs: fw.filter(lambda x: x > 3, xs), (XS,), 110, 400),
        (lambda i: fw.histogram(4, i), (SIZES % 4,), 125, 485),
        (fw.sort, (np.roll(XS, 1),), 510, 1550),
        (softmax, (ROWS,), 280, 2760),
        (expand_and_permute, (SIZES, np.zeros(4, np.int64)), 385, 1445),
    ],
    ids=["map", "scan", "filter", "histogram", "sort", "softmax", "expand_and_permute"],
)
def test_a_first_call_compiles_few_lines(fn, args, host_lines, all_lines, monkeypatch):
    """Of the host, and of all modules together."""
    texts = modules(fn, args, monkeypatch)

    found = host_of(texts[0]).count("\n"), sum(text.count("\n") for text in texts)
    assert found[0] <= host_lines, found
    assert found[1] <= all_lines, found


def test_arguments_are_stored_once(monkeypatch):
    """The variants of a scatter are launched from one call each, the look at a sample from one, and
    what follows takes the same."""
    host = host_of(modules(expand_and_permute, (SIZES, np.zeros(4, np.int64)), monkeypatch)[0])

    assert host.count("call i1 @fw_launch") == 8
    assert host.count("select i1") >= 4
    assert "phi ptr" not in host  # what the caller keeps is copied, whoever owns it
