"""How Sphinx builds the site: `make docs`. Its pages are those that docs/making lays out."""

import flatweave

project = "Flatweave"
copyright = "The Flatweave Authors"
version = release = flatweave.__version__

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
root_doc = "index"
exclude_patterns = ["files"]

myst_heading_anchors = 4
# `page.md#anchor` may name an <a id="anchor">, which MyST does not know: docs/making/links.py looks
# at every link of the finished pages
suppress_warnings = ["myst.xref_missing"]
highlight_language = "none"

html_theme = "furo"
html_title = "Flatweave"
html_static_path = ["pictures/static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
