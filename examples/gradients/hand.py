"""Hand tracking: 26 angles and lengths pose the bones of a hand, and bones move its skin.

Problem Hand of ADBench (Srajer, Kukelova and Fitzgibbon 2018), its simple form: the residuals are
the distances of measured points from the vertices that they belong to. Every residual depends on
every parameter: the Jacobian takes forward mode, 26 seeds at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from complex_steps import by_complex_steps

import flatweave as fw

FINGERS, BONES = 5, 22  # wrist, four of each finger, forearm
PARAMETERS = 26


class Hand(NamedTuple):
    """A model of a hand: for each bone its parent (an earlier one, or -1), its transform next to
    the parent at rest, and the inverse of its absolute one; the vertices at rest, and the weight of
    each bone for each vertex."""

    parents: Any  # i64[bones]
    relatives: Any  # f64[bones, 4, 4]
    inverses: Any  # f64[bones, 4, 4]
    vertices: Any  # f64[vertices, 4], the last number 1
    weights: Any  # f64[vertices, bones]


def angles_at() -> list[tuple[int, int, int]]:
    """Which parameter is which angle of which bone: the first of a finger's three has two."""
    found, parameter = [], 6
    for finger in range(FINGERS):
        for joint in range(3):
            bone = 2 + 4 * finger + joint
            for angle in (0, 1) if joint == 0 else (0,):
                found.append((parameter, bone, angle))
                parameter += 1
    return found


ANGLES = np.array(angles_at())


def turned(angles: Any) -> Any:
    """The matrix of a bone's angles about x, z and y."""
    (cx, cz, cy), (sx, sz, sy) = (list(f(angles)) for f in (fw.cos, fw.sin))
    return fw.asarray([
        [cy * cz, -cx * sz + sx * sy * cz, sx * sz + cx * sy * cz, 0.0],
        [cy * sz, cx * cz + sx * sy * sz, -sx * cz + cx * sy * sz, 0.0],
        [-sy, sx * cy, cx * cy, 0.0],
        [0.0, 0.0, 0.0, 1.0],
    ])  # fmt: skip


def whole(rotation: Any) -> Any:
    """The matrix [3, 3] of a rotation that is its axis times its angle."""
    angle = fw.sqrt(fw.sum(rotation * rotation))
    x, y, z = (rotation[k] / angle for k in range(3))
    s, c = fw.sin(angle), fw.cos(angle)
    return fw.asarray([
        [x * x + (1 - x * x) * c, x * y * (1 - c) - z * s, x * z * (1 - c) + y * s],
        [x * y * (1 - c) + z * s, y * y + (1 - y * y) * c, y * z * (1 - c) - x * s],
        [x * z * (1 - c) - y * s, z * y * (1 - c) + x * s, z * z + (1 - z * z) * c],
    ])  # fmt: skip


def skin(parameters: Any, hand: Hand) -> Any:
    """Where the vertices are: f64[vertices, 3]."""
    poses = fw.zeros((BONES, 3)).at[ANGLES[:, 1], ANGLES[:, 2]].set(parameters[ANGLES[:, 0]])
    relatives = fw.map(lambda rest, angles: rest @ turned(angles), hand.relatives, poses)

    def place(bone: Any, places: Any) -> Any:
        parent = hand.parents[bone]
        there = fw.where(parent < 0, fw.eye(4), places[fw.maximum(parent, 0)])
        return places.at[bone].set(there @ relatives[bone])

    places = fw.fori_loop(0, BONES, place, fw.zeros((BONES, 4, 4)))
    moves = fw.map(lambda to, back: (to @ back)[:3], places, hand.inverses)
    # each vertex times the weight of each bone: f64[bones * 4, vertices]
    heavy = fw.einsum("vb,vj->bjv", hand.weights, hand.vertices)
    heavy = fw.reshape(heavy, (BONES * 4, hand.vertices.shape[0]))
    bent = fw.reshape(fw.transpose(moves, (1, 0, 2)), (3, BONES * 4)) @ heavy
    return (whole(parameters[:3]) @ bent).T + parameters[3:6]


