"""Random arguments: two streams, one for what a compiled program depends on, one for the rest.

    Draw(pattern=7, values=1), Draw(pattern=7, values=2)    one signature, other elements

Dtypes, ranks, and which options are given come from the pattern, extents and elements from the
values. Elements include NaN, infinities, both zeros and the least numbers; extents 0 and 1.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

BOOL = ("bool",)
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
FLOATS = ("float32", "float64")
SHORT = ("float16",)
COMPLEX = ("complex64", "complex128")
INTEGERS = SIGNED + UNSIGNED
REAL = BOOL + INTEGERS + SHORT + FLOATS
ALL = REAL + COMPLEX
EXTENTS = (0, 1, 1, 2, 2, 3, 3, 4, 5, 17)
WRONG = 0.04  # the share of arguments that do not fit


class Name(NamedTuple):
    """An array argument, by the name that a program has for it."""

    text: str


class Draw:
    """The arguments of one call: `arrays` holds the arrays, `given` what each name was drawn as."""

    def __init__(self, pattern: int, values: int, extreme: bool) -> None:
        self.pattern = random.Random(pattern)
        self.values = random.Random(f"{pattern} {values}")
        self.extreme = extreme
        self.arrays: dict[str, np.ndarray] = {}
        self.forms: dict[str, str] = {}
        self.drawn: list[Any] = []  # the values of the parameters so far, as NumPy takes them

    @property
    def first(self) -> np.ndarray:
        """The first argument, as an array."""
        first = self.drawn[0]
        if isinstance(first, list | tuple):  # of arrays
            arrays = [self.value(part) for part in first if isinstance(part, Name)]
            return arrays[0] if arrays else np.asarray(first[0] if first else first)
        return np.asarray(self.value(first))

    def value(self, given: Any) -> Any:
        """What a name is for."""
        return self.arrays[given.text] if isinstance(given, Name) else given

    def likely(self, share: float) -> bool:
        """Whether something is so, by the pattern."""
        return self.pattern.random() < share

    def wrong(self) -> bool:
        """Whether an argument is to be one that does not fit, by the values."""
        return self.values.random() < WRONG

    def pick(self, among: Sequence[Any]) -> Any:
        """One of several, by the pattern."""
        return among[self.pattern.randrange(len(among))]

    def some(self, among: Sequence[Any]) -> Any:
        """One of several, by the values."""
        return among[self.values.randrange(len(among))]

    def whole(self, low: int, high: int) -> int:
        """A whole number, both bounds included, by the values."""
        return self.values.randint(low, high)

    def shape(self, ranks: Sequence[int] = (0, 1, 1, 2, 2, 3)) -> tuple[int, ...]:
        """Extents for one of these ranks."""
        rank = self.pick(ranks)
        sizes = EXTENTS if rank < 3 else EXTENTS[:-1]
        return tuple(self.some(sizes) for _ in range(rank))

    def dtype(self, among: Sequence[str]) -> str:
        """A dtype; f64 and i64, which users have, more often."""
        usual = [name for name in ("float64", "int64", "float32") if name in among]
        return str(self.pick(usual if usual and self.likely(0.4) else among))

    def elements(self, shape: tuple[int, ...], dtype: str) -> np.ndarray:
        """Numbers of a dtype: small whole ones, any, or special ones among them."""
        style = self.some(("small", "small", "any", "special"))
        count = int(np.prod(shape))
        one = {"b": _truth, "i": _integer, "u": _integer, "f": _float, "c": _complex}
        kind = np.dtype(dtype)
        found = [one[kind.kind](self, kind, style) for _ in range(count)]
        with np.errstate(all="ignore"):
            return np.array(found, dtype=dtype).reshape(shape)

    def held(self, array: np.ndarray, forms: Sequence[str] = ()) -> Any:
        """An array as an argument: NumPy's, of ours, in another layout, a list, a number."""
        usual = ("np", "np", "np", "np", "np", "np", "fw", "fw", "fw", "F", "flip", "list", "tuple")
        form = self.pick(forms or usual)
        if form in ("list", "tuple") and array.size:  # an empty list has no dtype
            plain = array.tolist()
            return tuple(plain) if form == "tuple" and array.ndim == 1 else plain
        name = "abcdefgh"[len(self.arrays)]
        if form == "flip" and array.ndim:
            array = np.flip(np.flip(array).copy())
        elif form == "F":
            array = np.asfortranarray(array)
        self.arrays[name], self.forms[name] = array, form
        return Name(name)


def _truth(d: Draw, dtype: np.dtype[Any], style: str) -> bool:
    return d.values.random() < 0.5


def _integer(d: Draw, dtype: np.dtype[Any], style: str) -> int:
    info = np.iinfo(dtype)
    low = -4 if dtype.kind == "i" else 0
    if style == "special" and d.values.random() < 0.4:
        return int(d.some((info.min, info.max, info.min + 1, info.max - 1)))
    return d.whole(low, 6) if style != "any" else d.whole(max(info.min, -1000), min(info.max, 1000))


SPECIAL = (float("nan"), float("inf"), float("-inf"), -0.0, 0.0, 1.0, -1.0)
EXTREME = (1e-310, 1e308, -1e-45, 3e38, 65000.0, 2.0**63, -(2.0**31), 0.5, 1e-8)


def _float(d: Draw, dtype: np.dtype[Any], style: str) -> float:
    if style == "special" and d.values.random() < 0.4:
        return float(d.some(SPECIAL + EXTREME if d.extreme else SPECIAL))
    if style == "small":
        return d.whole(-8, 8) / 2
    return d.values.gauss(0, 1) * 10.0 ** d.whole(-2, 2)


def _complex(d: Draw, dtype: np.dtype[Any], style: str) -> complex:
    return complex(_float(d, dtype, style), _float(d, dtype, style))


Kind = Callable[[Draw], Any]
