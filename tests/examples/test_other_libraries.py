"""Examples with PyTorch's and SciPy's optimizers, where these are installed."""

import numpy as np
import pytest


def test_the_layer_learns():
    """All documents are classified by the one word that matters."""
    pytest.importorskip("torch")
    from examples.torch_layer import train

    losses, right = train()

    assert losses[-1] < losses[0] / 10
    assert right == 1


def test_the_fit_finds_what_was_measured():
    """The common rate, and each amplitude."""
    pytest.importorskip("scipy")
    from examples.scipy_fit import fitted

    rate, amplitudes, true_rate, true_amplitudes = fitted()

    assert abs(rate - true_rate) < 0.01
    np.testing.assert_allclose(amplitudes, true_amplitudes, atol=0.1)
