"""What is compared of results that are not unique: signs and order of vectors are free."""

from __future__ import annotations

from typing import Any

import numpy as np


def _adjoint(x: Any) -> Any:
    return np.conj(np.swapaxes(x, -1, -2))


def _qr(found: Any, a: Any, mode: str = "reduced") -> list[Any]:
    if mode == "r":
        r = np.asarray(found)
        return [_adjoint(r) @ r]
    q, r = map(np.asarray, found)
    return [q @ r, _adjoint(q) @ q, np.tril(r, -1)]


def _svd(found: Any, a: Any, full_matrices: bool = True, compute_uv: bool = True) -> list[Any]:
    if not compute_uv:
        return [np.asarray(found)]
    u, s, v = map(np.asarray, found)
    count = s.shape[-1]
    return [s, (u[..., :count] * s[..., None, :]) @ v[..., :count, :], _adjoint(u) @ u,
            v @ _adjoint(v)]  # fmt: skip


def _eigh(found: Any, a: Any, UPLO: str = "L") -> list[Any]:
    values, vectors = map(np.asarray, found)
    whole = (vectors * values[..., None, :]) @ _adjoint(vectors)
    return [values, whole, _adjoint(vectors) @ vectors]


def _in_order(values: Any) -> Any:
    """Eigenvalues by real part, those that are near each other by the imaginary one."""
    values = np.asarray(values)
    places = np.lexsort((values.imag.round(3), values.real.round(3)), axis=-1)
    return np.take_along_axis(values, places, axis=-1)


def _eig(found: Any, a: Any) -> list[Any]:
    values, vectors = map(np.asarray, found)
    lengths = np.sqrt(np.sum(abs(vectors) ** 2, axis=-2))
    residual = np.asarray(a) @ vectors - vectors * values[..., None, :]
    return [_in_order(values), lengths, residual]


def _sorted(found: Any, a: Any) -> list[Any]:
    return [np.sort(np.asarray(found))]


def _by_value(found: Any, a: Any) -> list[Any]:
    """Distinct values in order, with what is said of each."""
    values, *rest = map(np.asarray, found)
    places = np.argsort(values, kind="stable")
    at = {"inverse_indices": np.argsort(places)}
    names = found._fields[1:]
    return [values[places], *(
        at[name][part] if name in at and part.size else part if name in at else part[places]
        for name, part in zip(names, rest, strict=True))]  # fmt: skip


def _argsort(found: Any, a: Any, axis: int | None = -1, stable: bool = False) -> list[Any]:
    """Elements in order; the indices themselves where equal ones keep theirs."""
    found, a = np.asarray(found), np.asarray(a)
    lines, at = (a.ravel(), 0) if axis is None else (a, axis)
    if stable or not a.ndim or found.ndim != lines.ndim:
        return [found]
    return [np.take_along_axis(lines, found, at)]


VIEWS = {"argsort": _argsort,
    "unique_values": _sorted, "unique_all": _by_value, "unique_counts": _by_value,
    "unique_inverse": _by_value,
    "linalg.qr": _qr, "linalg.svd": _svd, "linalg.eigh": _eigh, "linalg.eig": _eig,
    "linalg.eigvals": lambda found, a: [_in_order(found)],
}  # fmt: skip
