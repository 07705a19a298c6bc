"""The page of a call: its parts, what belongs together, and where it cannot be written."""

import json
import re

import numpy as np
import pytest

import flatweave as fw
from flatweave.page import write
from tests.page.opened import Page

XS = np.arange(1000.0)


@fw.jit(target="cpu")
def differences(xs):
    sums = fw.cumsum(xs)
    small = fw.filter(lambda v: v < 3, xs * 2)
    return sums[3:] - sums[:-3], small


@fw.jit(target="cpu")
def spread(xss):
    return fw.map(lambda row: fw.sum(fw.map(lambda v: v * v, row)), xss)


@pytest.fixture(scope="module")
def stages():
    """A program of two passes, which has run."""
    return differences.stages(XS)


@pytest.fixture(scope="module")
def page(stages):
    """Its page."""
    return Page(write.page(stages)).root


def test_it_needs_nothing_else(stages, page):
    """No address, no file, no import: what it shows is in it, and it is one document."""
    text = write.page(stages, run=False)

    assert not re.search(r"https?://|@import|<link|\bimport\b\s*\(|fetch\(", text)
    assert not [e for e in page.find() if {"src", "href"} & e.attributes.keys()]
    assert len(page.find("main")) == len(page.find("style")) == 1


def test_a_line_leads_to_its_kernel_and_its_code(page):
    """From the line of the filter to its box, to the pass that does it, to lines of assembly."""
    (line,) = [e for e in page.find("li", "line") if "fw.filter" in e.whole_text]
    places = line.words("data-of")
    (written,) = page.find("div", id="written")
    boxes = [e for e in written.find("g", "node") if e.words("data-of") & places]
    assert "filter" in {box.attributes["data-find"].split()[0] for box in boxes}

    passes = set().union(*(box.words("data-pass") for box in boxes))
    articles = [e for e in page.find("article") if e.words("data-pass") & passes]
    assert len(articles) == len(passes) == 1
    (fused,) = page.find("div", id="fused")
    assert [e for e in fused.find("g", "node") if e.words("data-pass") & passes]
    code = [d for d in articles[0].find("details") if "Assembly" in d.whole_text]
    assert any("mov" in details.find("pre")[0].text for details in code)


def test_every_pass_has_its_facts(stages, page):
    """Its arrays with their bytes, plan, kernels, which ran and why, and what stopped fusion."""
    articles = page.find("article", "pass")
    text = "".join(article.whole_text for article in articles)

    assert len(articles) == stages.kernels == 2
    for name, _, made in stages.launched:
        (kernel,) = [e for e in page.find("div", "kernel") if e.find("h4")[0].text.strip() == name]
        assert ("made" in kernel.words("class")) == made
        assert ("not needed so far" in kernel.whole_text) == (not made)
    assert "7.8 KiB" in text  # 1,000 numbers of 8 bytes
    assert "a run tells" in text  # how many the filter keeps
    assert "vectorize axis=space" in text
    assert [len(re.findall(r"which takes .*? at .*?/s\. It took [\d.]+ \w+", each.whole_text))
            for each in articles] == [1, 1]  # fmt: skip
    note = next(note for note in stages.notes if note.name)
    assert note in text and note.remedy in text
    assert next(note.reason for note in stages.notes if note.kernel) in text


def test_arrays_and_times(stages, page):
    """The arrays in memory are those of the manifest; the call has a time next to its floor."""
    (section,) = [e for e in page.find("section") if e.find("h2")[:1]
                  and e.find("h2")[0].text == "Arrays in memory"]  # fmt: skip
    rows = section.find("tbody")[0].find("tr")
    (facts,) = page.find("p", "facts")

    assert [row.find("td")[0].text for row in rows] == [array.name for array in stages.manifest]
    assert re.search(r"2 passes over data · for \S+ · [\d.]+ KiB moved · [\d.]+ \w+ a call · floor",
                     facts.text)  # fmt: skip


def test_boxes_say_what_they_are(page):
    """Each has the text of its operation; `</script>` inside would not end it."""
    details = json.loads(page.find("script", id="details")[0].text)
    boxes = page.find("g", "node")

    assert len(details) == len(boxes)
    assert any("filter" in detail for detail in details)
    assert all(box.attributes["tabindex"] == "0" for box in boxes)


