"""A detector calibrated through a histogram: its scale and offset, from the counts alone.

Readings are counted in bins, each in two neighbours by how near it is to them. Such a histogram has
a derivative by the readings, which is a gather: a reading asks how its two bins should change. So
the gain and the offset of a detector are found that make its histogram that of a reference.

    python examples/learning/histogram.py [FOLDER]      histogram.png: before, and after
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

import flatweave as fw

BINS, LOW, HIGH = 64, -4.0, 8.0


def soft_histogram(readings):
    """The share of readings in each bin; one between two bins counts in both."""
    places = fw.clip((readings - LOW) / (HIGH - LOW) * (BINS - 1), 0.0, BINS - 1.001)
    left = fw.astype(fw.floor(places), fw.i64)
    weight = places - fw.floor(places)
    empty = fw.full(BINS, 0.0)
    lower = fw.reduce_by_index(empty, fw.add, 0.0, left, 1 - weight)
    return fw.reduce_by_index(lower, fw.add, 0.0, left + 1, weight) / readings.shape[0]


def distance(parameters, readings, wanted):
    """The distance of two distributions: the squared differences of their sums from the left."""
    moved = readings * parameters[0] + parameters[1]
    return fw.sum((fw.cumsum(soft_histogram(moved)) - fw.cumsum(wanted)) ** 2)


def calibrate(readings, wanted, steps=300):
    """The gain and the offset."""
    step = fw.jit(fw.value_and_grad(distance))
    parameters = np.array([1.0, 0.0])
    for _ in range(steps):
        _, slope = step(parameters, readings, wanted)
        parameters = parameters - np.array([0.02, 0.1]) * np.asarray(slope)
    return parameters


def measured(count=100_000, seed=0):
    """Readings with a wrong gain and offset, the right histogram, and both numbers."""
    rng = np.random.default_rng(seed)
    values = np.where(rng.random(count) < 0.3, rng.normal(3.5, 0.5, count), rng.normal(0, 1, count))
    gain, offset = 1.4, 0.8
    return (values - offset) / gain, np.asarray(soft_histogram(values)), (gain, offset)


def draw(folder: Path) -> Path:
    """The histogram before, after, and that of the reference as bars; its path."""
    folder.mkdir(parents=True, exist_ok=True)
    readings, wanted, _ = measured()
    gain, offset = calibrate(readings, wanted)
    picture = Image.new("RGB", (640, 320), "white")
    pen = ImageDraw.Draw(picture)
    for number, share in enumerate(wanted):
        pen.rectangle((number * 10, 310 - share * 4000, number * 10 + 8, 310), "#d5dbe3")
    for values, colour in ((readings, "#d64541"), (readings * gain + offset, "#446cb3")):
        counts = np.asarray(soft_histogram(values))
        pen.line([(k * 10 + 4, 310 - share * 4000) for k, share in enumerate(counts)], colour, 3)
    path = folder / "histogram.png"
    picture.save(path)
    return path


if __name__ == "__main__":
    print(draw(Path(sys.argv[1] if len(sys.argv) > 1 else "build")))
