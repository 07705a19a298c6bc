"""Plans as text, and back: a line for each record, its fields as key=value, defaults left out.

    sweep n_7
        bind least=10912 most=15392
        level carry=look-back
            rfactor hows=counted
        version name=streaming
            guard elements=524288
            vectorize axis=space width=32
            stream
        version name=plain
            vectorize axis=space width=32

A record inside another has a separate, indented line, which begins with its kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
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
            inner.append(value)
        elif isinstance(value, tuple) and is_record(value[0]):
            inner += value
        else:
            words.append(f"{field.name}={_word(value)}")
    lines.append(margin + " ".join(words))
    for value in inner:
        _print(_keyword(type(value)), value, margin + INDENT, lines)


def _keyword(kind: type) -> str:
    """The word that a record's line begins with."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", kind.__name__).lower()


def _word(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(_word(each) for each in value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value.value if isinstance(value, Enum) else value)


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
        raise CompilerBug(f"{_keyword(kind)} has no {', '.join(sorted(unknown))}.")
    values: dict[str, Any] = {name: _read(hints[name], text) for name, text in given.items()}
    inner = {_keyword(each): (name, each) for name, hint in hints.items() for each in _kinds(hint)}
    while lines and lines[0].startswith(INDENT * (depth + 1)):
        keyword = lines[0].split()[0]
        if keyword not in inner:
            raise CompilerBug(f"{_keyword(kind)} has no {keyword!r}.")
        name, each = inner[keyword]
        made = _parse(each, lines, depth + 1)
        values[name] = (*values.get(name, ()), made) if _is_tuple(hints[name]) else made
    for field in fields(kind):  # an empty tuple is left out
        if field.name not in values and field.default is REQUIRED:
            values[field.name] = ()
    return kind(**values)


def _is_tuple(hint: Any) -> bool:
    return get_origin(hint) is tuple


def _kinds(hint: Any) -> Iterator[type]:
    """The kinds of records that a field holds."""
    if _is_tuple(hint) or isinstance(hint, UnionType):
        for each in get_args(hint):
            yield from _kinds(each)
    elif hasattr(hint, "__fields__"):
        yield hint


def _read(hint: Any, text: str) -> Any:
    if _is_tuple(hint):
        return tuple(_read(get_args(hint)[0], part) for part in text.split(",") if part)
    return text == "true" if hint is bool else hint(text)
