"""For each operation that looks beyond its own row: what a chunk computes of it, and what is made
of the parts of all chunks.

    rule_of(op)     the rule; None for an operation that has none
"""

from __future__ import annotations

from flatweave.cluster.rules.filter import FilterRule
from flatweave.cluster.rules.gather import GatherRule
from flatweave.cluster.rules.nest import NestRule
from flatweave.cluster.rules.reduce import ReduceRule
from flatweave.cluster.rules.rule import Rule
from flatweave.cluster.rules.scan import ScanRule
from flatweave.cluster.rules.scatter import PermuteRule, ScatterRule
from flatweave.terms.syntax import Op

RULES: tuple[Rule, ...] = (
    FilterRule(), GatherRule(), NestRule(), PermuteRule(), ReduceRule(), ScanRule(), ScatterRule(),
)  # fmt: skip


def rule_of(op: Op) -> Rule | None:
    """The rule of an operation over arrays that are in chunks."""
    return next((rule for rule in RULES if type(op) is rule.op), None)
