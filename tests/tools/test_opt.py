"""The command that replays passes: text in, text out."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.array_ir.syntax import form_of_text, parse_program, print_program
from flatweave.kernel_ir.units import parse_unit
from flatweave.tools import opt

TEXT = """\
total(n_1: i64, xs_2: f32[n_1]) =>
    a_3: f32[n_1] = map (x_4: f32 => mul x_4 x_4) [xs_2]
    s_5: f32 = reduce (add f32) [0.0f32] [a_3]
    in s_5
"""


@pytest.fixture
def air(tmp_path):
    """The path of a program's text."""
    path = tmp_path / "total.air"
    path.write_text(TEXT)
    return path


def test_without_passes_the_text_comes_back(air, capsys):
    """Read, verified and printed."""
    assert opt.main([str(air)]) == 0
    assert capsys.readouterr().out == TEXT


@pytest.mark.parametrize("name", ["<lambda>", '"a ""b"" c"', '"3d"', '"inff32"', "sum"])
def test_the_program_of_any_function_comes_back(name, tmp_path, capsys):
    """Python calls a function what it likes: `<lambda>`, or what somebody wrote in `__name__`."""
    text = TEXT.replace("total", name)
    path = tmp_path / "any.air"
    path.write_text(text)

    assert opt.main([str(path)]) == 0
    assert capsys.readouterr().out == text


def test_every_stage_of_a_lambda_is_read_back(tmp_path, capsys):
    """As the stages of a jitted lambda print it."""
    stages = fw.jit(lambda xs: fw.sum(xs + 1)).stages(np.arange(3.0))
    for stage, kind in (("array", "air"), ("fused", "air"), ("flat", "air"), ("kernel", "kir")):
        path = tmp_path / f"{stage}.{kind}"
        path.write_text(stages.text[stage])

        assert opt.main([str(path)]) == 0, stage
        assert capsys.readouterr().out == stages.text[stage]


def test_passes_are_applied_in_order(air, capsys):
    """Each reads what the one before it gave."""
    assert opt.main(["--pass", "sweep,fuse,dce", str(air)]) == 0
    program = parse_program(capsys.readouterr().out)

    assert form_of_text(program).name == "swept"
    assert print_program(program).count("sweep") == 1


def test_lowering_gives_a_unit_that_reads_back(air, capsys, tmp_path):
    """Which the command reads as a .kir file."""
    assert opt.main(["--pass", "sweep,fuse", str(air), "--lower"]) == 0
    text = capsys.readouterr().out
    assert parse_unit(text).kernels
    kir = tmp_path / "total.kir"
    kir.write_text(text)

    assert opt.main([str(kir)]) == 0
    assert capsys.readouterr().out == text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--pass", "sweep,flatten,fuse"], "flatten gives flat form, but fuse takes swept form."),
        (["--pass", "sweep,dce,sweep"], "sweep gives swept form, but sweep takes traced form."),
        (["--lower"], "The program has traced form, but flat form is lowered."),
    ],
)
def test_passes_in_an_order_that_their_forms_forbid(air, capsys, arguments, message):
    """Each pass says what it takes and gives."""
    assert opt.main([str(air), *arguments]) == 1
    assert message in capsys.readouterr().err


def test_mistakes_are_said(air, capsys, tmp_path):
    """An unknown pass, a text that is no program, a file that is not there."""
    with pytest.raises(SystemExit):
        opt.main(["--pass", "mystery", str(air)])
    assert "no pass mystery: there are" in capsys.readouterr().err
    air.write_text("total(n: i64) => in m")
    assert opt.main([str(air)]) == 1
    assert "variable in scope" in capsys.readouterr().err
    assert opt.main([str(tmp_path / "none.air")]) == 1
