"""What a notebook shows of jitted functions and stages: the page in small."""

import numpy as np

import flatweave as fw
from flatweave import kernel as fk
from flatweave.page import passes
from tests.page.opened import Page

XS = np.arange(1000.0)


def two(xs):
    total = fw.sum(xs)
    return xs / total


def framed(text):
    """The page in the frame."""
    (frame,) = Page(text).root.find("iframe")
    return Page(frame.attributes["srcdoc"].removeprefix("<!doctype html>")).root


def test_stages_are_the_page_without_its_texts(monkeypatch):
    """Lines, graphs and passes that can be followed; nothing is run, and no kernel made."""
    f = fw.jit(two, target="cpu")
    stages = f.stages(XS)
    made = [kernel for kernel in stages.launched if kernel[2]]
    monkeypatch.setattr(type(stages.executable), "run", None)
    text = stages._repr_html_()
    page = framed(text)

    assert len(text) < 60_000
    assert len(page.find("article", "pass")) == 2 and page.find("li", "line")
    assert page.find("div", id="written") and page.find("div", id="fused")
    assert "Assembly" not in text and "The programs as text" not in text
    assert [kernel for kernel in stages.launched if kernel[2]] == made


def test_a_jitted_function_shows_what_was_compiled_last():
    """Nothing before its first call; text then: `<jitted two>`."""
    f = fw.jit(two, target="cpu")
    assert f._repr_html_() is None and repr(f) == "<jitted two>"
    f(XS)
    f(XS.astype(np.float32))

    (given,) = framed(f._repr_html_()).find("div", id="written")[0].find("g", "given")
    assert "f32" in given.attributes["data-find"]


def test_other_targets_and_kernels():
    """The interpreter has a graph alone; kernels of fk their launches."""
    @fk.kernel(target="cpu")
    def scaled(xs: fk.Pull[fw.f64]):
        return fk.map(lambda x: 2 * x, xs)

    interpreted = framed(fw.jit(two, target="interp").stages(XS)._repr_html_())
    kernel = framed(scaled.stages(XS)._repr_html_())

    assert interpreted.find("div", id="written") and not interpreted.find("div", id="fused")
    assert len(kernel.find("article", "pass")) == len(scaled.stages(XS).launched)


def test_a_large_program_is_text(monkeypatch):
    """Drawing it takes long."""
    monkeypatch.setattr(passes, "LARGE", 1)

    assert fw.jit(two, target="cpu").stages(XS)._repr_html_() is None
