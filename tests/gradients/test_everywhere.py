"""Products of a Hessian and a vector; gradients on devices and in chunks."""

import numpy as np
import pytest

import flatweave as fw
from tests.conftest import DEVICE
from tests.gradients.laws import floats_of, mapped
from tests.gradients.programs import CONTROL, ELEMENTWISE, FOLDS, MOVES, NESTS, SCANS

TEN = {
    "a gather": ELEMENTWISE["a gather"],
    "matrices": ELEMENTWISE["matrices"],
    "sort": MOVES["sort"],
    "scatter": MOVES["scatter to equal indices"],
    "product": FOLDS["product"],
    "maxima": SCANS["maxima"],
    "linear functions": SCANS["linear functions"],
    "products by index": SCANS["products by index"],
    "softmax": NESTS["softmax"],
    "fori_loop": CONTROL["fori_loop"],
}


def energy(f):
    """The sum of squares of all results."""
    def of(*args):
        value = f(*args)
        parts = value if isinstance(value, tuple) else (value,)
        arrays = [part.values if isinstance(part, fw.Ragged) else part for part in parts]
        return sum((fw.sum(array * array * 0.5) for array in arrays), 0.0)

    return of


@pytest.mark.sampled
@pytest.mark.parametrize("name", TEN)
def test_products_of_a_hessian_and_a_vector(name):
    """jvp of grad, and grad of the gradient's part along a vector, next to differences."""
    f, *args = TEN[name]
    rng = np.random.default_rng(0)
    x, *rest = args
    v = mapped(x, lambda like: rng.normal(size=like.shape))
    by_first = fw.grad(energy(f))

    def along(x):
        parts = zip(floats_in(by_first(x, *rest)), floats_in(v), strict=True)
        return sum((fw.sum(a * b) for a, b in parts), 0.0)

    def floats_in(value):
        return [value.values if isinstance(value, fw.Ragged) else value]

    def moved(step):
        (array,), (direction,) = floats_of(x), floats_of(v)
        made = array + step * direction
        return fw.Ragged(made, x.offsets) if isinstance(x, fw.Ragged) else made

    with fw.target("interp"):
        product = fw.jvp(lambda x: by_first(x, *rest), (x,), (v,))[1]
        other = fw.grad(along)(x)
        ahead, behind = by_first(moved(1e-5), *rest), by_first(moved(-1e-5), *rest)

    (found,), (reverse,) = floats_of(product), floats_of(other)
    (one,), (two,) = floats_of(ahead), floats_of(behind)
    np.testing.assert_allclose(found, reverse, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found, (one - two) / 2e-5, rtol=1e-4, atol=1e-4)


def gradient(name):
    """A gradient, and its arguments."""
    f, *args = TEN[name]
    return fw.grad(energy(f)), args


@pytest.mark.slow
@pytest.mark.needs_device
@pytest.mark.parametrize("name", TEN)
def test_on_a_device(name):
    """As on the interpreter."""
    g, args = gradient(name)

    found, expected = fw.jit(g, target=DEVICE)(*args), fw.jit(g, target="interp")(*args)

    for one, other in zip(floats_of(found), floats_of(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", TEN)
def test_text_for_cuda(name):
    """There is one, of kernels."""
    g, args = gradient(name)

    assert "__global__" in fw.jit(g, target="cuda").stages(*args).text["cuda"]


CHUNKED = {
    "squares": lambda x: fw.sum(x * x),
    "neighbours": lambda x: fw.sum((x[1:] - x[:-1]) ** 2),
    "product": fw.prod,
    "greatest": lambda x: fw.max(x * x),
    "sums": lambda x: fw.sum(fw.cumsum(x) ** 2),
    "products": lambda x: fw.sum(fw.cumprod(x)),
    "filter": lambda x: fw.sum(fw.filter(lambda a: a > 1, x) ** 2),
    "sort": lambda x: fw.sum(fw.sort(x) * fw.iota(x.shape[0])),
    "by index": lambda x: fw.sum(
        fw.reduce_by_index(fw.zeros(3), fw.add, 0.0, fw.iota(x.shape[0]) % 3, x) ** 2
    ),
    "loop": lambda x: fw.sum(fw.fori_loop(0, 3, lambda i, s: s * x + 0.1, x)),
}  # fmt: skip


@pytest.mark.sampled
@pytest.mark.parametrize("name", CHUNKED)
def test_in_chunks(name):
    """Of 1, 7 and 1,000 rows."""
    x = np.random.default_rng(0).uniform(0.5, 1.5, 20)
    g = fw.jit(fw.grad(CHUNKED[name]))

    with fw.target("interp"):
        expected = np.asarray(g(x))
        for rows in (1, 7, 1000):
            found = g(fw.Chunked([x[i : i + rows] for i in range(0, 20, rows)]))

            np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-12)
