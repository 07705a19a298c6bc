"""A misuse's message as text that does not change when lines are added above it."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import flatweave as fw
from tests.errors import (
    argument_misuses,
    custom_rule_misuses,
    gradient_misuses,
    kernel_misuses,
    misuses,
    nest_misuses,
    operator_misuses,
    ragged_misuses,
    table_misuses,
    trace_misuses,
    vmap_misuses,
)

MESSAGES = Path(__file__).parent / "messages"
CASES: dict[str, Callable[[], None]] = {
    name: case
    for module in (
        misuses, argument_misuses, nest_misuses, ragged_misuses, operator_misuses, kernel_misuses,
        vmap_misuses, trace_misuses, gradient_misuses, custom_rule_misuses,
        table_misuses,
    )
    for name, case in vars(module).items()
    if callable(case) and getattr(case, "__module__", "") == module.__name__
    and not isinstance(case, type)
}  # fmt: skip
HELD = re.compile(r"\n  .* that are still in use")  # what other tests left on a device
PLACE = re.compile(r"\S*misuses\.py:(\d+)")


def message_of(case: Callable[[], None]) -> str:
    """The class and the whole message of the error that a case raises."""
    with pytest.raises(fw.UserError) as caught:
        case()
    text = HELD.sub("", without_line_numbers(str(caught.value)))
    return f"{type(caught.value).__name__}: {text}\n"


def without_line_numbers(text: str) -> str:
    """`misuses.py:12:` becomes `misuses.py:N:`, and the caret below moves with it."""
    lines = text.split("\n")
    for i, line in enumerate(lines):
        found = PLACE.search(line)
        if found is None:
            continue
        lines[i] = PLACE.sub("misuses.py:N", line)
        removed = len(line) - len(lines[i])
        if i + 1 < len(lines) and lines[i + 1].lstrip().startswith("^"):
            lines[i + 1] = lines[i + 1][removed:]
    return "\n".join(lines)
