"""Kernels that may not be needed: written, emitted and compiled when a run first launches them."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from flatweave.base.dtypes import i64
from flatweave.base.errors import CompilerBug
from flatweave.codegen.llvm import unit
from flatweave.lower.kernel_builder import HostScope, KernelBuilder, Sites, to_give
from flatweave.terms.build import Builder, index

IDX = np.array([3, 1, 1, 0])


@pytest.fixture
def compiled(monkeypatch):
    """The texts that go to LLVM."""
    texts = []

    def counting(real):
        def counted(text, **named):
            texts.append(text)
            return real(text, **named)

        return counted

    monkeypatch.setattr(unit, "compile_text", counting(unit.compile_text))
    monkeypatch.setattr(unit, "begin", counting(unit.begin))
    return texts


def lines(texts):
    """How many lines of LLVM there are."""
    return sum(text.count("\n") for text in texts)


def made(stages):
    """The kernels that there is code for."""
    return {name for name, _, there in stages.launched if there}


def on_cpu(f):
    """A function for the cpu target."""
    return fw.jit(f, target="cpu")


def test_a_histogram_compiles_what_it_runs(compiled):
    """Of five kernels: one fills the bins, one adds; each way of adding when sizes ask for it."""
    f = on_cpu(lambda idx: fw.histogram(4, idx))
    assert np.array_equal(f(IDX), [1, 2, 0, 1])

    stages = f.stages(IDX)
    assert len(stages.launched) == 5
    assert len(made(stages)) == 2
    assert sum(text.count("@k_") - text.count("ptr @k_") for text in compiled) == 2
    assert lines(compiled) < lines([stages.text["llvm"]]) / 2

    before = lines(compiled)
    assert np.array_equal(f(np.tile(IDX, 100_000)), [100_000, 200_000, 0, 100_000])
    assert {name.partition("_private")[1:] for name in made(f.stages(IDX))} == {
        ("", ""), ("_private", ""), ("_private", "_all")
    }  # fmt: skip
    after = lines(compiled)
    assert np.array_equal(f(np.tile(IDX, 50_000)), [50_000, 100_000, 0, 50_000])
    assert before < after == lines(compiled)


def test_what_is_likely_to_run_next_is_compiled_with_it(monkeypatch):
    """Sums over the same rows take the same variant: those of the second and the third wait for
    their launches."""
    asked, real = [], unit.make_kernels

    def asking(unit, names, timer):
        asked.append(names)
        return real(unit, names, timer)

    def f(rows):
        a = fw.map(fw.sum, rows)
        b = fw.map(lambda row, x: fw.sum(row * x), rows, a)
        return fw.map(lambda row, x: fw.sum(row - x), rows, b)

    monkeypatch.setattr(unit, "make_kernels", asking)
    rows = fw.ragged(np.arange(60.0), lengths=np.full(20, 3))
    sums = np.arange(60.0).reshape(20, 3).sum(1)
    program = on_cpu(f)
    assert np.allclose(program(rows), sums - 3 * sums * sums)

    (names,) = asked
    assert len(names) == 3
    assert set(names) < made(program.stages(rows))


def test_an_expansion_that_is_scattered(compiled):
    """Eight kernels, of which a run takes two or three."""

    def f(counts, dest):
        values = fw.expand(lambda c: c, lambda c, i: c + i, counts)
        return fw.permute(fw.add, dest, values % 4, values)

    def expected(counts):
        values = np.concatenate([c + np.arange(c) for c in counts])
        return np.bincount(values % 4, values, 4)

    program = on_cpu(f)
    dest = np.zeros(4, np.int64)
    for counts in ([1, 2, 3], [5] * 300, [70_000, 2], [1] * 100_000):
        found = program(np.array(counts), dest)
        assert np.array_equal(found, expected(np.array(counts)))
        if counts == [1, 2, 3]:
            text = program.stages(np.array(counts), dest).text["llvm"]
            assert lines(compiled) < 0.45 * lines([text])


def test_nothing_is_made_for_no_elements(compiled):
    """A launch of no blocks needs no kernel."""
    f = on_cpu(lambda xs: xs * 2)
    assert f(np.zeros(0)).shape == (0,)
    assert not made(f.stages(np.zeros(0)))
    assert np.array_equal(f(np.ones(3)), np.full(3, 2.0))
    assert len(made(f.stages(np.zeros(0)))) == 1


def test_branches_of_the_program_are_made_when_they_are_taken(compiled):
    """All kernels of a branch together."""
    f = on_cpu(lambda p, xs: fw.cond(p, lambda: fw.sum(xs * 3), lambda: fw.sum(fw.cumsum(xs))))
    xs = np.arange(5.0)
    assert float(f(True, xs)) == 30.0
    assert (len(made(f.stages(True, xs))), len(compiled)) == (1, 2)
    unit = f.stages(True, xs).executable.unit
    assert {later.name for later in unit.later if later._made} == made(f.stages(True, xs))
    assert float(f(False, xs)) == float(np.sum(np.cumsum(xs)))
    assert len(compiled) == 3


def test_large_kernels_of_a_branch_are_modules_of_their_own(compiled):
    """LLVM compiles them side by side; small ones share a module."""
    f = on_cpu(lambda xs: fw.sort(xs))
    few, many = np.array([3.0, 1.0, 2.0]), np.roll(np.arange(5000.0), 1)
    assert np.array_equal(f(few), [1.0, 2.0, 3.0])
    assert len(made(f.stages(few))) == 2
    assert np.array_equal(f(many), np.arange(5000.0))
    defined = [text.count("void @k_") for text in compiled if "void @k_" in text]
    assert sum(defined) == len(made(f.stages(few))) > 4
    assert len(defined) > 2 and max(defined) > 1


def test_texts_show_every_kernel_and_cost_nothing():
    """They are the same whenever somebody asks, and whatever has run before."""

    def program():
        return on_cpu(lambda idx, xs: (fw.histogram(4, idx), xs * 2, xs[idx]))

    early, late = program(), program()
    stages = early.stages(IDX, IDX)
    written = {later.name for later in stages.executable.unit.later if later._made is not None}
    assert written == made(stages)  # those that run whatever happens
    text = early.stages(IDX, IDX).text
    late(np.tile(IDX, 100_000), IDX)
    late(IDX, IDX)
    assert "kernel" in text and "llvm" in text and "asm" not in text
    for stage in ("kernel", "llvm", "asm"):
        assert text[stage] == late.stages(IDX, IDX).text[stage]
    assert all(f"kernel {name}(" in text["kernel"] for name, *_ in early.stages(IDX, IDX).launched)


def test_time_goes_on():
    """The seconds of a compilation are those of everything compiled."""
    f = on_cpu(lambda xs: xs * 2 + 0.5)
    before = dict(f.stages(IDX).seconds)
    f(IDX)
    after = f.stages(IDX).seconds
    assert all(after[stage] > before[stage] for stage in ("lower", "emit", "compile"))
    assert "not yet" in str(f.stages(IDX))


def test_errors_of_kernels_made_later_have_their_place():
    """Also those of a kernel that is made after others."""
    f = on_cpu(lambda xs, i, j: (xs[i] * 2, xs[j] * 3))
    xs = np.arange(3.0)
    with pytest.raises(IndexError, match="index 7 .* 3"):
        f(xs, np.array([0]), np.array([7]))
    with pytest.raises(IndexError, match="index 9 .* 3"):
        f(xs, np.array([9]), np.array([7]))


def test_switches_are_those_of_the_compilation(monkeypatch):
    """A kernel made later is made for the CPU that the program was compiled for."""
    seen = []
    real = unit.emit_kernels

    def emit(kernels, isa):
        seen.append(isa.name)
        return real(kernels, isa)

    monkeypatch.setattr(unit, "emit_kernels", emit)
    with config.scoped(cpu="x86-64-v2" if unit.here().name.startswith("a") else "native"):
        here = unit.here().name
        stages = on_cpu(lambda xs: xs * 5 + 0.25).stages(IDX)
    found = stages.executable.run([len(IDX), IDX])
    assert seen == [here]
    assert np.array_equal(found[-1], IDX * 5 + 0.25)


def test_a_kernel_made_later_has_what_it_was_given():
    """Sums with constants are made anew; anything else that it asks for is our mistake."""
    host = Builder()
    n, m = host.param("n", i64), host.param("m", i64)
    shifted = host.add(n, index(1))
    kernel = KernelBuilder("k", host, HostScope(), 1, Sites(), host.names.fork())
    kernel.give(to_give(host, [host.sub(shifted, index(3)), index(5)]))

    assert kernel.args == [n]
    inside = kernel.capture(shifted)
    assert kernel.body.definition(inside).args == (kernel.params[0], index(1))
    with pytest.raises(CompilerBug, match="k is written later and was not given"):
        kernel.capture(m)


XS = np.array([3.0, -1.0, 2.0, 5.0, -4.0, 0.5, 1.5])
GROUPS = np.array([0, 2, 2, 1, 0, 3, 1])
SINKS = {
    "store": (lambda xs: xs * 2 + fw.sum(xs), XS * 2 + XS.sum()),
    "filter": (lambda xs: fw.filter(lambda x: x > 0, xs), XS[XS > 0]),
    "concat": (lambda xs: fw.concat([xs * 2, fw.cumsum(xs)]), np.r_[XS * 2, np.cumsum(XS)]),
    "scatter": (lambda xs: fw.scatter(xs * 0, fw.asarray(GROUPS), xs),
                np.array([-4.0, 1.5, 2.0, 0.5, 0, 0, 0])),
    "sort": (lambda xs: fw.sort(xs), np.sort(XS)),
    "rows": (lambda xs: fw.ragged(xs, lengths=np.array([3, 0, 4])).sum(),
             np.array([4.0, 0.0, 3.0])),
    "expansion": (lambda xs: fw.expand(lambda x: 2, lambda x, i: x + i, xs),
                  np.repeat(XS, 2) + np.tile([0, 1], 7)),
    "update": (lambda xs: fw.permute(fw.add, xs * 0, fw.asarray(GROUPS), xs),
               np.r_[np.bincount(GROUPS, XS), 0, 0, 0]),
}  # fmt: skip


@pytest.mark.parametrize("name", SINKS)
def test_every_sink_in_a_branch(name):
    """What its kernels need of the host they are given, though they are written later."""
    f, expected = SINKS[name]
    program = on_cpu(lambda p, xs: fw.cond(p, lambda: fw.sum(f(xs) * 1.0), lambda: 0.0))
    assert float(program(False, XS)) == 0.0
    assert not made(program.stages(False, XS))
    assert np.isclose(float(program(True, XS)), expected.sum())


@pytest.mark.parametrize("permute", ["atomic", "cas", "owner", "private", "partition"])
def test_every_way_of_scattering_in_a_branch(permute):
    """Those that are forced, too."""

    def sums(xs):
        return fw.sum(fw.histogram(4, fw.asarray(GROUPS), xs) * fw.iota(4))

    with fw.schedule(permute=permute):
        program = on_cpu(lambda p, xs: fw.cond(p, lambda: sums(xs), lambda: 0.0))
        found = float(program(True, XS))
    assert np.isclose(found, (np.bincount(GROUPS, XS) * np.arange(4)).sum())
