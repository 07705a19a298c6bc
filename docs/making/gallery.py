"""The gallery: a page for each program below examples, with its picture where there is one.

    examples/NAME.py               gallery/NAME.md, with docs/pictures/gallery/NAME.png or .svg
    examples/FOLDER/NAME.py        gallery/FOLDER/NAME.md, picture FOLDER_NAME
    examples/FOLDER/README.md      gallery/FOLDER/index.md
    bench/results/*-gallery.md     times of examples/gallery, and of what was used before

Every program of the folder is taken: a new one needs nothing but its docstring.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

CODE = re.compile(r"(`[^`]*`)")
SIGNS = re.compile(r"([*_<>\[\]#|$~\\])")
SUPPORT = ("__main__", "__init__", "demo", "folder", "conftest")
TOP = "Programs"
FIRST = """# Gallery
Whole programs, each checked against NumPy, SciPy or plain Python by the tests. `make demo` runs the
first group on real input.
"""


def name_of(path: Path) -> str | None:
    """The page of a file or folder of examples, without suffix; none of what has no page."""
    parts = path.parts[path.parts.index("examples") + 1 :]
    if path.name == "README.md":
        return "/".join([*parts[:-1], "index"]) if len(parts) > 1 else "index"
    if path.suffix == ".py" and path.stem not in SUPPORT and parts[0] != "data":
        return "/".join(parts).removesuffix(".py")
    return None


@dataclass
class Time:
    """Milliseconds of a program and of what was used before, and the page that says so."""

    arguments: str
    ours: str
    peer: str
    theirs: str
    page: Path


Times = Mapping[str, Time]


def measured(results: Path) -> Times:
    """The times of the programs of examples/gallery by their pages, as they were measured last."""
    page = max(results.glob("*-gallery.md"))
    rows = re.findall(r"^\| (\w+) \|(.+)\|$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {
        f"gallery/{name}": Time(*(cell.strip() for cell in cells.split("|")[:4]), page)
        for name, cells in rows if name != "program"
    }  # fmt: skip


def pages(examples: Path, pictures: Path, times: Times) -> Iterator[tuple[str, str, Path]]:
    """Each page's path and text, and the file whose links it has."""
    folders = sorted(
        path for path in examples.iterdir()
        if path.is_dir() and any(map(name_of, path.glob("*.py")))
    )  # fmt: skip
    groups = [(TOP, _programs(examples))]
    for folder in folders:
        programs = _programs(folder)
        title, text = _readme(folder)
        groups.append((title, programs))
        tree = "\n".join(path.stem for path in programs)
        text += f"\n```{{toctree}}\n:maxdepth: 1\n:hidden:\n\n{tree}\n```\n"
        yield f"gallery/{folder.name}/index.md", text, folder / "README.md"
    for _, programs in groups:
        for path in programs:
            yield f"gallery/{name_of(path)}.md", _program(path, pictures, times), path
    yield "gallery/index.md", _index(groups, pictures, times), examples / "README.md"


def picture_of(path: Path, pictures: Path) -> Path | None:
    """The picture of a program."""
    name = (name_of(path) or "").replace("/", "_")
    found = [pictures / f"{name}{suffix}" for suffix in (".png", ".svg")]
    return next((each for each in found if each.exists()), None)


def _programs(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.glob("*.py")) if name_of(path)]


def _readme(folder: Path) -> tuple[str, str]:
    """A folder's title and what is said of its programs."""
    path = folder / "README.md"
    text = path.read_text(encoding="utf-8") if path.exists() else f"# {folder.name}\n"
    return text.partition("\n")[0].removeprefix("# "), text


def _docstring(path: Path) -> tuple[str, str]:
    """A program's first line, and what it says of itself."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or path.stem
    first, _, rest = text.partition("\n\n")
    return " ".join(first.split()), rest


def _program(path: Path, pictures: Path, times: Times) -> str:
    first, rest = _docstring(path)
    shown = path.parts[path.parts.index("examples") :]
    up = "../" * (len(shown) - 1)
    picture = picture_of(path, pictures)
    parts = [f"# {path.stem}", markdown(first)]
    if picture is not None:
        parts.append(f"![{path.stem}]({up}pictures/gallery/{picture.name})")
    time = times.get(name_of(path) or "")
    if time is not None:
        page = f"{up}bench/results/{time.page.name}"
        parts.append(
            f"**{time.ours} ms**, {time.peer} {time.theirs} ms (arguments {time.arguments}; "
            f"[on which machine]({page}))."
        )
    source = path.read_text(encoding="utf-8").rstrip()
    parts += [markdown(rest), f"## {'/'.join(shown)}", f"````python\n{source}\n````"]
    return "\n\n".join(parts) + "\n"


def _index(groups: list[tuple[str, list[Path]]], pictures: Path, times: Times) -> str:
    """For each group a table of its programs, each with its picture."""
    parts = [FIRST]
    for title, programs in groups:
        parts.append(f"## {title}\n")
        is_timed = any(name_of(path) in times for path in programs)
        parts.append("| | program | what it does |" + is_timed * " ms | before |")
        parts.append("|---|---|---|" + is_timed * "---:|---|")
        for path in programs:
            said = markdown(_docstring(path)[0]).replace("\n", " ")
            time = times.get(name_of(path) or "")
            shown = f" **{time.ours}** | {time.peer} {time.theirs} |" if time else " | |" * is_timed
            page, picture = f"{name_of(path)}.md", picture_of(path, pictures)
            drawn = picture and f"[![{path.stem}](../pictures/gallery/{picture.name})]({page})"
            parts.append(f"| {drawn or ''} | [{path.stem}]({page}) | {said} |{shown}")
        parts.append("")
    names = [name_of(path) or "" for path in groups[0][1]]
    names += [f"{(name_of(programs[0]) or '').split('/')[0]}/index" for _, programs in groups[1:]]
    parts.append("```{toctree}\n:maxdepth: 1\n:hidden:\n\n" + "\n".join(names) + "\n```\n")
    return "\n".join(parts)


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
