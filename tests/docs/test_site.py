"""The site: what docs/making lays out, and what Sphinx makes of it."""

import json
import re
import subprocess
import sys

import pytest

import flatweave as fw
from docs.making import gallery, layout, links, notebooks, reference
from flatweave import kernel as fk
from tests.docs.blocks import programs
from tests.shape.tree import ROOT

PUBLIC = [
    *(f"{fw.__name__}.{name}" for name in dir(fw)
      if name not in reference.MODULES and name != "__version__"),
    *(f"{module.__name__}.{name}" for module in reference.MODULES.values()
      for name in module.__all__),
    *(f"{fk.__name__}.{name}" for name in fk.__all__ if name != "schedules"),
]


@pytest.fixture(scope="module")
def laid_out(tmp_path_factory):
    """The sources of the site."""
    folder = tmp_path_factory.mktemp("site") / "source"
    layout.write(folder)
    return folder


def test_every_public_name_is_in_the_reference(laid_out):
    """Once, as an entry that Sphinx writes from its docstring; the core first, about 60 names."""
    pages = {part: "\n".join(page.read_text() for page in laid_out.glob(f"reference/{part}/*.md"))
             for part in ("core", "numpy", "tables", "kernels")}  # fmt: skip
    found = {part: re.findall(r"^\.\. auto\w+:: ([\w.]+)", text, re.MULTILINE)
             for part, text in pages.items()}  # fmt: skip
    names = [name for part in found.values() for name in part]

    assert {name: names.count(name) for name in PUBLIC} == dict.fromkeys(PUBLIC, 1)
    assert 60 <= len(found["core"]) <= 160
    index = (laid_out / "reference" / "index.md").read_text()
    assert [index.index(f"{part}/*") for part in pages] == sorted(
        index.index(f"{part}/*") for part in pages
    )


def test_every_example_has_a_page(laid_out):
    """With its text; what only runs others has none."""
    programs = [path for path in (ROOT / "examples").rglob("*.py") if gallery.name_of(path)]
    shown = (laid_out / "gallery" / "index.md").read_text()

    assert len(programs) > 40
    for path in programs:
        name = gallery.name_of(path)
        assert path.read_text().rstrip() in (laid_out / "gallery" / f"{name}.md").read_text()
        assert f"({name}.md)" in shown


def test_every_program_has_a_picture(laid_out):
    """A small one, of what it computes: python -m docs.pictures.thumbnails NAME draws it."""
    programs = [path for path in (ROOT / "examples").rglob("*.py") if gallery.name_of(path)]
    folder = laid_out / "pictures" / "gallery"
    pictures = {gallery.name_of(path): gallery.picture_of(path, folder) for path in programs}
    index = (laid_out / "gallery" / "index.md").read_text()

    assert [name for name, picture in pictures.items() if picture is None] == []
    assert all(f"gallery/{picture.name})" in index for picture in pictures.values())
    assert sum(path.stat().st_size for path in folder.iterdir()) < 1_500_000
    assert {path.name for path in folder.iterdir()} == {path.name for path in pictures.values()}


def test_a_program_of_the_gallery_has_its_times_and_its_picture(laid_out):
    """The times of the page of measurements, at one position; the picture that it draws."""
    times = gallery.measured(ROOT / "bench" / "results")
    index = (laid_out / "gallery" / "index.md").read_text()
    for name, time in times.items():
        text = (laid_out / "gallery" / f"{name}.md").read_text()
        assert f"**{time.ours} ms**, {time.peer} {time.theirs} ms" in text
        assert f"**{time.ours}** | {time.peer} {time.theirs} |" in index
    picture = laid_out / "pictures" / "gallery" / "gallery_life.png"

    assert set(times) == {f"gallery/{path.stem}" for path in ROOT.glob("examples/gallery/*.py")}
    assert picture.read_bytes().startswith(b"\x89PNG") and f"gallery/{picture.name}" in index


def test_every_page_is_in_the_list_at_the_left(laid_out):
    """A page that no list names is found by nobody, and Sphinx refuses it."""
    named = {laid_out / "index.md"}
    for page in laid_out.rglob("*.md"):
        for tree in re.findall(r"^```\{toctree\}\n(.*?)^```$", page.read_text(), re.M | re.S):
            entries = [line for line in tree.splitlines() if line and line[0] != ":"]
            named |= {path for entry in entries for path in page.parent.glob(f"{entry}.md")}
    alone = {page for page in laid_out.rglob("*.md") if page not in named}

    assert not alone, f"name in docs/index.md, or where it belongs: {alone}"


