"""fw.explain: what became of a call in words, from the facts that stages have."""

import re

import numpy as np
import pytest

import flatweave as fw
from flatweave import kernel as fk
from flatweave.base.errors import ArgumentError, IndexOutOfBounds
from flatweave.base.pretty import size

XS = np.arange(1.0, 100_001.0)


@fw.jit(target="cpu")
def shares(xs, keys):
    sums = fw.cumsum(xs)
    small = fw.filter(lambda v: v < 0.5, sums / fw.max(xs))
    return small, fw.histogram(10, keys)


def test_every_pass_has_a_paragraph_of_facts():
    """Lines, arrays with bytes, what is stored and why, what would help, what ran."""
    keys = np.arange(100_000) % 10
    found = fw.explain(shares, XS, keys)
    stages = shares.stages(XS, keys)
    text = str(found)

    assert len(found.passes) == stages.kernels and repr(found) == text
    first = shares.__wrapped__.__code__.co_firstlineno
    lines = [f"test_explain.py:{first + k}" for k in (2, 3)]
    assert all(line in found.passes[0].splitlines()[0] for line in lines)  # fused
    assert "computes an array and reduces to a value" in found.passes[0]
    assert "reads xs_2 (781.2 KiB)" in found.passes[0]
    for note in stages.notes:
        assert note.kernel or (note in text and note.remedy in text)
    ran = {name for name, _, made in stages.launched if made}
    assert {name for name, _, _ in stages.launched if f"{name} ran" in text} == ran
    kept = shares(XS, keys)[0]
    assert re.search(rf"writes \w+ \({re.escape(size(kept.nbytes))}\)", text)  # a run tells it
    assert re.search(r"passes over memory\. [\d.]+ MiB are moved, which takes .* at .*/s", text)


def test_loops_and_what_did_not_run():
    """How often a kernel ran; a branch that was not taken has passes that did not."""
    @fw.jit(target="cpu")
    def f(xs, n):
        ys = fw.fori_loop(0, n, lambda i, s: fw.cumsum(s * 0.5), xs)
        return fw.cond(n > 100, lambda: fw.sort(ys), lambda: ys + 1)

    text = str(fw.explain(f, XS, 3))

    assert "ran 3 times" in text
    assert "did not run for these arguments" in text
    assert "carries it from iteration to iteration" in text


def test_writes_of_a_few_elements():
    """A launch moves the elements that it reads and writes, not the whole array; the copy of an
    argument is listed."""
    xs = np.zeros((1000, 4))

    @fw.jit(target="cpu")
    def rows(xs):
        return fw.fori_loop(1, xs.shape[0], lambda i, s: fw.replace(s, i, s[i - 1] + 1), xs)

    with fw.profile() as found:
        rows(xs)
    moved = {row["kernel"]: row["bytes"] for row in found.rows()}
    assert sum(value or 0 for value in moved.values()) == 999 * 4 * 4 * 8
    text = str(fw.explain(rows, xs))
    assert "(32 B)" in text and size(xs.nbytes) not in text
    assert "copy_f64 ran, " in text


def test_functions_of_any_kind():
    """Not jitted, kernels of fk, methods, on the interpreter, with axes of extent 1."""
    @fk.kernel(target="cpu")
    def scaled(xs: fk.Pull[fw.f64]):
        return fk.map(lambda x: 2 * x, xs)

    with fw.target("cpu"):
        plain = fw.explain(lambda a, b: a + b, np.ones((1, 5)), b=np.ones((4, 5)))
    kernel = fw.explain(scaled, XS)
    with fw.target("interp"):
        interpreted = fw.explain(fw.jit(lambda x: x + 1), XS)

    given = fw.asarray(XS + 1)
    away = fw.explain(fw.jit(lambda x: x + 1, target="cpu", donate="x"), given)

    assert "donated" in repr(given) and "reads x_2 (781.2 KiB)" in str(away)
    assert len(plain.passes) == 1 and re.search(r"and b_\d+ \(160 B\)", str(plain))
    assert "as written" in kernel.head and len(kernel.passes) == 1
    assert "one operation at a time" in interpreted.head and not interpreted.passes


def test_what_cannot_be_explained():
    """What is no function, a call inside a trace, a call that fails."""
    @fw.jit
    def inside(xs):
        return fw.explain(shares, xs)

    with pytest.raises(ArgumentError, match="explain needs a function, got"):
        fw.explain(XS)
    with pytest.raises(ArgumentError, match="Explain the call of the function"):
        inside(XS)
    with fw.target("cpu"), pytest.raises(IndexOutOfBounds):
        fw.explain(lambda xs: fw.map(lambda i: xs[i + 1], fw.iota(4)), XS[:4])
