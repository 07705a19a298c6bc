"""Kept elements that are written back to where they were, or scattered and summed."""

import numpy as np
import pytest

import flatweave as fw


def doubled(x, d):
    """What is positive is written over, twice as large."""
    at = fw.filter(lambda j: x[j] > 0, fw.iota(x.shape[0]))
    return fw.scatter(d, at, fw.map(lambda j: 2 * x[j], at))


def spread(x, d, c):
    """The elements of `c` go to where `x` is positive."""
    at = fw.filter(lambda j: x[j] > 0, fw.iota(x.shape[0]))
    return fw.scatter(d, at, c[: at.shape[0]]), fw.sum(fw.gather(x, at))


@pytest.mark.parametrize("target", ["interp", "cpu"])
def test_others_keep_what_was_there(target):
    """As NumPy's masks do, at every length."""
    rng = np.random.default_rng(0)
    programs = [fw.jit(f, target=target) for f in (doubled, spread)]
    for n in (0, 1, 5, 64, 1000, 70_001):
        x, d, c = rng.normal(size=(3, n))
        x[::7] = np.nan
        kept, written = x > 0, d.copy()
        written[kept] = c[: kept.sum()]

        assert np.array_equal(programs[0](x, d), np.where(kept, 2 * x, d), equal_nan=True)
        found, total = programs[1](x, d, c)
        assert np.array_equal(found, written)
        assert np.isclose(total, x[kept].sum())


def test_a_shorter_array_is_scattered_to():
    """Places outside of it are dropped."""
    x = np.array([1.0, -1.0, 2.0, 3.0])

    assert fw.jit(doubled, target="interp")(x, np.zeros(3)).tolist() == [2, 0, 4]


def test_the_gradient_of_a_filter_is_one_sweep():
    """Cotangents are not scattered: each element takes its own, or 0."""
    def back(x, c):
        value, pull = fw.vjp(lambda x: fw.filter(lambda a: a > 1, x), x)
        return value, pull(c)

    stages = fw.jit(back).stages(np.array([0.5, 2.0, 3.0]), np.ones(2))

    assert stages.kernels == 2
    assert "scatter" not in stages.text["fused"]
