"""Fusion never makes a program do more work than a few times what was written."""

from __future__ import annotations

import pytest

from tests.laws import work

MOST = 4
"""How many times the work of the program as it was traced."""
QUADRATIC = {
    "a mean of rows that are stacked":
        "m = fw.stack([v3, v3]); r = m - fw.mean(m, axis=1, keepdims=True)",
    "covariances": "r = fw.cov(v4)",
    "correlations of two rows": "r = fw.corrcoef(v3, v3)",
    "a sum in a map": "r = fw.map(lambda x: x * fw.sum(v1), v0)",
    "a sum in a map over rows": "r = fw.map(lambda row: row * fw.sum(v0), v2)",
    "a copy of sums": "s = fw.sum(v2, axis=1)[::-1]; r = v2 - fw.reshape(s, (-1, 1))",
    "an array of a row that others read whole":
        "r = fw.map(lambda a: (lambda t: fw.map(lambda e: fw.sum(t * e), v1))("
        "fw.map(lambda e: fw.max(v3 * e), a)), v2)",
    "products of a row with two matrices":
        "w = fw.outer(v3, v3); t = lambda a: fw.tanh(a @ w);"
        "r = fw.map(lambda e: fw.sum(t(t(v3 * e))), v0)",
}
ONCE = {
    "a search, and a histogram of what it finds":
        "q = fw.searchsorted(v1, v3); r = q, fw.histogram(40, q * 2)",
    "sums of rows in two scatters":
        "fold = lambda p, q: (p[0] + q[0], p[1] + q[1]);"
        "s = fw.map(lambda a: fw.reduce(fold, (0., 0.), fw.map(lambda e: (fw.exp(e), e), a)), v2);"
        "r = [fw.permute(fw.add, fw.zeros(3), fw.iota(v0.shape[0]) % 3, each) for each in s]",
    "sums that windows read":
        "last = v3.shape[0] - 1;"
        "t = lambda a: fw.generate(24, lambda i: fw.sum(fw.generate(15, lambda k:"
        " fw.sqrt(a[fw.minimum(i + k, last)]))));"
        "least = lambda t: fw.generate(15, lambda i: fw.min(fw.generate(10, lambda k: t[i + k])));"
        "r = fw.map(lambda a: least(t(a)), v4)",
    "rows over their norms":
        "t = lambda a: fw.map(lambda e: fw.sum(v1 * e), a);"
        "r = fw.map(lambda a: (lambda t: t / fw.sqrt(fw.sum(t ** 2)))(t(a)), v2)",
    "a map that each row of a matrix reads":
        "e = fw.exp(v1); r = v0[:, None] * e[None, :]",
    "sums of rows, each as long as the data says":
        "d = fw.ragged(v3, lengths=[7, v3.shape[0] - 7]);"
        "t = lambda a: fw.map(lambda e: fw.sum(v1 * e), a);"
        "r = fw.map(lambda a: (lambda t: t / fw.max(t ** 2))(t(a)), d).values",
    "a sum that all elements of a row's rows share":
        "t = lambda a: fw.map(lambda e: v1 / fw.sum(v1 * e), a);"
        "r = fw.map(lambda a: fw.sum(fw.stack([t(a), t(a)])[0], axis=0), v2)",
    "the gradient of an average whose weights are a function of the elements":
        "one = lambda a, k, v: (lambda w: fw.sum(w * v) / fw.sum(w))(fw.exp(k * a));"
        "f = lambda q, k: fw.map(lambda a, b: fw.map(lambda e: one(e, b, b), a), q, k);"
        "_, back = fw.vjp(f, v2, v2);"
        "r = back(v2)",
    "the gradient of products of matrices in each row":
        "d = fw.ragged(v2, lengths=[2, v2.shape[0] - 2]);"
        "f = lambda q, k: fw.map(lambda q, k: fw.softmax(q @ k.T, axis=1) @ k, q, k).values;"
        "_, back = fw.vjp(f, d, d);"
        "r = [x.values for x in back(v2)]",
}  # fmt: skip
"""Once with what is written: twice as much work if anything costly is done again."""


def ratio(source: str, extents: dict[str, int] | None = None) -> float:
    """The work after the last pass against that of the traced program."""
    traced, fused = work.work_of(source, extents or work.EXTENTS)
    return fused / max(traced, 1)


@pytest.mark.parametrize("text", QUADRATIC.values(), ids=list(QUADRATIC))
def test_what_grows_with_one_extent_is_not_repeated_for_another(text: str) -> None:
    """Ten times the extents would show as ten times the ratio."""
    lines = "\n".join(f"    {line.strip()}" for line in text.split(";"))

    assert ratio(f"{work.HEAD}\n{lines}\n    return r\n") <= MOST


@pytest.mark.parametrize("text", ONCE.values(), ids=list(ONCE))
def test_what_is_stored_is_not_computed_again(text: str) -> None:
    """Half as much again is not yet all of it twice."""
    lines = "\n".join(f"    {line.strip()}" for line in text.split(";"))
    source = f"{work.HEAD}\n{lines}\n    return r\n"

    assert ratio(source) <= work.BOUND
    assert not work.repeated(source, work.EXTENTS)


@pytest.mark.parametrize("group", range(10))
def test_no_line_of_a_random_program_is_computed_twice(group: int) -> None:
    """Vectors, matrices and nests of different extents, in up to three steps."""
    for seed in range(group * 50, group * 50 + 50):
        source = work.random_source(seed, 1, 3)

        assert not work.repeated(source, work.EXTENTS), source


@pytest.mark.slow
@pytest.mark.parametrize("group", range(20))
def test_many_random_programs_do_no_more_work_than_a_few_times_theirs(group: int) -> None:
    """The first ones of each group over longer extents."""
    for seed in range(1000 + group * 50, 1050 + group * 50):
        source = work.random_source(seed)
        extents = work.LARGER if seed % 50 < 3 else work.EXTENTS

        assert ratio(source, extents) <= MOST, source
