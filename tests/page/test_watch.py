"""The picture of a kernel: who reads and writes what, and when, as the simulator sees it."""

import numpy as np
import pytest

from flatweave import kernel as fk
from flatweave.page import write
from flatweave.page.source import MOST, runs, runs_text
from flatweave.simulator.counts import BLOCKS, TURNS, Watching
from tests.page.opened import Page

XS = np.arange(24, dtype=np.float32)


@fk.kernel
def sums_of_blocks(xs):
    def block(part):
        while part.length > 1:
            a, b = fk.halve(part)
            part = fk.force(fk.zip_with(lambda x, y: x + y, a, b))
        return part

    return fk.pconcat_map(block, fk.split_up(8, xs))


@fk.kernel
def raced(xs):
    def block(part):
        memory = fk.fill(fk.replicate(4, np.float32(0)))
        fk.for_all(4, lambda i: memory.__setitem__(0, part[i]))
        return memory.pull()

    return fk.pconcat_map(block, fk.split_up(4, xs))


def test_the_steps_of_a_block():
    """Four threads read halves of eight elements, write four, and meet; then two, then one."""
    watched = sums_of_blocks.stages(XS).watch()
    first = [use for use in watched.uses if use.block == 0]
    said = [(use.what, use.places, use.threads) for use in first[:4]]

    assert said == [
        ("reads", (0, 1, 2, 3), (0, 1, 2, 3)),
        ("reads", (4, 5, 6, 7), (0, 1, 2, 3)),
        ("writes", (0, 1, 2, 3), (0, 1, 2, 3)),
        ("barrier", (), ()),
    ]
    assert {use.space for use in first if use.what == "writes"} == {"global", "shared"}
    assert [use.turn for use in first] == list(range(len(first)))
    assert {use.block for use in watched.uses} == set(range(BLOCKS))
    assert watched.left_out == len(first)  # the third block's


def test_what_is_kept_ends():
    """A picture has a limited number of steps, and says how many it leaves out."""
    watching = Watching()
    watching.launch("k", 1)
    for _ in range(TURNS + 5):
        watching.access("global", "reads", np.arange(2), 4, None, buffer="xs")

    assert (len(watching.uses), watching.left_out) == (TURNS, 5)


def test_a_kernel_has_a_page_with_its_picture():
    """A row for each step of a block, a column for each buffer; lines lead to its code."""
    stages = sums_of_blocks.stages(XS)
    page = Page(write.page(stages)).root
    figures = page.find("figure")
    watched = stages.watch()
    steps = sum(use.block == 0 for use in watched.uses)

    assert len(figures) == BLOCKS
    assert f"block 0: {steps} steps" in figures[0].whole_text
    assert len(figures[0].find("line", "barrier")) == 3
    titles = [title.text for title in figures[0].find("title")]
    assert any("threads 0-3: reads xs" in title and "[4-7]" in title for title in titles)
    (line,) = [e for e in page.find("li", "line") if "zip_with" in e.whole_text]
    (kernel,) = page.find("article", "pass")
    assert line.words("data-of") & kernel.words("data-of")
    assert "Assembly" in kernel.whole_text


def test_a_race_is_told():
    """What the simulator refuses, the page says."""
    text = write.page(raced.stages(XS), run=False)

    assert "The simulator refuses this call" in text


def test_large_arguments_are_not_simulated():
    """The page says how many elements it takes."""
    text = write.page(sums_of_blocks.stages(np.zeros(MOST + 8, np.float32)), run=False)

    assert f"simulates at most {MOST:,}" in text


@pytest.mark.parametrize(
    "places, said",
    [([], ""), ([3], "3"), ([1, 2, 3, 7, 7], "1-3, 7"), (range(0, 64, 2), "0, 2, .. 62")],
)
def test_runs(places, said):
    """Numbers are shown as runs of neighbours, or by their step."""
    assert runs_text(places) == said
    assert [k for a, b in runs(places) for k in range(a, b + 1)] == sorted(set(places))
