"""Particles thrown so that they arrive on a ring: a simulation with lists of neighbours, backwards.

Each particle repels those on its list, of any length. The derivative of where all are after 50
steps, by where they were thrown, goes back through the steps and through the lists: a particle's
share in a neighbour's force returns to it.

    python examples/learning/particles.py [FOLDER]      particles.png: their paths, and the ring
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

import flatweave as fw

STEPS, TIME, RADIUS = 50, 0.02, 0.3


def push(x, y, lists):
    """The force on each particle: its neighbours' repulsion, which ends at a distance."""
    def one(a, b, near):
        dx, dy = a - fw.gather(x, near), b - fw.gather(y, near)
        strength = 10 * fw.maximum(RADIUS**2 - dx * dx - dy * dy, 0.0)
        return fw.sum(strength * dx), fw.sum(strength * dy)

    return fw.map(one, x, y, lists)


def fly(thrown, x, y, lists):
    """Where the particles are after all steps."""
    def step(_, state):
        x, y, u, v = state
        fx, fy = push(x, y, lists)
        u, v = u + TIME * fx, v + TIME * fy
        return x + TIME * u, y + TIME * v, u, v

    return fw.fori_loop(0, STEPS, step, (x, y, *thrown))[:2]


def miss(thrown, x, y, lists, goal):
    """The mean squared distance from the places where they should be."""
    x, y = fly(thrown, x, y, lists)
    return fw.mean((x - goal[0]) ** 2 + (y - goal[1]) ** 2)


def aim(x, y, lists, goal, rounds=120):
    """The velocities to throw them with, and the distance after each round."""
    step = fw.jit(fw.value_and_grad(miss))
    thrown, misses, rate = (np.zeros_like(x), np.zeros_like(y)), [], 0.2 * len(x)
    for _ in range(rounds):
        value, slopes = step(thrown, x, y, lists, goal)
        thrown = tuple(v - rate * np.asarray(s) for v, s in zip(thrown, slopes, strict=True))
        misses.append(float(value))
    return thrown, misses


def particles(count=120, seed=0):
    """Where they begin, lists of who is near whom, and the ring."""
    rng = np.random.default_rng(seed)
    angle, distance = rng.uniform(0, 2 * np.pi, count), np.sqrt(rng.uniform(0, 1, count))
    x, y = distance * np.cos(angle), distance * np.sin(angle)
    near = np.hypot(x[:, None] - x, y[:, None] - y) < 2 * RADIUS
    np.fill_diagonal(near, False)
    lists = fw.ragged([np.flatnonzero(row) for row in near])
    order = np.empty(count, int)
    order[np.argsort(angle)] = np.arange(count)
    turn = 2 * np.pi * order / count
    return x, y, lists, (2 * np.cos(turn), 2 * np.sin(turn))


def draw(folder: Path) -> Path:
    """The paths from the beginning to the ring; its path."""
    folder.mkdir(parents=True, exist_ok=True)
    x, y, lists, goal = particles()
    u, v = aim(x, y, lists, goal)[0]
    picture = Image.new("RGB", (500, 500), "white")
    pen = ImageDraw.Draw(picture)
    force = fw.jit(push)

    def dot(a, b, colour, size):
        for p, q in zip(250 + 105 * a, 250 + 105 * b, strict=True):
            pen.ellipse((p - size, q - size, p + size, q + size), colour)

    for step in range(STEPS + 1):
        dot(x, y, "#c3cddb" if step < STEPS else "#446cb3", 1 if step < STEPS else 4)
        fx, fy = map(np.asarray, force(x, y, lists))
        u, v = u + TIME * fx, v + TIME * fy
        x, y = x + TIME * u, y + TIME * v
    dot(*goal, "#d64541", 2)
    path = folder / "particles.png"
    picture.save(path)
    return path


if __name__ == "__main__":
    print(draw(Path(sys.argv[1] if len(sys.argv) > 1 else "build")))
