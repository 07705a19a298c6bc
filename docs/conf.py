"""How Sphinx builds the site: `make docs`. Its pages are those that docs/making lays out."""

from __future__ import annotations

import re
from typing import Any

import flatweave
from flatweave.base.dtypes import DType
from tools.stub import LEFT_OUT

project = "Flatweave"
copyright = "The Flatweave Authors"
version = release = flatweave.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
source_suffix = {".md": "markdown"}
root_doc = "index"
exclude_patterns = ["files"]

myst_heading_anchors = 4
# `page.md#anchor` may name an <a id="anchor">, which MyST does not know: docs/making/links.py looks
# at every link of the finished pages
suppress_warnings = ["myst.xref_missing"]
highlight_language = "none"

# entries of the reference: signatures without annotations, since `Types:` says more
default_role = "code"
autodoc_typehints = "none"
autodoc_class_signature = "separated"
autodoc_default_options = {"exclude-members": ", ".join(sorted(LEFT_OUT))}
add_module_names = False

html_theme = "furo"
html_title = "Flatweave"
html_static_path = ["pictures/static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False


KINDS = {"b": "bools", "i": "signed integers", "u": "unsigned integers", "f": "floats",
         "c": "complex numbers"}  # fmt: skip


def plain_text(
    app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]
) -> None:
    """Signs of RST in the sentences of a docstring are escaped. Indented text is shown as it is;
    examples are recognised by their prompt."""
    if isinstance(value, DType) and value is not flatweave.f32:
        kind = KINDS[value.kind]
        lines[:] = [f"As `f32`, for {kind} of {value.bits} bits: `numpy.{value.numpy.name}`."]
    code = r"(`[^`]*`|^    .*$|^>>> (?:.+\n?)*)"  # with an example's result
    parts = re.split(code, "\n".join(lines), flags=re.MULTILINE)
    parts[::2] = [re.sub(r"([*|])", r"\\\1", part) for part in parts[::2]]
    lines[:] = "".join(parts).split("\n")
    for k in range(len(lines) - 1, 0, -1):
        begins = lines[k].startswith("    ") and not lines[k].lstrip().startswith(">>>")
        if begins and not lines[k - 1]:
            lines[k - 1 : k] = ["", "::", ""]


def setup(app: Any) -> None:
    """What Sphinx calls first."""
    app.connect("autodoc-process-docstring", plain_text)
