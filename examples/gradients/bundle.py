"""Bundle adjustment: how far points seen by cameras are from where they should be seen.

Problem BA of ADBench (Srajer, Kukelova and Fitzgibbon 2018). A camera has eleven numbers: a
rotation (axis times angle), a centre, a focal length, the middle of its picture and two radial
distortions. Each observation has two residuals, which depend on one camera, one point and one
weight alone: the Jacobian is a block of 2 x 15 for each observation, by reverse mode in one map.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from complex_steps import by_complex_steps

import flatweave as fw


def rotated(rotation: Any, x: Any) -> Any:
    """A point turned about an axis by the angle that is the axis' length (Rodrigues)."""
    square = fw.sum(rotation * rotation)
    angle = fw.sqrt(fw.where(square == 0, 1.0, square))
    axis = rotation / angle
    turned = (x * fw.cos(angle) + fw.linalg.cross(axis, x) * fw.sin(angle)
              + axis * (fw.sum(axis * x) * (1 - fw.cos(angle))))  # fmt: skip
    return fw.where(square == 0, x + fw.linalg.cross(rotation, x), turned)


def seen(camera: Any, point: Any) -> Any:
    """Where a camera sees a point."""
    in_front = rotated(camera[:3], point - camera[3:6])
    flat = in_front[:2] / in_front[2]
    far = fw.sum(flat * flat)
    return flat * (1 + camera[9] * far + camera[10] * far * far) * camera[6] + camera[7:9]


def residual(camera: Any, point: Any, weight: Any, feature: Any) -> Any:
    """Of one observation: camera [11], point [3], weight, and where the point should be seen."""
    return weight * (seen(camera, point) - feature)


@fw.jit
def jacobian(cameras: Any, points: Any, weights: Any, observations: Any, features: Any) -> Any:
    """Residuals [p, 2]; their blocks by camera [p, 2, 11], by point [p, 2, 3] and by weight [p, 2];
    those of weights [p], 1 - w^2, with -2 w."""

    def block(weight: Any, observed: Any, feature: Any) -> Any:
        given = cameras[observed[0]], points[observed[1]], weight, feature
        return residual(*given), fw.jacrev(residual, argnums=(0, 1, 2))(*given)

    errors, blocks = fw.map(block, weights, observations, features)
    return errors, *blocks, 1 - weights * weights, -2 * weights


def numpy_residual(
    camera: np.ndarray, point: np.ndarray, weight: np.ndarray, feature: np.ndarray
) -> Any:
    """The published formula in NumPy; its numbers may be complex."""
    rotation, away = camera[:3], point - camera[3:6]
    square = (rotation * rotation).sum()
    angle = np.sqrt(square)
    axis = rotation / angle if square else rotation
    turned = (away * np.cos(angle) + np.cross(axis, away) * np.sin(angle)
              + axis * ((axis * away).sum() * (1 - np.cos(angle)))) if square else (
              away + np.cross(rotation, away))  # fmt: skip
    flat = turned[:2] / turned[2]
    far = (flat * flat).sum()
    spread = 1 + camera[9] * far + camera[10] * far * far
    return weight * (flat * spread * camera[6] + camera[7:9] - feature)


def numpy_jacobian(
    cameras: np.ndarray, points: np.ndarray, weights: np.ndarray, observations: np.ndarray,
    features: np.ndarray,
) -> Any:  # fmt: skip
    """The same by complex steps, one observation after the other."""
    rows = []
    for weight, (camera, point), feature in zip(weights, observations, features, strict=True):
        value, blocks = by_complex_steps(
            lambda *given, f=feature: numpy_residual(*given, f),
            cameras[camera], points[point], weight,
        )  # fmt: skip
        rows.append((value, *blocks))
    return *map(np.array, zip(*rows, strict=True)), 1 - weights**2, -2 * weights


def problem(cameras: int, points: int, observations: int) -> tuple[np.ndarray, ...]:
    """Random cameras, points in front of them, weights, who sees what and where."""
    rng = np.random.default_rng(33)
    numbers = rng.normal(size=(cameras, 11))
    numbers[0, :3] = 0  # not rotated
    return (numbers, rng.normal(size=(points, 3)) + 10, rng.random(observations),
            np.stack([rng.integers(0, cameras, observations),
                      rng.integers(0, points, observations)], axis=1),
            rng.normal(size=(observations, 2)))  # fmt: skip


def cases(quick: bool) -> Iterator[tuple[str, str, Callable, Callable, Callable]]:
    """Program, input, the job here, the same in NumPy, whether they agree."""
    sizes = (3, 4, 8) if quick else (49, 777, 3184)
    given = problem(*sizes)
    yield (
        "bundle adjustment",
        f"{sizes[0]} cameras, {sizes[1]} points, {sizes[2]:,} observations",
        lambda: jacobian(*given),
        lambda: numpy_jacobian(*given),
        lambda ours, numpys: all(
            np.allclose(a, b, rtol=1e-8, atol=1e-8) for a, b in zip(ours, numpys, strict=True)
        ),
    )
