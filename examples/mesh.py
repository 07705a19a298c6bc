"""Meshes: triangles in space, read from an archive and checked.

A mesh is an archive of NumPy with `vertices` (f32, n x 3) and `faces` (integers, m x 3); the
corners of a face go counter-clockwise as seen from outside.
"""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import flatweave as fw


class Vector(NamedTuple):
    """A point or a direction."""

    x: Any
    y: Any
    z: Any


class Face(NamedTuple):
    """The numbers of three vertices."""

    a: Any
    b: Any
    c: Any


class Mesh(NamedTuple):
    """Arrays of vertices, of faces, and of each face's normal."""

    vertices: Vector
    faces: Face
    normals: Vector


def minus(p: Vector, q: Vector) -> Vector:
    """From q to p."""
    return Vector(p.x - q.x, p.y - q.y, p.z - q.z)


def normal(p: Vector, q: Vector, r: Vector) -> Vector:
    """The direction, of length 1, from which p, q, r go counter-clockwise; 0 for a mere line."""
    u, v = minus(q, p), minus(r, p)
    x, y, z = u.y * v.z - u.z * v.y, u.z * v.x - u.x * v.z, u.x * v.y - u.y * v.x
    length = fw.sqrt(x * x + y * y + z * z)
    scale = fw.where(length > 0, 1 / length, 0)
    return Vector(x * scale, y * scale, z * scale)


@fw.jit
def normals_of(vertices: Vector, faces: Face) -> Vector:
    """The normal of every face."""
    return fw.map(lambda face: normal(*(Vector(*(x[k] for x in vertices)) for k in face)), faces)


def checked(vertices: np.ndarray, faces: np.ndarray, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Vertices in f32 and faces that make a mesh; raises ValueError for others."""
    for array, kinds, what in ((vertices, "f", "floats"), (faces, "iu", "integers")):
        if array.ndim != 2 or array.shape[1] != 3 or array.dtype.kind not in kinds:
            shape = " x ".join(map(str, array.shape))
            raise ValueError(f"{name}: n x 3 {what} are needed, got {shape} of {array.dtype}")
    if not len(vertices):
        raise ValueError(f"{name}: there are no vertices")
    with np.errstate(over="ignore"):  # too great for f32: infinite, and refused as such
        places = vertices.astype(np.float32)
    odd = np.flatnonzero(~np.isfinite(places).all(axis=1))
    if odd.size:
        raise ValueError(f"{name}: vertex {odd[0]} is not finite: {vertices[odd[0]].tolist()}")
    wrong = np.flatnonzero(((faces < 0) | (faces >= len(vertices))).any(axis=1))
    if wrong.size:
        raise ValueError(
            f"{name}: face {wrong[0]} has the corners {faces[wrong[0]].tolist()}, but the vertices"
            f" are numbered from 0 to {len(vertices) - 1}"
        )
    return places, faces


def mesh_of(vertices: np.ndarray, faces: np.ndarray, name: str = "the mesh") -> Mesh:
    """A mesh of n x 3 vertices and m x 3 faces; raises ValueError where these do not fit."""
    vertices, faces = checked(vertices, faces, name)
    places = Vector(*np.ascontiguousarray(vertices.T))
    corners = Face(*np.ascontiguousarray(faces.T, np.int32))
    return Mesh(places, corners, normals_of(places, corners))


def read(path: Path) -> Mesh:
    """The mesh of an archive; raises ValueError for other files, OSError for a missing one."""
    if path.exists() and not zipfile.is_zipfile(path):
        raise ValueError(f"{path}: this is no archive of NumPy, or its end is missing")
    try:
        with np.load(path) as archive:
            arrays = dict(archive)
    except (zipfile.BadZipFile, zlib.error) as failure:
        raise ValueError(f"{path}: the archive is damaged: {failure}") from None
    missing = {"vertices", "faces"} - set(arrays)
    if missing:
        raise ValueError(f"{path}: the archive has no array {sorted(missing)[0]!r}")
    return mesh_of(arrays["vertices"], arrays["faces"], str(path))
