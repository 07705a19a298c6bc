"""Plans as text, and back: a line for each record, its fields as key=value, defaults left out.

    sweep n_7 sinks=compact
        tiling width=32 least=10912 most=15392
        traversal lanes=flat width=32
        level carry=look-back
            aggregation hows=counted
        variant name=streaming least=524288 streaming=true
        variant name=plain

A field that is a record, or several, stands on lines of its own, further in.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from flatweave.base.errors import CompilerBug
from flatweave.base.records import REQUIRED, fields, is_record
from flatweave.lower.schedule.plan import SweepPlan

INDENT = "    "


def print_plans(plans: Mapping[str, SweepPlan]) -> str:
    """The plans of a program, by the name of what each sweep computes first."""
    lines: list[str] = []
    for name, plan in plans.items():
        _print(f"sweep {name}", plan, "", lines)
    return "\n".join(lines) + "\n" if lines else ""


def _print(head: str, record: Any, margin: str, lines: list[str]) -> None:
    words, inner = [head], []
    for field in fields(record):
        value = getattr(record, field.name)
        if value in (field.default, ()):
            continue
        if is_record(value):
            inner.append((field.name, value))
        elif isinstance(value, tuple) and is_record(value[0]):
            inner += [(_singular(field.name), each) for each in value]
        else:
            words.append(f"{field.name}={_word(value)}")
    lines.append(margin + " ".join(words))
    for keyword, value in inner:
        _print(keyword, value, margin + INDENT, lines)


def _word(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(_word(each) for each in value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value.value if isinstance(value, Enum) else value)


def _singular(name: str) -> str:
    return name.removesuffix("s")


def parse_plans(text: str) -> dict[str, SweepPlan]:
    """The plans that a text holds; CompilerBug where it is not one of plans."""
    lines = [line for line in text.splitlines() if line.strip()]
    plans: dict[str, SweepPlan] = {}
    while lines:
        keyword, name, *_ = [*lines[0].split(), ""]
        if keyword != "sweep" or not name:
            raise CompilerBug(f"a plan begins with `sweep`, not with {lines[0]!r}.")
        plans[name] = _parse(SweepPlan, lines, 0, skip=2)
    return plans


def _parse(kind: Any, lines: list[str], depth: int, skip: int = 1) -> Any:
    """The record that begins on the first line, whose lines are taken away."""
    words = lines.pop(0).split()[skip:]
    hints = get_type_hints(kind)
    given = dict(word.split("=", 1) for word in words)
    unknown = given.keys() - hints.keys()
    if unknown:
        raise CompilerBug(f"{kind.__name__} has no {', '.join(sorted(unknown))}.")
    values: dict[str, Any] = {name: _read(hints[name], text) for name, text in given.items()}
    keywords = {_keyword(name, hint): name for name, hint in hints.items()}
    while lines and lines[0].startswith(INDENT * (depth + 1)):
        keyword = lines[0].split()[0]
        name = keywords.get(keyword, "")
        if not name:
            raise CompilerBug(f"{kind.__name__} has no {keyword!r}.")
        hint = hints[name]
        if get_origin(hint) is tuple:
            made = _parse(get_args(hint)[0], lines, depth + 1)
            values[name] = (*values.get(name, ()), made)
        else:
            values[name] = _parse(hint, lines, depth + 1)
    for field in fields(kind):  # an empty tuple is left out
        if field.name not in values and field.default is REQUIRED:
            values[field.name] = ()
    return kind(**values)


def _keyword(name: str, hint: Any) -> str:
    return _singular(name) if get_origin(hint) is tuple else name


def _read(hint: Any, text: str) -> Any:
    if get_origin(hint) is tuple:
        return tuple(_read(get_args(hint)[0], part) for part in text.split(",") if part)
    if isinstance(hint, UnionType):
        return _read(next(each for each in get_args(hint) if each is not type(None)), text)
    if hint is bool:
        return text == "true"
    return hint(text)


