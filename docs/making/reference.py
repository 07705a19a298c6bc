"""The reference: a page for each group of names, from their docstrings.

    fw                        the groups are the sections of docs/language.md
    fw.fft, linalg, random    a page each
    fk                        the groups are the files that define the names
"""

from __future__ import annotations

import inspect
import re
import sys
import types
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import flatweave as fw
from flatweave import kernel as fk
from flatweave.tools.stub import LEFT_OUT

LANGUAGE = Path(__file__).resolve().parents[1] / "language.md"
MODULES = {"fft": fw.fft, "linalg": fw.linalg, "random": fw.random}
CODE = re.compile(r"(`[^`]*`)")
SIGNS = re.compile(r"([*_<>\[\]#|$~\\])")


def pages() -> Iterator[tuple[str, str]]:
    """Every page's path, and its text."""
    for title, names in _groups_of_fw():
        yield f"reference/fw/{_slug(title)}.md", _page(f"fw: {_lowered(title)}", "fw", fw, names)
    for name, module in MODULES.items():
        said, rest = _said(module), _page("", f"fw.{name}", module, module.__all__)
        yield f"reference/fw/{name}.md", f"# fw.{name}\n{said}\n{rest}"
    for title, (prefix, holder, module, names) in _groups_of_fk():
        said, rest = _said(module), _page("", prefix, holder, names)
        yield f"reference/fk/{title}.md", f"# fk: {title.replace('-', ', ')}\n{said}\n{rest}"


def _groups_of_fw() -> Iterator[tuple[str, list[str]]]:
    """The sections of the page of the language that name functions, each with its names."""
    parts = re.split(r"^## (.+)$", LANGUAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    left = {name for name in dir(fw) if name not in MODULES}
    for title, text in zip(parts[1::2], parts[2::2], strict=True):
        # names are in the first column, those of scalar functions in the second
        column = re.findall(r"^\| (.*?) \|", text, flags=re.MULTILINE)
        rows = text.splitlines() if title == "Scalar functions" else column
        found = dict.fromkeys(
            name for row in rows for code in re.findall(r"`([^`]*)`", row)
            if (name := code.partition("(")[0]) in left
        )  # fmt: skip
        left -= found.keys()
        if found:
            yield title, list(found)
    if left - {"__version__"}:
        yield "Other names", sorted(left)


def _groups_of_fk() -> Iterator[tuple[str, tuple[str, Any, types.ModuleType, list[str]]]]:
    """The files of the kernel language, each with the public names that it defines: what stands
    before a name, where it is found, and the file whose docstring is about all of them."""
    found: dict[str, list[str]] = {}
    for name in fk.__all__:
        value = getattr(fk, name)
        if isinstance(value, types.ModuleType):
            inside = [each for each, member in vars(value).items()
                      if each[0] != "_" and getattr(member, "__module__", "") == value.__name__]
            yield name, (f"fk.{name}", value, value, inside)
            continue
        module = getattr(value, "__module__", "") or type(value).__module__
        home = module if module.startswith("flatweave.") else type(value).__module__
        found.setdefault(home, []).append(name)
    for home in sorted(found):
        yield "-".join(home.split(".")[2:]), ("fk", fk, sys.modules[home], found[home])


def _page(title: str, prefix: str, module: Any, names: Iterable[str]) -> str:
    """All names of a group; those of one function, and those of dtypes, stand together."""
    alike: dict[Any, list[str]] = {}
    for name in names:
        alike.setdefault(_same(getattr(module, name)), []).append(name)
    parts = [f"# {title}"] if title else []
    parts += [_entry(prefix, same, getattr(module, same[0])) for same in alike.values()]
    return "\n\n".join(parts) + "\n"


def _same(value: Any) -> Any:
    """What the names of one entry share: the value; of dtypes, that they are dtypes."""
    return type(value) if isinstance(value, type(fw.f32)) else id(value)


def _entry(prefix: str, names: list[str], value: Any) -> str:
    """What is to be said of one value, under all its names."""
    if isinstance(value, type):
        kind, signature = "class", ""
    elif callable(value) and not isinstance(value, type(fw.f32)):
        kind, signature = "function", _signature(value)
    else:
        kind, signature = "data", ""
    *others, last = [f"{prefix}.{name}{signature}" for name in names]
    body = [_said(value) if kind != "data" or _is_ours(value) else f"`{value!r}`"]
    if kind == "class":
        body += [_member(name, member) for name, member in _members(value)]
    heads = [_directive(kind, other, "", 5) for other in others]
    return "\n\n".join([*heads, _directive(kind, last, "\n\n".join(body), 5)])


def _member(name: str, value: Any) -> str:
    called = inspect.isroutine(value)
    kind, signature = ("method", _signature(value)) if called else ("attribute", "")
    return _directive(kind, name + signature, _said(value), 4)


def _directive(kind: str, head: str, body: str, marks: int) -> str:
    fence = "`" * marks
    return f"{fence}{{py:{kind}}} {head}\n\n{body}\n{fence}"


def _members(value: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties that have a docstring."""
    seen: set[str] = set()
    for each in value.__mro__:
        if not each.__module__.startswith("flatweave"):
            continue
        for name, member in vars(each).items():
            if isinstance(member, classmethod | staticmethod):
                member = member.__func__
            is_one = isinstance(member, property) or inspect.isroutine(member)
            hidden = name[0] == "_" or name in LEFT_OUT or name in seen
            if is_one and not hidden and inspect.getdoc(member):
                seen.add(name)
                yield name, member


def _signature(value: Any) -> str:
    """Parameters and defaults, without annotations: `Types:` of a docstring says more."""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return "(...)"
    parameters = [
        each.replace(annotation=each.empty, default=_Shown(each.default))
        if each.default is not each.empty else each.replace(annotation=each.empty)
        for each in signature.parameters.values() if each.name != "self"
    ]  # fmt: skip
    return str(inspect.Signature(parameters))


class _Shown:
    """A default, in few letters."""

    def __init__(self, value: Any) -> None:
        named = getattr(value, "__name__", None)
        self.text = named or repr(value)
        if "<" in self.text or " at 0x" in self.text:
            self.text = "..."

    def __repr__(self) -> str:
        return self.text


def _is_ours(value: Any) -> bool:
    return type(value).__module__.startswith("flatweave")


def _said(value: Any) -> str:
    """A docstring as Markdown."""
    return markdown(inspect.getdoc(value) or "")


def markdown(text: str) -> str:
    """Paragraphs; what is indented, and what begins with >>>, as it stands."""
    found: list[str] = []
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        if block.startswith("    ") or block.startswith(">>>"):
            found.append(block)
            continue
        found.append("".join(_plain(part) for part in CODE.split(block)))
    parts: list[str] = []
    literal: list[str] = []
    for block in [*found, ""]:
        if block.startswith(("    ", ">>>")):
            literal.append(block)
            continue
        if literal:
            parts.append(_literal("\n\n".join(literal)))
            literal = []
        parts.append(block)
    return "\n\n".join(parts).strip()


def _plain(part: str) -> str:
    return part if part.startswith("`") else SIGNS.sub(r"\\\1", part)


def _literal(text: str) -> str:
    lines = inspect.cleandoc("\n" + text)
    language = "pycon" if lines.startswith(">>>") else "text"
    return f"```{language}\n{lines}\n```"


def _slug(title: str) -> str:
    return re.sub(r"\W+", "_", title.lower()).strip("_")


def _lowered(title: str) -> str:
    return title[0].lower() + title[1:]
