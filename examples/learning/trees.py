"""Sensitivities of option prices on binomial trees, each with as many steps as its life asks.

The values at the ends of a tree are those of an American put. Going back, two neighbours become
one, so the array shrinks by one in each step of the loop: reverse mode saves the values of all
steps, which is the tree itself. One gradient gives the change with the price of the share (delta)
and with the volatility (vega) of every option (Cox, Ross and Rubinstein, 1979).

    python examples/learning/trees.py [FOLDER]          trees.png: delta of each option
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

import flatweave as fw

STRIKE, RATE, STEPS_A_YEAR = 100.0, 0.03, 24


def price(share, volatility, steps):
    """An American put on a tree with `steps` steps."""
    length = 1.0 / STEPS_A_YEAR
    up = fw.exp(volatility * length**0.5)
    chance = (np.exp(RATE * length) - 1 / up) / (up - 1 / up)
    discount = np.exp(-RATE * length)

    def back(step, values):
        level = steps - 1 - step
        exponents = level - 2.0 * fw.iota(values.shape[0] - 1)
        kept = discount * (chance * values[:-1] + (1 - chance) * values[1:])
        return fw.maximum(kept, STRIKE - share * up**exponents)

    ends = share * up ** (steps - 2.0 * fw.iota(steps + 1))
    return fw.fori_loop(0, steps, back, fw.maximum(STRIKE - ends, 0.0))[0]


def prices(shares, volatilities, steps):
    """Those of all options."""
    return fw.map(price, shares, volatilities, steps)


def sensitivities(shares, volatilities, steps):
    """The prices, and their derivatives by the shares' prices and by volatilities."""
    value, back = fw.vjp(lambda s, v: prices(s, v, steps), shares, volatilities)
    return value, *back(fw.full(shares.shape[0], 1.0))


def options(count=120):
    """Shares around the strike, volatilities, and lives of 3 to 30 months."""
    steps = np.array([6, 24, 60])[np.arange(count) % 3]
    return np.linspace(60, 140, count), np.full(count, 0.3), steps


def draw(folder: Path) -> Path:
    """Delta over the price of the share, a line for each life; its path."""
    folder.mkdir(parents=True, exist_ok=True)
    shares, volatilities, steps = options()
    deltas = np.asarray(fw.jit(sensitivities)(shares, volatilities, steps)[1])
    picture = Image.new("RGB", (640, 320), "white")
    pen = ImageDraw.Draw(picture)
    for life, colour in zip(np.unique(steps), ("#d64541", "#446cb3", "#26a65b")):
        own = steps == life
        across, down = (shares[own] - 60) * 8, -deltas[own] * 300
        pen.line([(x, 10 + y) for x, y in zip(across, down)][::-1], colour, 3)
    path = folder / "trees.png"
    picture.save(path)
    return path


if __name__ == "__main__":
    print(draw(Path(sys.argv[1] if len(sys.argv) > 1 else "build")))
