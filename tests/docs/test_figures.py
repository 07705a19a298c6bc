"""Figures on the pages are those of the pages of bench/results that they name."""

import json
import re

import pytest

from bench import readme
from bench.rows import ROWS
from bench.table import missing
from tests.docs.blocks import PAGES, shown
from tests.shape.tree import ROOT

RESULTS = ROOT / "bench" / "results"
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\([^)]*?bench/results/([\w-]+\.md)[^)]*\)")
NUMBER = re.compile(r"(?<![\w.^*])\d[\d,]*(?:\.\d+)?(?![\w^]|\.\d)")
MEASURED = [page for page in PAGES if LINK.search(page.read_text(encoding="utf-8"))]
SENTENCE = re.compile(r"(?<=[.;:])\s+(?=[^a-z]|[a-z])|\n(?=[-|#])")


def numbers(text):
    """The numbers of a text, as they are written."""
    return [each.rstrip(",") for each in NUMBER.findall(text)]


def value(number):
    """A number without the commas of its thousands."""
    return float(number.replace(",", ""))


def found(number, page):
    """Whether a page has the number, or one that is rounded to it, in some unit of time."""
    half = 0.5001 * 10.0 ** -len(number.partition(".")[2])
    return any(
        abs(value(each) * scale - value(number)) <= half
        for each in numbers(page)
        for scale in (1, 1000, 0.001)
    )


def claims(text):
    """The sentences and the rows of tables that name a page of results: numbers, and the pages."""
    for sentence in SENTENCE.split(FENCE.sub("", text)):
        pages = LINK.findall(sentence)
        if pages:
            stated = re.sub(r"^\|[^|]*\|", "", sentence)  # a row's first cell says what the work is
            plain = re.sub(r"\]\([^)]*\)", "", stated)
            yield sentence, numbers(plain), pages


def test_numbers_are_read_as_they_are_rounded():
    """In whatever unit the page has them."""
    assert found("0.31", "305 us") and found("2,700", "2.7 s") and found("9.7", "9.685 ms")
    assert not found("9.7", "9.8 ms") and not found("12", "x12")
    assert numbers("1,362 of 2^24, 3.5.") == ["1,362", "3.5"]


@pytest.mark.parametrize("page", MEASURED, ids=shown)
def test_figures_are_on_the_page_that_is_named(page):
    """Each number of a sentence, or of a row of a table, that links a page of measurements."""
    wrong = []
    for sentence, stated, pages in claims(page.read_text(encoding="utf-8")):
        text = "\n".join((RESULTS / name).read_text(encoding="utf-8") for name in pages)
        wrong += [f"{number}: {sentence}" for number in stated if not found(number, text)]

    assert not wrong, "\n".join(wrong)


def test_the_table_of_the_readme_is_that_of_its_results():
    """`python -m bench.readme` writes it; threads, and peers that are missing, with it."""
    (block,) = readme.BLOCK.findall(readme.README.read_text(encoding="utf-8"))
    (name,) = LINK.findall(block)
    path = (RESULTS / name).with_suffix(".json")

    assert block == readme.block(path)


@pytest.mark.parametrize("page", sorted(RESULTS.glob("*.json")), ids=lambda path: path.stem)
def test_a_page_of_results_says_what_is_missing(page):
    """Of the newest runs; a peer that did not build is not silently absent."""
    kept = json.loads(page.read_text(encoding="utf-8"))
    absent = missing(kept.get("rows", []))
    text = page.with_suffix(".md").read_text(encoding="utf-8")

    assert "## Missing" not in text or all(line in text for line in absent)


def test_threads_of_peers():
    """NumPy and loops have one, OpenMP's all, OpenBLAS all in its own row."""
    peers = ("C loop", "numba", "jax", "flatweave", "flatweave, 1 thread")
    assert [ROWS["recurrence"].threads_of(name, 2) for name in peers] == [1, 1, 2, 2, 1]
    assert ROWS["matmul"].threads_of("numpy", 2) == 2
    assert ROWS["spmv_5"].threads_of("scipy", 2) == 1
