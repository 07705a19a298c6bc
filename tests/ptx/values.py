"""What instructions of PTX compute, lane by lane: from arrays of bits to arrays of bits.

`COMPUTED[name](parts, kind, *operands)` gives the result of `name.parts`, where `kind` is the last
type that the instruction names. Operands are arrays of that type, if `kinds_of` names no other.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

Lanes = np.ndarray[Any, Any]

DTYPES = {"pred": np.dtype(bool)} | {
    kind + str(bits): np.dtype(f"{letter}{bits // 8}")
    for kind, letter in (("b", "u"), ("u", "u"), ("s", "i"), ("f", "f"))
    for bits in (8, 16, 32, 64)
    if kind != "f" or bits > 8
}
DTYPES["b128"] = DTYPES["b64"]  # registers of 128 bits are pairs
"""The NumPy type of each type of PTX."""


def unsigned(bits: int) -> np.dtype:
    """The NumPy type of a register of this many bits."""
    return np.dtype(bool) if bits == 8 else np.dtype(f"u{bits // 8}")


@functools.cache
def _fused(size: int) -> np.ufunc:
    """A product and a sum that are rounded once, by C's library."""
    library = ctypes.CDLL(ctypes.util.find_library("m"))
    function, kind = (library.fma, ctypes.c_double) if size == 8 else (library.fmaf, ctypes.c_float)
    function.restype, function.argtypes = kind, [kind] * 3
    return np.frompyfunc(function, 3, 1)


def _fma(parts: tuple[str, ...], kind: np.dtype, a: Lanes, b: Lanes, c: Lanes) -> Lanes:
    if kind.itemsize == 2:
        return (a.astype("f8") * b + c).astype(kind)
    return np.asarray(_fused(kind.itemsize)(a, b, c)).astype(kind)


def _wide(kind: np.dtype) -> np.dtype:
    return np.dtype(f"{kind.kind}{2 * kind.itemsize}")


def _mul(parts: tuple[str, ...], kind: np.dtype, a: Lanes, b: Lanes) -> Lanes:
    if "wide" in parts:
        return a.astype(_wide(kind)) * b.astype(_wide(kind))
    if "hi" in parts:
        if kind.itemsize < 8:
            whole = a.astype(_wide(kind)) * b.astype(_wide(kind))
            return (whole >> (8 * kind.itemsize)).astype(kind)
        whole = a.astype(object) * b.astype(object) >> 64
        return np.asarray(whole).astype(kind)
    return a * b


def _mad(parts: tuple[str, ...], kind: np.dtype, a: Lanes, b: Lanes, c: Lanes) -> Lanes:
    return _mul(parts, kind, a, b) + c


def _divided(a: Lanes, b: Lanes) -> tuple[Lanes, Lanes]:
    """Quotients towards zero and remainders; of a division by 0, all bits and the dividend."""
    b = np.where(b == 0, b.dtype.type(1), b)
    if a.dtype.kind == "u":
        return a // b, a % b
    quotient = np.floor_divide(a, b)
    rest = a - quotient * b
    upwards = (rest != 0) & ((a < 0) != (b < 0))
    quotient = quotient + upwards
    return quotient, a - quotient * b


def _div(parts: tuple[str, ...], kind: np.dtype, a: Lanes, b: Lanes) -> Lanes:
    if kind.kind == "f":
        return a / b
    return np.where(b == 0, np.array(-1).astype(kind), _divided(a, b)[0])


def _rem(parts: tuple[str, ...], kind: np.dtype, a: Lanes, b: Lanes) -> Lanes:
    return np.where(b == 0, a, _divided(a, b)[1])


def _least(parts: tuple[str, ...], kind: np.dtype, a: Lanes, b: Lanes) -> Lanes:
    return np.minimum(a, b) if kind.kind != "f" or "NaN" in parts else _of_zeros(np.fmin, a, b)


def _greatest(parts: tuple[str, ...], kind: np.dtype, a: Lanes, b: Lanes) -> Lanes:
    return np.maximum(a, b) if kind.kind != "f" or "NaN" in parts else _of_zeros(np.fmax, a, b)


def _of_zeros(choose: Any, a: Lanes, b: Lanes) -> Lanes:
    """-0.0 is less than 0.0."""
    negative = np.signbit(a) | np.signbit(b) if choose is np.fmin else np.signbit(a) & np.signbit(b)
    return np.where(
        (a == 0) & (b == 0), np.where(negative, -0.0, 0.0).astype(a.dtype), choose(a, b)
    )


def _shift(parts: tuple[str, ...], kind: np.dtype, a: Lanes, by: Lanes) -> Lanes:
    """Shifts beyond the width give zeros, or the sign."""
    width = 8 * kind.itemsize
    most = np.minimum(by, width - 1).astype(kind)
    if parts[0] == "shl":
        return np.where(by >= width, kind.type(0), a << most)
    return np.where((by >= width) & (kind.kind == "u"), kind.type(0), a >> most)


