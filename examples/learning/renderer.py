"""A renderer that is fitted to a picture: soft discs move until they look like it.

Each pixel blends the colours of all discs, each the more the nearer the pixel is to its centre. The
gradient of the squared difference to a picture says how to move centres, radii and colours: what
a pixel reads of every disc becomes a sum over all pixels. Steps are those of Adam (Kingma and Ba,
2015).

    python examples/learning/renderer.py [FOLDER]       renderer.png: the picture, and the discs
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from PIL import Image

import flatweave as fw

PHOTO = Path(__file__).resolve().parents[1] / "data" / "astronaut.png"


def render(discs, height, width):
    """The picture of discs: rows of y, x, the radius' logarithm, opacity, red, green, blue."""
    def pixel(k):
        y, x = (k // width) / height, (k % width) / width
        distances = ((discs[:, 0] - y) ** 2 + (discs[:, 1] - x) ** 2) * fw.exp(-2 * discs[:, 2])
        weights = fw.exp(discs[:, 3] - distances)
        total = fw.sum(weights) + 1e-6
        return tuple(fw.sum(weights * discs[:, 4 + c]) / total for c in range(3))

    return fw.map(pixel, fw.iota(height * width))


def misfit(discs, picture, height, width):
    """The mean squared difference of a picture, three arrays of pixels, and that of the discs."""
    drawn = render(discs, height, width)
    return sum(fw.mean((a - b) ** 2) for a, b in zip(drawn, picture))


@fw.jit(static_argnames=("height", "width"))
def step(state, picture, number, height, width):
    """One step of Adam; the state is the discs and the means of gradients and of their squares."""
    discs, mean, square = state
    value, slope = fw.value_and_grad(misfit)(discs, picture, height, width)
    mean, square = 0.9 * mean + 0.1 * slope, 0.99 * square + 0.01 * slope**2
    scaled = (mean / (1 - 0.9**number)) / (fw.sqrt(square / (1 - 0.99**number)) + 1e-8)
    return (discs - 0.02 * scaled, mean, square), value


def fit(picture, count, steps, seed=0):
    """Discs that look like a picture of three channels, and how far off they were at each step."""
    height, width, _ = picture.shape
    rng = np.random.default_rng(seed)
    places, colours = rng.random((count, 2)), np.full((count, 3), 0.5)
    discs = np.hstack([places, np.full((count, 1), -2.0), np.zeros((count, 1)), colours])
    channels = tuple(np.ascontiguousarray(picture[..., c].reshape(-1)) for c in range(3))
    state, values = (discs, np.zeros_like(discs), np.zeros_like(discs)), []
    for number in range(1, steps + 1):
        state, value = step(state, channels, float(number), height=height, width=width)
        values.append(float(value))
    return np.asarray(state[0]), values


def draw(folder: Path, size=(64, 96), count=60, steps=200) -> Path:
    """Write the picture and what the discs make of it, side by side; its path."""
    folder.mkdir(parents=True, exist_ok=True)
    photo = Image.open(PHOTO).convert("RGB").resize(size[::-1])
    picture = np.asarray(photo, float) / 255
    discs, _ = fit(picture, count, steps)
    drawn = np.stack([np.asarray(c) for c in fw.jit(render, static_argnames=("height", "width"))(
        discs, height=size[0], width=size[1]
    )], 1).reshape(picture.shape)  # fmt: skip
    both = np.hstack([picture, np.clip(drawn, 0, 1)])
    path = folder / "renderer.png"
    Image.fromarray((both * 255).astype(np.uint8)).resize((768, 256)).save(path)
    return path


if __name__ == "__main__":
    print(draw(Path(sys.argv[1] if len(sys.argv) > 1 else "build")))
