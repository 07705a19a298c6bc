"""The command that shows all stages of a program's calls, and the switches that write them out."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.array_ir.syntax import SWEPT, TRACED, Program, parse_program
from flatweave.base.config import config
from flatweave.base.errors import CompilerBug
from flatweave.passes.rewrite import array_pass
from flatweave.pipeline import PASSES, optimise
from flatweave.terms.syntax import Lambda
from flatweave.tools import show
from tests.shape.tree import ROOT

TOTAL = str(ROOT / "examples" / "total.py")


def squares(xs):
    """One kernel, and an array between it and the host before fusion."""
    return fw.sum(fw.map(lambda x: x * x, xs))


def call():
    """The stages of a call of `squares`, compiled anew."""
    return fw.jit(squares, target="cpu").stages(np.zeros(3))


def test_every_stage_is_shown(capsys):
    """The traced program, the passes that change it, the kernels, the target's text."""
    assert show.main([TOTAL]) == 0
    out = capsys.readouterr().out

    for title in ("total: 1 kernel", "---- array ----", "sweep ----", "---- kernel ----", "llvm"):
        assert title in out


def test_one_stage_is_shown(capsys):
    """A stage or a pass by name, and nothing else."""
    assert show.main([TOTAL, "--stage", "fuse,opencl"]) == 0
    out = capsys.readouterr().out

    assert "fuse ----" in out and "__kernel" in out
    assert "---- kernel ----" not in out and "---- array ----" not in out


def test_a_program_without_compiled_functions_shows_nothing(tmp_path, capsys):
    """The message says what is missing."""
    path = tmp_path / "empty.py"
    path.write_text("x = 1\n")

    assert show.main([str(path)]) == 1
    assert "calls no compiled function" in capsys.readouterr().err


def test_an_unknown_stage_is_refused(capsys):
    """The message lists the stages there are."""
    with pytest.raises(SystemExit):
        show.main([TOTAL, "--stage", "mystery"])
    assert "no stage mystery: there are array, asm" in capsys.readouterr().err


def test_dumps_go_to_a_folder(tmp_path):
    """FLATWEAVE_DUMP=array,fuse,llvm writes a file for each, which tools/opt reads."""
    with config.scoped(dump="array,fuse,llvm", dump_dir=tmp_path / "dumps"):
        call()
    names = sorted(path.name for path in (tmp_path / "dumps").iterdir())

    assert names == ["squares.10.fuse.air", "squares.array.air", "squares.llvm.ll"]
    assert "squares(" in (tmp_path / "dumps" / "squares.array.air").read_text()


def test_dumps_go_to_standard_error(capsys):
    """Without a folder each text stands under its name."""
    with config.scoped(dump="kernel"):
        call()

    assert "---- squares.kernel.kir ----\nhost(" in capsys.readouterr().err


def test_a_compilation_can_stop_after_a_pass():
    """The program is interpreted from there, so that a wrong pass can be found by halving."""
    xs = np.arange(5.0)
    with config.scoped(stop_after="sweep"):
        f = fw.jit(squares, target="cpu")
        assert float(f(xs)) == 30.0
        stages = f.stages(xs)

    assert stages.text["fused"].count("sweep") == 2
    assert "kernel" not in stages.text


def test_times_are_printed(capsys):
    """FLATWEAVE_TIME=1 says how long each stage took."""
    with config.scoped(time=True):
        call()

    assert [line.split()[:2] for line in capsys.readouterr().err.splitlines()] == [
        ["squares:", name] for name in ("passes", "lower", "emit", "compile")
    ]


def test_a_pass_that_breaks_a_rule_is_named():
    """The message says which pass, shows the program before it, and how to replay it."""

    @array_pass(takes=(TRACED,), gives=SWEPT)
    def broken(program):
        fn = PASSES["sweep"](program).fn
        return Program(program.name, Lambda(fn.params, fn.lets[1:], fn.results))

    program = parse_program(call().text["array"])
    with config.scoped(verify=True), pytest.raises(CompilerBug) as failure:
        optimise(program, [broken])

    text = str(failure.value)
    assert "In the pass broken." in text
    assert "before the pass:" in text and "reduce (add f64)" in text
    assert "Replay: python -m flatweave.tools.opt --pass broken" in text