def _compared(parts: tuple[str, ...], kind: np.dtype, a: Lanes, b: Lanes) -> Lanes:
    name = parts[1]
    if name in ("nan", "num"):
        return (np.isnan(a) | np.isnan(b)) == (name == "nan")
    name = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}.get(name, name)
    unordered = len(name) == 3
    found = {
        "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal,
        "gt": np.greater, "ge": np.greater_equal,
    }[name[:2]](a, b)  # fmt: skip
    if kind.kind != "f":
        return found
    strange = np.isnan(a) | np.isnan(b)
    return (found | strange) if unordered else (found & ~strange)


def _setp(
    parts: tuple[str, ...], kind: np.dtype, a: Lanes, b: Lanes, c: Lanes | None = None
) -> Lanes:
    found = _compared(parts, kind, a, b)
    for name, combine in (("and", np.logical_and), ("or", np.logical_or), ("xor", np.logical_xor)):
        if c is not None and name in parts[2:]:
            return combine(found, c)
    return found


def _bits(count: Lanes) -> Lanes:
    return np.asarray(count).astype(np.uint32)


def _clz(parts: tuple[str, ...], kind: np.dtype, a: Lanes) -> Lanes:
    width = 8 * kind.itemsize
    for step in (1, 2, 4, 8, 16, 32):
        if step < width:
            a = a | a >> kind.type(step)
    return _bits(width - np.bitwise_count(a).astype(np.int64))


def _brev(parts: tuple[str, ...], kind: np.dtype, a: Lanes) -> Lanes:
    raw = np.ascontiguousarray(a).view(np.uint8).reshape(len(a), -1)
    turned = np.packbits(
        np.unpackbits(raw, axis=1, bitorder="little")[:, ::-1], axis=1, bitorder="little"
    )
    return turned.view(kind).ravel()


def _bfi(
    parts: tuple[str, ...], kind: np.dtype, a: Lanes, b: Lanes, at: Lanes, count: Lanes
) -> Lanes:
    width = 8 * kind.itemsize
    at, count = at & 255, count & 255
    mask = _below(kind, np.minimum(count, width)) << np.minimum(at, width - 1).astype(kind)
    mask = np.where(at >= width, kind.type(0), mask)
    return (a << np.minimum(at, width - 1).astype(kind) & mask) | (b & ~mask)


def _below(kind: np.dtype, count: Lanes) -> Lanes:
    """A mask of the `count` lowest bits."""
    width = 8 * kind.itemsize
    full = kind.type(2**width - 1)
    return np.where(count == 0, kind.type(0), full >> (width - np.maximum(count, 1)).astype(kind))


def _bfe(parts: tuple[str, ...], kind: np.dtype, a: Lanes, at: Lanes, count: Lanes) -> Lanes:
    width = 8 * kind.itemsize
    plain = np.dtype(f"u{kind.itemsize}")
    at, count = at & 255, np.minimum(count & 255, width)
    found = np.where(at >= width, 0, a.view(plain) >> np.minimum(at, width - 1).astype(plain))
    found = found.astype(plain) & _below(plain, count)
    if kind.kind == "u":
        return found
    last = np.minimum(at + np.maximum(count, 1) - 1, width - 1).astype(plain)
    is_negative = (a.view(plain) >> last & plain.type(1)).astype(bool) & (count > 0)
    return np.where(is_negative, found | ~_below(plain, count), found).view(kind)


def _prmt(parts: tuple[str, ...], kind: np.dtype, a: Lanes, b: Lanes, how: Lanes) -> Lanes:
    both = a.astype(np.uint64) | b.astype(np.uint64) << np.uint64(32)
    result = np.zeros(len(a), np.uint64)
    for k in range(4):
        pick = (how >> np.uint32(4 * k) & np.uint32(15)).astype(np.uint64)
        byte = both >> (pick & np.uint64(7)) * np.uint64(8) & np.uint64(255)
        sign = np.where(byte & np.uint64(128), np.uint64(255), np.uint64(0))
        result |= np.where(pick & np.uint64(8), sign, byte) << np.uint64(8 * k)
    return result.astype(np.uint32)


def _lop3(
    parts: tuple[str, ...], kind: np.dtype, a: Lanes, b: Lanes, c: Lanes, table: Lanes
) -> Lanes:
    result = np.zeros_like(a)
    for k in range(8):
        chosen = (a if k & 4 else ~a) & (b if k & 2 else ~b) & (c if k & 1 else ~c)
        result |= np.where(table >> np.uint32(k) & np.uint32(1), chosen, np.uint32(0))
    return result


def _funnel(parts: tuple[str, ...], kind: np.dtype, a: Lanes, b: Lanes, by: Lanes) -> Lanes:
    both = a.astype(np.uint64) | b.astype(np.uint64) << np.uint64(32)
    by = (by & np.uint32(31) if "wrap" in parts else np.minimum(by, np.uint32(32))).astype(
        np.uint64
    )
    shifted = (both << by) >> np.uint64(32) if "l" in parts else both >> by
    return shifted.astype(np.uint32)


