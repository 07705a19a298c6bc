"""SciPy's optimizer with values and gradients of ours: decay curves of several samples.

Samples were measured at different times, so times and measurements are rows of different lengths.
All samples share a half-life, and each has an amplitude. `minimize(.., jac=True)` takes the value
and the gradient from one call.

    python examples/scipy_fit.py
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

import flatweave as fw


def samples(count=30, seed=0):
    """Times and measurements, rows of different lengths; the true amplitudes and rate."""
    rng = np.random.default_rng(seed)
    amplitudes, rate = rng.uniform(1, 5, count), 0.7
    times = [np.sort(rng.uniform(0, 4, rng.integers(3, 20))) for _ in range(count)]
    measured = [a * np.exp(-rate * t) + rng.normal(0, 0.01, t.size)
                for a, t in zip(amplitudes, times)]
    return fw.ragged(times), fw.ragged(measured), amplitudes, rate


def misfit(parameters, times, measured):
    """The squared differences of all measurements; the first parameter is the rate's logarithm."""
    rate = fw.exp(parameters[0])

    def sample(amplitude, time, value):
        return fw.sum((amplitude * fw.exp(-rate * time) - value) ** 2)

    return fw.sum(fw.map(sample, parameters[1:], times, measured))


def fitted():
    """The rate and the amplitudes that fit best, and the true ones."""
    times, measured, amplitudes, rate = samples()
    both = fw.jit(fw.value_and_grad(misfit))
    begin = np.concatenate([[0.0], np.ones(len(amplitudes))])
    found = minimize(both, begin, args=(times, measured), jac=True, method="BFGS").x
    return np.exp(found[0]), found[1:], rate, amplitudes


if __name__ == "__main__":
    rate, amplitudes, true_rate, true_amplitudes = fitted()
    print(f"rate {rate:.4f}, true {true_rate}")
    print(f"amplitudes off by at most {np.abs(amplitudes - true_amplitudes).max():.3f}")