def residuals(parameters: Any, hand: Hand, points: Any, vertices: Any) -> Any:
    """f64[points, 3]: measured points less the vertices that they belong to."""
    return points - skin(parameters, hand)[vertices]


@fw.jit
def jacobian(parameters: Any, hand: Hand, points: Any, vertices: Any) -> Any:
    """The residuals, and their Jacobian f64[points, 3, 26]."""
    return residuals(parameters, hand, points, vertices), fw.jacfwd(residuals)(
        parameters, hand, points, vertices
    )


def numpy_residuals(parameters: np.ndarray, hand: Hand, points: np.ndarray, at: np.ndarray) -> Any:
    """The published formula in NumPy; its parameters may be complex."""
    poses = np.zeros((BONES, 3), parameters.dtype)
    poses[ANGLES[:, 1], ANGLES[:, 2]] = parameters[ANGLES[:, 0]]
    places = np.zeros((BONES, 4, 4), parameters.dtype)
    for bone, (parent, rest) in enumerate(zip(hand.parents, hand.relatives, strict=True)):
        (cx, cz, cy), (sx, sz, sy) = np.cos(poses[bone]), np.sin(poses[bone])
        about_x = np.array([[1, 0, 0], [0, cx, -sx], [0, sx, cx]])
        about_y = np.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]])
        about_z = np.array([[cz, -sz, 0], [sz, cz, 0], [0, 0, 1]])
        turn = np.eye(4, dtype=parameters.dtype)
        turn[:3, :3] = about_z @ about_y @ about_x
        places[bone] = (places[parent] if parent >= 0 else np.eye(4)) @ rest @ turn
    moves = places @ hand.inverses
    bent = np.einsum("vb,bij,vj->vi", hand.weights, moves, hand.vertices)[:, :3]
    angle = np.sqrt((parameters[:3] ** 2).sum())
    x, y, z = parameters[:3] / angle
    across = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    turn = np.eye(3) + np.sin(angle) * across + (1 - np.cos(angle)) * across @ across
    return points - (bent @ turn.T + parameters[3:6])[at]


def problem(vertices: int, points: int) -> tuple[Any, ...]:
    """Random parameters, a random hand, points and the vertices that they belong to."""
    rng = np.random.default_rng(34)
    parents = np.array([-1] + [0 if k % 4 == 0 else k for k in range(4 * FINGERS)] + [0])
    relatives = np.tile(np.eye(4), (BONES, 1, 1)) + 0.1 * rng.normal(size=(BONES, 4, 4))
    relatives[:, 3] = 0, 0, 0, 1
    rest = np.tile(np.eye(4), (BONES, 1, 1))
    for bone, parent in enumerate(parents):
        rest[bone] = (rest[parent] if parent >= 0 else np.eye(4)) @ relatives[bone]
    weights = rng.random((vertices, BONES)) ** 8
    hand = Hand(
        parents, relatives, np.linalg.inv(rest),
        np.concatenate([rng.normal(size=(vertices, 3)), np.ones((vertices, 1))], axis=1),
        weights / weights.sum(axis=1, keepdims=True),
    )  # fmt: skip
    return (rng.normal(size=PARAMETERS), hand, rng.normal(size=(points, 3)),
            rng.integers(0, vertices, points))  # fmt: skip


def cases(quick: bool) -> Iterator[tuple[str, str, Callable, Callable, Callable]]:
    """Program, input, the job here, the same in NumPy, whether they agree."""
    vertices, points = (7, 5) if quick else (544, 100)
    parameters, *given = problem(vertices, points)

    def numpys() -> Any:
        value, (slopes,) = by_complex_steps(lambda p: numpy_residuals(p, *given), parameters)
        return value, slopes

    yield (
        "hand tracking",
        f"{vertices} vertices, {points} points",
        lambda: jacobian(parameters, *given),
        numpys,
        lambda ours, numpys: all(
            np.allclose(a, b, rtol=1e-9, atol=1e-9) for a, b in zip(ours, numpys, strict=True)
        ),
    )
