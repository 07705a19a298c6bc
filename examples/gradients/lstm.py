"""A recurrent network that predicts the next letter: its loss, and the gradient by its weights.

Problem LSTM of ADBench (Srajer, Kukelova and Fitzgibbon 2018), with its diagonal gates: forget,
ingate, outgate and change of a layer each have b weights and b biases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from complex_steps import by_complex_steps

import flatweave as fw


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x))."""
    return 1 / (1 + fw.exp(-x))


def step(weight: Any, bias: Any, hidden: Any, cell: Any, x: Any) -> tuple[Any, Any]:
    """A layer's new hidden values and cell, each of b numbers; weight and bias are [4, b]."""
    forget = sigmoid(x * weight[0] + bias[0])
    ingate = sigmoid(hidden * weight[1] + bias[1])
    outgate = sigmoid(x * weight[2] + bias[2])
    change = fw.tanh(hidden * weight[3] + bias[3])
    cell = cell * forget + ingate * change
    return outgate * fw.tanh(cell), cell


def loss(main: Any, extra: Any, state: Any, letters: Any) -> Any:
    """The mean loss: main: each layer's weight [4, b] and bias [4, b]; state: its hidden [b] and
    cell [b]; extra [3, b]; letters [n, b]."""
    count, width = letters.shape

    def follow(t: Any, carry: Any) -> Any:
        state, total = carry
        x, fresh = letters[t] * extra[0], []
        for (weight, bias), (hidden, cell) in zip(main, state, strict=True):
            x, cell = step(weight, bias, hidden, cell, x)
            fresh.append((x, cell))
        guess = x * extra[1] + extra[2]
        sure = guess - fw.log(fw.sum(fw.exp(guess)) + 2)
        return fresh, total + fw.sum(letters[t + 1] * sure)

    _, total = fw.fori_loop(0, count - 1, follow, (state, 0.0))
    return -total / ((count - 1) * width)


@fw.jit
def derivatives(main: Any, extra: Any, state: Any, letters: Any) -> Any:
    """The loss, and its gradient by the weights of the layers and of what is around them."""
    return fw.value_and_grad(loss, argnums=(0, 1))(main, extra, state, letters)


def numpy_loss(main: np.ndarray, extra: np.ndarray, state: np.ndarray, letters: np.ndarray) -> Any:
    """The published formula in NumPy; its parameters may be complex."""
    state, total = state.astype(complex), 0.0
    for x, wanted in zip(letters, letters[1:], strict=False):
        x = x * extra[0]
        for (weight, bias), layer in zip(main, state, strict=True):
            hidden, cell = layer
            of_x = x * weight[[0, 2]] + bias[[0, 2]]
            of_hidden = hidden * weight[[1, 3]] + bias[[1, 3]]
            (forget, outgate), ingate = 1 / (1 + np.exp(-of_x)), 1 / (1 + np.exp(-of_hidden[0]))
            layer[1] = cell * forget + ingate * np.tanh(of_hidden[1])
            x = layer[0] = outgate * np.tanh(layer[1])
        guess = x * extra[1] + extra[2]
        total += (wanted * (guess - np.log(np.exp(guess).sum() + 2))).sum()
    return -total / (len(letters) - 1) / letters.shape[1]


def problem(layers: int, width: int, count: int) -> tuple[np.ndarray, ...]:
    """Random weights and state, and a text of random letters, each one bit among many."""
    rng = np.random.default_rng(32)
    return (rng.normal(size=(layers, 2, 4, width)), rng.normal(size=(3, width)),
            rng.normal(size=(layers, 2, width)),
            np.eye(width)[rng.integers(0, width, count)])  # fmt: skip


def cases(quick: bool) -> Iterator[tuple[str, str, Callable, Callable, Callable]]:
    """Program, input, the job here, the same in NumPy, whether they agree."""
    layers, width, count = (2, 3, 4) if quick else (2, 14, 30)
    *weights, state, letters = problem(layers, width, count)
    yield (
        "LSTM",
        f"{layers} layers of {width}, {count} letters",
        lambda: derivatives([*map(tuple, weights[0])], weights[1], [*map(tuple, state)], letters),
        lambda: by_complex_steps(lambda *w: numpy_loss(*w, state, letters), *weights),
        lambda ours, numpys: np.isclose(ours[0], numpys[0]) and all(
            np.allclose(a, b, rtol=1e-9, atol=1e-12)
            for a, b in zip((np.array(ours[1][0]), ours[1][1]), numpys[1], strict=True)
        ),
    )
