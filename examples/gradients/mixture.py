"""A mixture of Gaussians: how likely it makes given points, and the gradient by all parameters.

Problem GMM of ADBench (Srajer, Kukelova and Fitzgibbon, "A benchmark of selected algorithmic
differentiation tools", 2018). A component k has a weight alpha, a mean and the inverse of the root
of its covariance: a lower triangle whose diagonal is exp(icf[:d]) and whose rest, column by column,
is icf[d:]. A Wishart prior keeps the covariances from vanishing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import lgamma, log, pi
from typing import Any

import numpy as np
from complex_steps import by_complex_steps

import flatweave as fw

GAMMA, M = 1.0, 0  # of the Wishart prior


def logsumexp(row: Any) -> Any:
    """log(sum(exp(row))) without overflow."""
    most = fw.max(row)
    return most + fw.log(fw.sum(fw.exp(row - most)))


def constants(n: int, d: int, k: int) -> float:
    """What of the objective depends on sizes alone."""
    freedom = d + M + 1
    gammas = d * (d - 1) / 4 * log(pi) + sum(lgamma((freedom - j) / 2) for j in range(d))
    prior = k * (freedom * d * (log(GAMMA) - 0.5 * log(2)) - gammas)
    return -n * d / 2 * log(2 * pi) - prior


def log_likelihood(alphas: Any, means: Any, icf: Any, points: Any) -> Any:
    """The objective: alphas f64[k], means f64[k, d], icf f64[k, d (d + 1) / 2], points f64[n, d].
    """
    d = means.shape[1]
    diagonals, sums = fw.exp(icf[:, :d]), fw.sum(icf[:, :d], axis=1)

    def of_point(x: Any) -> Any:
        def of_component(alpha: Any, mean: Any, diagonal: Any, total: Any, triangle: Any) -> Any:
            away = x - mean

            def squared(i: Any) -> Any:
                # entry (i, j) of the triangle's columns is number d j - j (j + 3) / 2 + i - 1
                below = fw.sum(fw.generate(
                    (i,), lambda j: triangle[d * j - j * (j + 3) // 2 + i - 1 + d] * away[j]
                ))  # fmt: skip
                return (diagonal[i] * away[i] + below) ** 2

            return alpha + total - 0.5 * fw.sum(fw.generate((d,), squared))

        return logsumexp(fw.map(of_component, alphas, means, diagonals, sums, icf))

    likely = fw.sum(fw.map(of_point, points)) - points.shape[0] * logsumexp(alphas)
    prior = GAMMA**2 / 2 * (fw.sum(diagonals**2) + fw.sum(icf[:, d:] ** 2)) - M * fw.sum(sums)
    return likely + prior


@fw.jit
def derivatives(alphas: Any, means: Any, icf: Any, points: Any) -> Any:
    """The objective without its constants, and its gradient by alphas, means and icf."""
    return fw.value_and_grad(log_likelihood, argnums=(0, 1, 2))(alphas, means, icf, points)


def numpy_log_likelihood(
    alphas: np.ndarray, means: np.ndarray, icf: np.ndarray, points: np.ndarray
) -> Any:
    """The published formula in NumPy, without its constants; its parameters may be complex."""
    k, d = means.shape
    roots = np.zeros((k, d, d), icf.dtype)
    column, row = np.triu_indices(d, 1)
    roots[:, row, column] = icf[:, d:]
    roots[:, range(d), range(d)] = np.exp(icf[:, :d])
    away = points[:, None] - means
    inner = np.einsum("kij,nkj->nki", roots, away)
    terms = alphas + icf[:, :d].sum(1) - 0.5 * (inner * inner).sum(2)

    def over(rows: np.ndarray) -> Any:
        most = rows.real.max(-1, keepdims=True)
        return np.log(np.exp(rows - most).sum(-1)) + most[..., 0]

    prior = GAMMA**2 / 2 * (roots**2).sum() - M * icf[:, :d].sum()
    return over(terms).sum() - len(points) * over(alphas) + prior


def problem(n: int, d: int, k: int) -> tuple[np.ndarray, ...]:
    """Random parameters and points."""
    rng = np.random.default_rng(31)
    return (rng.normal(size=k), rng.random((k, d)), rng.normal(size=(k, d * (d + 1) // 2)) / d,
            rng.normal(size=(n, d)))  # fmt: skip


def cases(quick: bool) -> Iterator[tuple[str, str, Callable, Callable, Callable]]:
    """Program, input, the job here, the same in NumPy, whether they agree."""
    n, d, k = (9, 3, 2) if quick else (200, 8, 5)
    *parameters, points = problem(n, d, k)
    yield (
        "mixture of Gaussians",
        f"{n} points, {d} dimensions, {k} components",
        lambda: derivatives(*parameters, points),
        lambda: by_complex_steps(lambda *p: numpy_log_likelihood(*p, points), *parameters),
        lambda ours, numpys: all(
            np.allclose(a, b, rtol=1e-9, atol=1e-9)
            for a, b in zip((ours[0], *ours[1]), (numpys[0], *numpys[1]), strict=True)
        ),
    )