def test_links_of_pages_lead_to_what_was_laid_out(laid_out):
    """Pages, pictures and other files, from where the page is now."""
    missing = [
        f"{page.relative_to(laid_out)}: {link[2]}"
        for page in laid_out.rglob("*.md")
        for part in layout.FENCE.split(page.read_text())[::3]
        for link in layout.LINK.finditer(part)
        if not (page.parent / link[2]).exists()
    ]

    assert not missing, "\n".join(missing)
    assert (laid_out / "files/docs/tiny.py").exists()


@pytest.mark.parametrize("page", notebooks.PAGES, ids=lambda page: page.stem)
def test_a_page_has_a_notebook(laid_out, page):
    """Its programs are the cells of code, which the tests of pages run; its pictures are inside."""
    found = json.loads((laid_out / "files" / "notebooks" / f"{page.stem}.ipynb").read_text())
    cells, text = found["cells"], page.read_text()
    sources = [cell["source"] + "\n" for cell in cells if cell["cell_type"] == "code"]
    pictures = [name for cell in cells for name in cell.get("attachments", {})]

    assert sources == programs(text)
    assert len(pictures) == text.count("](../pictures/")
    assert all(f"attachment:{name}" in str(cells) for name in pictures)
    assert "](../" not in str(cells) and len({cell["id"] for cell in cells}) == len(cells)
    folder = laid_out / ("start" if page.stem == "first_steps" else "tutorial")
    assert f"files/notebooks/{page.stem}.ipynb" in (folder / page.name).read_text()


def test_words_of_other_fields_lead_somewhere(laid_out):
    """The site's search finds a page by each of these; the row has a link."""
    text = (laid_out / "words.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith("| ") and "](" in line]

    for word in ("groupby", "jagged", "associative scan", "autodiff"):
        assert sum(word in row.split("|")[1] for row in rows) == 1, word


def test_a_link_is_moved_and_code_is_not(tmp_path):
    """From the file's location in the repository to its location on the site."""
    page = "[one](../examples/bfs.py) [two](gpu.md#x)\n```python\nf[i](gpu.md)\n```\n"
    layout.Layout(tmp_path).write(tmp_path / "from/numpy.md", page, ROOT / "docs" / "page.md")

    assert (tmp_path / "from/numpy.md").read_text() == (
        "[one](../gallery/bfs.md) [two](../gpu.md#x)\n```python\nf[i](gpu.md)\n```\n"
    )


def test_a_docstring_becomes_markdown():
    """What is indented or an example stands as it is; signs of Markdown in sentences are none."""
    text = "Adds *xs to `*ys`.\n\n    a  b\n\n    c\n\nThen:\n\n    >>> 1 + 1\n    2"

    assert gallery.markdown(text) == (
        "Adds \\*xs to `*ys`.\n\n```text\na  b\n\nc\n```\n\nThen:\n\n```pycon\n>>> 1 + 1\n2\n```"
    )


def test_links_that_lead_nowhere_are_found(tmp_path):
    """To a missing page, and to a missing anchor of its page."""
    (tmp_path / "a.html").write_text(
        '<a href="b.html#here"></a><a href="b.html#there"></a><a href="c.html"></a>'
        '<a href="#me" id="me"></a><img src="d.png"><a href="https://example.org/x"></a>'
    )
    (tmp_path / "b.html").write_text('<p id="here"></p>')

    assert links.wrong(tmp_path) == ["a.html: b.html#there", "a.html: c.html", "a.html: d.png"]


@pytest.mark.parametrize(("link", "is_right"), [
    ("https://arxiv.org/abs/2206.01784", True), ("https://arxiv.org/abs/22.01784", False),
    ("https://doi.org/10.1145/3315454.3329955", True), ("https://doi.org/3315454", False),
    ("https://semver.org", True), ("http://semver.org", False), ("https://localhost/x", False),
    ("https://numba.readthedocs.io/en/stable/cuda,", False), ("ftp://example.org", False),
])  # fmt: skip
def test_addresses_outside_have_their_form(link, is_right):
    """Nothing is asked for: there may be no network."""
    assert links.is_address(link) is is_right


@pytest.mark.slow
def test_the_site_is_built(laid_out):
    """Without a warning, and no link in it leads nowhere."""
    pytest.importorskip("myst_parser")
    pytest.importorskip("furo")
    site = laid_out.parent / "site"
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-n", "-c", ROOT / "docs",
         laid_out, site],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert links.wrong(site) == []
    assert (site / "index.html").exists()
    index = (site / "searchindex.js").read_text()
    assert all(f'"{stem}"' in index for stem in ("groupbi", "jag", "associ", "scan", "autodiff"))
