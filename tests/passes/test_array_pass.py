"""What passes say of themselves decides where they stand, and which a program can do without."""

import pytest

from flatweave.array_ir.syntax import FLAT, SWEPT, TRACED, parse_program
from flatweave.base.config import config
from flatweave.base.errors import CompilerBug
from flatweave.passes.rewrite import array_pass, check_order, leading_to
from flatweave.pipeline import ARRAY_PASSES, PASSES, optimise


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("sweep", "flatten", "cse", "fuse"), "flatten gives flat form, but fuse takes swept form"),
        (("simplify", "fuse"), "The program has traced form, but fuse takes swept form"),
        (("simplify", "cse"), "The program has traced form, but flat form is lowered"),
    ],
)
def test_an_order_that_the_forms_forbid(names, message):
    """The message says who gives what, and who takes something else."""
    with pytest.raises(CompilerBug, match=message):
        check_order([PASSES[name] for name in names], TRACED, FLAT)


def test_what_a_program_needs():
    """All but `sweep` take what the next one takes as well."""
    assert [name for name, step in PASSES.items() if not step.is_optional] == ["sweep"]


def test_passes_that_lead_to_a_form():
    """For swept form nothing is flattened; everything else stays, in its order."""
    kept = leading_to(SWEPT, ARRAY_PASSES)

    assert [step for step in ARRAY_PASSES if step not in kept] == [PASSES["flatten"]]
    check_order(kept, TRACED, SWEPT)
    assert leading_to(FLAT, ARRAY_PASSES) == ARRAY_PASSES


def test_a_pass_is_held_to_the_form_it_promised():
    """`sweep` gives no flat program that says it is traced."""
    program = parse_program("f(n: i64, xs: f32[n]) =>\n ys = map (neg f32) [xs]\n in ys")

    @array_pass(takes=(TRACED,))
    def swept(program):
        return PASSES["sweep"](program)

    with config.scoped(verify=True), pytest.raises(CompilerBug, match="sweep is not allowed"):
        optimise(program, [swept])