def test_a_nest_is_drawn_before_and_after(tmp_path):
    """As written its operations stand inside it; as fused there are none inside."""
    path = spread.stages(fw.ragged([[1.0, 2.0], [], [3.0]])).page(tmp_path / "nest.html")
    page = Page(path.read_text(encoding="utf-8")).root
    (written,), (fused,) = page.find("div", id="written"), page.find("div", id="fused")
    (nest,) = written.find("g", "nest")

    inside = {box.attributes["data-find"].split()[0] for box in nest.find("g", "node")}
    assert {"map", "reduce"} <= inside
    assert not fused.find("g", "nest")


def test_axes_of_extent_1(tmp_path):
    """The page is that of the program which broadcasts them."""
    f = fw.jit(lambda a, b: a + b, target="cpu")
    path = f.stages(np.ones((1, 5)), np.ones((4, 5))).page(tmp_path / "f.html")
    text = path.read_text(encoding="utf-8")

    assert "a call" in Page(text).root.find("p", "facts")[0].text
    assert "The call fails" not in text


def by_row(xss):
    return fw.map(fw.sort, xss), fw.concat([fw.filter(lambda v: v > 3, XS), XS])


def test_no_kernel_is_left_out():
    """Kernels of rows, and copies, which belong to no pass, are there too."""
    stages = fw.jit(by_row, target="cpu").stages(fw.ragged([[3.0, 1.0], [], [2.0]]))
    page = Page(write.page(stages, run=False)).root
    shown = [e.find("h4")[0].text.strip() for e in page.find("div", "kernel")]

    assert sorted(shown) == sorted(name for name, _, _ in stages.launched)
    assert any(name.startswith("copy") for name in shown)
    assert any(name.endswith("by_row") for name in shown)


def test_names_are_escaped():
    """What a user calls things is no markup."""
    odd = fw.jit(lambda xs: xs + 1, target="cpu")
    text = write.page(odd.stages(XS), run=False)

    assert "<h1>&lt;lambda&gt;</h1>" in text


@pytest.mark.needs_opencl
def test_a_program_of_a_device_has_its_source():
    """OpenCL C is shown whole; kernels have no assembly language there."""
    f = fw.jit(lambda xs: fw.sum(xs * 2), target="opencl")
    page = Page(write.page(f.stages(XS))).root
    (source,) = [d for d in page.find("details") if d.find("summary")[0].text == "OpenCL C"]

    assert "__kernel" in source.find("pre")[0].text
    assert not [d for d in page.find("details") if "Assembly" in d.find("summary")[0].text]


def test_the_interpreter_has_a_page():
    """There are no kernels, and the page says so."""
    f = fw.jit(lambda xs: fw.sum(xs), target="interp")
    page = Page(write.page(f.stages(XS))).root

    assert "the interpreter runs the program" in page.whole_text
    assert len(page.find("div", id="written")) == 1


def many(xs):
    for k in range(2000):
        xs = fw.cumsum(xs) if k % 50 == 0 else xs * 1.5
    return xs


def test_a_large_program_has_a_page():
    """Each of 2,000 operations is a box that search finds, below its operand."""
    page = Page(write.page(fw.jit(many, target="interp").stages(XS), run=False)).root
    (written,) = page.find("div", id="written")
    boxes = written.find("g", "node")
    heights = [float(box.attributes["transform"].split()[1][:-1]) for box in boxes]
    found = [box for box in boxes if "scan" in box.attributes["data-find"]]

    assert (len(boxes), len(found)) == (2001, 40)
    assert heights == sorted(set(heights))


def test_a_call_that_fails_has_a_page():
    """It says what went wrong, at the user's line."""
    f = fw.jit(lambda xs, i: fw.map(lambda k: xs[k], i), target="cpu")
    page = Page(write.page(f.stages(XS, np.array([2000])))).root

    assert "The call fails" in page.whole_text


def test_a_page_has_the_name_of_its_function(stages, tmp_path, monkeypatch):
    """Without a path it is written to the working folder."""
    monkeypatch.chdir(tmp_path)

    assert stages.page(run=False).name == "differences.html"
    assert [path.name for path in tmp_path.iterdir()] == ["differences.html"]


def test_a_folder_that_is_not_there(stages, tmp_path):
    """The error names it."""
    with pytest.raises(fw.ArgumentError, match="there is no folder .*nowhere"):
        stages.page(tmp_path / "nowhere" / "f.html")


def test_what_cannot_be_written(stages, tmp_path):
    """A folder is no file: the error names both, and why."""
    (tmp_path / "f.html").mkdir()

    with pytest.raises(fw.ArgumentError, match=rf"in the folder {tmp_path}: Is a directory"):
        stages.page(tmp_path / "f.html", run=False)