def _slct(parts: tuple[str, ...], kind: np.dtype, a: Lanes, b: Lanes, c: Lanes) -> Lanes:
    return np.where(c >= 0, a, b)


def _copysign(parts: tuple[str, ...], kind: np.dtype, a: Lanes, b: Lanes) -> Lanes:
    return np.copysign(b, a)


def _testp(parts: tuple[str, ...], kind: np.dtype, a: Lanes) -> Lanes:
    tests = {
        "finite": np.isfinite, "infinite": np.isinf, "notanumber": np.isnan,
        "number": lambda x: ~np.isnan(x),
    }  # fmt: skip
    return tests[parts[1]](a)


def converted(parts: tuple[str, ...], to: np.dtype, values: Lanes) -> Lanes:
    """`cvt`: floats round as asked, and saturate when they become integers; NaN becomes 0."""
    if values.dtype.kind == "f" and to.kind != "f":
        rounding = next((p for p in parts if p in _ROUNDED), "rzi")
        rounded = _ROUNDED[rounding](values.astype(np.float64))
        low, high = np.iinfo(to).min, np.iinfo(to).max
        inside = np.clip(np.nan_to_num(rounded, nan=0.0, posinf=0.0, neginf=0.0), low, high)
        exact = np.where(inside >= float(high), 0.0, inside).astype(to)
        result = np.where(rounded >= float(high), to.type(high), exact)
        result = np.where(rounded <= float(low), to.type(low), result)
        return np.where(np.isnan(rounded), to.type(0), result)
    if values.dtype.kind == "f" and to.kind == "f" and values.dtype == to:
        rounding = next((p for p in parts if p in _ROUNDED), None)
        return _ROUNDED[rounding](values) if rounding else values
    if values.dtype.kind == "f" and "rz" in parts and to.itemsize < values.dtype.itemsize:
        near = values.astype(to)
        return np.where(np.abs(near.astype(values.dtype)) > np.abs(values),
                        np.nextafter(near, to.type(0)), near)  # fmt: skip
    if "sat" in parts and to.kind != "f":
        return np.clip(values, np.iinfo(to).min, np.iinfo(to).max).astype(to)
    return values.astype(to)


_ROUNDED: dict[str, Callable[[Lanes], Lanes]] = {
    "rzi": np.trunc, "rni": np.rint, "rmi": np.floor, "rpi": np.ceil,
}  # fmt: skip


def _one(function: Callable[..., Any]) -> Callable[..., Lanes]:
    return lambda parts, kind, *operands: function(*operands)


COMPUTED: dict[str, Callable[..., Lanes]] = {
    "add": _one(np.add), "sub": _one(np.subtract), "mul": _mul, "mad": _mad, "fma": _fma,
    "div": _div, "rem": _rem, "min": _least, "max": _greatest, "neg": _one(np.negative),
    "abs": _one(np.abs), "and": _one(np.bitwise_and), "or": _one(np.bitwise_or),
    "xor": _one(np.bitwise_xor), "not": _one(np.invert), "shl": _shift, "shr": _shift,
    "setp": _setp, "selp": lambda parts, kind, a, b, c: np.where(c, a, b), "slct": _slct,
    "popc": lambda parts, kind, a: _bits(np.bitwise_count(a)), "clz": _clz, "brev": _brev,
    "bfi": _bfi, "bfe": _bfe, "prmt": _prmt, "lop3": _lop3, "shf": _funnel,
    "sqrt": _one(np.sqrt), "rsqrt": lambda parts, kind, a: (1 / np.sqrt(a)).astype(kind),
    "rcp": lambda parts, kind, a: (1 / a).astype(kind), "ex2": _one(np.exp2), "lg2": _one(np.log2),
    "sin": _one(np.sin), "cos": _one(np.cos), "tanh": _one(np.tanh), "copysign": _copysign,
    "testp": _testp,
}  # fmt: skip

COUNTS = {"popc", "clz"}
"""Their results are u32, whatever their type is."""


def kinds_of(parts: tuple[str, ...], count: int) -> list[np.dtype]:
    """The types of the operands of an instruction that `COMPUTED` has."""
    name, kind = parts[0], DTYPES[parts[-1]]
    u32, pred = DTYPES["u32"], DTYPES["pred"]
    if name in ("shl", "shr"):
        return [kind, u32]
    if name == "selp":
        return [kind, kind, pred]
    if name == "setp":
        return [kind, kind, pred][:count]
    if name == "bfi":
        return [kind, kind, u32, u32]
    if name == "bfe":
        return [kind, u32, u32]
    if name == "slct":
        return [DTYPES[parts[-2]]] * 2 + [kind]
    if name == "mad" and "wide" in parts:
        return [kind, kind, _wide(kind)]
    return [kind] * count
