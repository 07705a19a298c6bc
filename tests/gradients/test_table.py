"""The table from operations to rules."""

import flatweave.ops  # noqa: F401  which fills the table of operations
from flatweave.array_ir.syntax import TRACED
from flatweave.gradients.derive import NONE, RULES
from flatweave.terms.syntax import OPS


def test_every_operation_has_a_rule_or_a_reason():
    """A new operation of traced programs needs a rule in both modes, or a sentence."""
    traced = {
        name for name, op in OPS.items()
        if op.traced or name in TRACED.host | TRACED.element
    }  # fmt: skip
    with_rule = {op.name for op in RULES}

    assert with_rule | set(NONE) == traced
    assert not with_rule & set(NONE)
    assert all(reason.endswith(".") for reason in NONE.values())
