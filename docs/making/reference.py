"""The pages of the reference: which names are on which page. Sphinx's autodoc writes the entries.

    reference/core/*       running, elements, derivatives, reads and writes, control, values
    reference/numpy/*      shapes, axes, scalar functions, names of the standard, fft, linalg
    reference/tables/*     tables, random numbers
    reference/kernels/*    fk, a page for each file that defines names

The groups of fw are the sections of docs/language.md.
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

LANGUAGE = Path(__file__).resolve().parents[1] / "language.md"
MODULES = {"fft": fw.fft, "linalg": fw.linalg, "random": fw.random}
CORE = (
    "Running", "Values", "Element by element along axis 0", "Derivatives",
    "Sources, reads and writes", "Control", "Errors",
)  # fmt: skip
TABLES = ("Tables",)


def pages() -> Iterator[tuple[str, str]]:
    """Every page's path, and its text."""
    for title, names in _groups_of_fw():
        part = "core" if title in CORE else "tables" if title in TABLES else "numpy"
        yield f"reference/{part}/{_slug(title)}.md", _page(f"fw: {_lowered(title)}", fw, names)
    for name, module in MODULES.items():
        part = "tables" if name == "random" else "numpy"
        title = f"fw.{name}\n\n{inspect.cleandoc(module.__doc__ or '').partition(chr(10))[0]}"
        yield f"reference/{part}/{name}.md", _page(title, module, module.__all__)
    for title, (holder, said, names) in _groups_of_fk():
        heading = f"fk: {title.rpartition('-')[2].replace('_', ' ')}\n\n{said}"
        yield f"reference/kernels/{title}.md", _page(heading, holder, names)


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


def _groups_of_fk() -> Iterator[tuple[str, tuple[types.ModuleType, str, list[str]]]]:
    """The files of the kernel language, each with the public names that it defines: the module
    where they are found, and the first line of the file."""
    found: dict[str, list[str]] = {}
    for name in fk.__all__:
        value = getattr(fk, name)
        if isinstance(value, types.ModuleType):
            inside = [each for each, member in vars(value).items()
                      if each[0] != "_" and getattr(member, "__module__", "") == value.__name__]
            yield name, (value, _first_line(value), inside)
            continue
        module = getattr(value, "__module__", "") or type(value).__module__
        home = module if module.startswith("flatweave.") else type(value).__module__
        found.setdefault(home, []).append(name)
    for home in sorted(found):
        yield "-".join(home.split(".")[2:]), (fk, _first_line(sys.modules[home]), found[home])


def _first_line(module: types.ModuleType) -> str:
    return inspect.cleandoc(module.__doc__ or "").partition("\n")[0]


def _page(title: str, module: types.ModuleType, names: Iterable[str]) -> str:
    """A heading, and an entry for each name."""
    entries = "\n".join(_entry(module.__name__, name, getattr(module, name)) for name in names)
    return f"# {title}\n\n```{{eval-rst}}\n.. currentmodule:: {module.__name__}\n\n{entries}```\n"


def _entry(module: str, name: str, value: Any) -> str:
    """The directive that documents a name; a constant is shown without its value."""
    if isinstance(value, type) and not issubclass(value, Exception):
        return f".. autoclass:: {module}.{name}\n   :members:\n   :inherited-members:\n\n"
    if isinstance(value, type):
        return f".. autoexception:: {module}.{name}\n\n"
    if inspect.isroutine(value):
        return f".. autofunction:: {module}.{name}\n\n"
    return f".. autodata:: {module}.{name}\n   :no-value:\n\n"


def _slug(title: str) -> str:
    return re.sub(r"\W+", "_", title.lower()).strip("_")


def _lowered(title: str) -> str:
    return title[0].lower() + title[1:]
