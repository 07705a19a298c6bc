"""Calls of NumPy's functions and of ours with the same random arguments.

    call = random_call(pattern=12, values=3)
    call.difference()      "", or how ours differs from NumPy's
    call.text()            two lines of Python that show it

Ours is called as a function of `fw`, by NumPy's name on arrays of ours, as a method or an operator,
outside of a compiled function and inside.
"""

from __future__ import annotations

import inspect
import operator
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import flatweave as fw
from tests.surface.compare import difference
from tests.surface.draw import Draw, Name
from tests.surface.table import NEAR, TABLE, Row, Spread

METHODS = "sum prod min max any all mean argmin argmax cumsum cumprod clip round ravel reshape " \
          "dot astype"  # fmt: skip
SYMBOLS = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "floor_divide": "//",
    "power": "**", "remainder": "%", "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^",
    "left_shift": "<<",
    "right_shift": ">>", "equal": "==", "not_equal": "!=", "less": "<", "less_equal": "<=",
    "greater": ">", "greater_equal": ">=", "matmul": "@",
    "negative": "-", "positive": "+", "invert": "~",
}  # fmt: skip
OPERATORS = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "truediv", "power": "pow",
    "floor_divide": "floordiv", "remainder": "mod", "bitwise_and": "and_", "bitwise_or": "or_",
    "bitwise_xor": "xor", "left_shift": "lshift", "right_shift": "rshift", "equal": "eq",
    "not_equal": "ne", "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge",
    "matmul": "matmul", "negative": "neg", "positive": "pos", "invert": "invert",
}  # fmt: skip
RENAMED = {"var": {"ddof": "correction"}, "std": {"ddof": "correction"}, "eye": {"M": "n_cols"}}
WAYS = ("fw", "fw", "fw", "np", "np", "method", "jit", "jit np")
FAULTS = (AssertionError, AttributeError, KeyError, NameError, RecursionError, ZeroDivisionError,
          fw.CompilerBug)  # fmt: skip
KEPT: dict[str, Callable[..., Any]] = {}  # compiled functions by their text


@dataclass
class Call:
    """A call: the function's name, its arguments, with names for arrays, and how it is made."""

    name: str
    args: list[Any]
    named: dict[str, Any]
    arrays: dict[str, np.ndarray]
    forms: dict[str, str]
    way: str = "fw"
    seed: str = ""
    raised: bool = False  # by NumPy and by ours

    @property
    def row(self) -> Row:
        """What the table says of the function."""
        return TABLE[self.name]

    def theirs(self, arrays: dict[str, np.ndarray] | None = None) -> Any:
        """What NumPy gives; the exception that it raises."""
        arrays = self.arrays if arrays is None else arrays
        args, named = filled(self.args, arrays), filled(self.named, arrays)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                return found(np, self.name)(*args, **named)
            except Exception as raised:
                return raised

    def ours(self) -> Any:
        """What Flatweave gives; the exception that it raises."""
        held = {name: self._held(name, value) for name, value in self.arrays.items()}
        call = self._call
        if self.way.startswith("jit"):
            key = self.expression()
            call = KEPT.setdefault(key, fw.jit(self._call))
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                return call(held)
            except Exception as raised:
                return raised

    def _held(self, name: str, value: np.ndarray) -> Any:
        return fw.asarray(value) if self.is_ours(name) else value

    def is_ours(self, name: str) -> bool:
        """Whether an array is one of ours in the call."""
        is_first = name == next(iter(self.arrays))
        return self.forms[name] == "fw" or (self.way in ("np", "method", "operator") and is_first)

    def _call(self, arrays: dict[str, Any]) -> Any:
        args, named = filled(self.args, arrays), filled(self.named, arrays)
        if self.way == "method":
            return getattr(args[0], self.name)(*args[1:], **named)
        if self.way == "operator":
            return getattr(operator, OPERATORS[self.name])(*args)
        if self.way in ("np", "jit np"):
            return found(np, self.name)(*args, **named)
        return found(fw, self.name)(*args, **self._renamed(named))

    def _renamed(self, named: dict[str, Any]) -> dict[str, Any]:
        names = RENAMED.get(self.name, {})
        return {names.get(name, name): value for name, value in named.items()}

    def expression(self, is_ours: bool = True) -> str:
        """The call as Python writes it."""
        args = [shown(value) for value in self.args]
        named = self.named
        if is_ours and self.way == "operator":
            symbol = SYMBOLS[self.name]
            return f"{args[0]} {symbol} {args[1]}" if len(args) == 2 else f"{symbol}{args[0]}"
        module = "np" if not is_ours or self.way in ("np", "jit np") else "fw"
        if is_ours and self.way == "method":
            module, *args = args
        elif module == "fw":
            named = self._renamed(named)
        parts = ", ".join([*args, *(f"{key}={shown(value)}" for key, value in named.items())])
        return f"{module}.{self.name}({parts})"

    def text(self) -> str:
        """Two lines that show the difference."""
        lines = [f"{name} = {array_text(value, self.forms[name])}"
                 for name, value in self.arrays.items()]  # fmt: skip
        given = "".join(f"; {line}" for line in lines)
        expression = self.expression()
        if self.way.startswith("jit"):
            names = ", ".join(self.arrays)
            expression = f"fw.jit(lambda {names}: {expression})({names})"
        ours = [name for name in self.arrays if self.is_ours(name)]
        swap = f"{', '.join(ours)} = {', '.join(f'fw.asarray({name})' for name in ours)}; "
        first = "import numpy as np, flatweave as fw; from numpy import nan, inf" + given
        swap = swap if ours else ""
        return f"{first}\nprint({self.expression(False)}); {swap}print({expression})"

    def difference(self) -> str:
        """How ours differs from NumPy's; "" where it does not."""
        wanted, ours = self.theirs(), self.ours()
        if isinstance(ours, FAULTS):
            return f"fault {type(ours).__name__}: {first_line(ours)}"
        if isinstance(wanted, Exception):
            self.raised = isinstance(ours, Exception)
            if self.raised:
                return ""
            return f"gives {summary(ours)} instead of {type(wanted).__name__}: {first_line(wanted)}"
        if isinstance(ours, Exception):
            return f"raises {type(ours).__name__}: {first_line(ours)}"
        said = self._said(ours, wanted)
        if said and any(array.dtype == np.float16 for array in self.arrays.values()):
            read = {name: value.astype("f4") if value.dtype == np.float16 else value
                    for name, value in self.arrays.items()}  # fmt: skip
            if not self.row.moves:
                return self._said(ours, self.theirs(read))
        return said

    def _said(self, ours: Any, wanted: Any) -> str:
        row = self.row
        if row.view is not None:
            args = filled(self.args, self.arrays)
            ours = row.view(ours, *args, **self.named)
            wanted = row.view(wanted, *args, **self.named)
        near = row.near
        if self.is_complex() and near in ("exact", NEAR) and not row.moves:
            near = "far" if "pow" in self.name else NEAR
        return difference(ours, wanted, near, numbers((self.args, self.named), self.arrays))

    def is_complex(self) -> bool:
        """Whether complex numbers are computed with."""
        return any(x.dtype.kind == "c" for x in numbers((self.args, self.named), self.arrays))


def numbers(value: Any, arrays: dict[str, np.ndarray]) -> list[np.ndarray]:
    """All numbers among arguments, as arrays."""
    if isinstance(value, Name):
        return [arrays[value.text]]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return [part for item in value for part in numbers(item, arrays)]
    return [np.asarray(value)] if isinstance(value, int | float | complex | np.ndarray) else []


def filled(value: Any, arrays: dict[str, Any]) -> Any:
    """Arguments with arrays in place of their names."""
    if isinstance(value, Name):
        return arrays[value.text]
    if type(value) in (list, tuple):
        return type(value)(filled(part, arrays) for part in value)
    if isinstance(value, dict):
        return {key: filled(part, arrays) for key, part in value.items()}
    return value


def found(module: Any, name: str) -> Any:
    """The function of a module by a name that may have a dot."""
    for part in name.split("."):
        module = getattr(module, part)
    return module


def random_call(name: str, pattern: int, values: int) -> Call:
    """A call of a function: the pattern says which dtypes, ranks and options."""
    row = TABLE[name]
    d = Draw(f"{name} {pattern}", values, row.near in ("exact", "near"))
    args: list[Any] = []
    for kind in row.params:
        drawn = kind(d)
        several = drawn if isinstance(drawn, Spread) else [drawn]
        d.drawn += several
        args += several
    given = 0.3 if len(row.named) < 4 else 1.0 / len(row.named)
    named = {key: kind(d) for key, kind in row.named.items() if d.likely(given)}
    call = Call(name, args, named, d.arrays, d.forms, seed=f"{name} {pattern} {values}")
    call.way = way_of(call, d)
    return call


def way_of(call: Call, d: Draw) -> str:
    """How a call is made: as asked where the function has it, else by NumPy's name or ours."""
    way = str(d.pick(WAYS))
    if not call.arrays or _is_of_dtypes(call):
        names, known = RENAMED.get(call.name, {}), parameters(call.name)
        call.named = {key: x for key, x in call.named.items() if names.get(key, key) in known}
        return "fw"
    if way == "method":
        if not call.args or not isinstance(call.args[0], Name):
            way = "fw"
        elif call.name in OPERATORS and not call.named:
            return "operator"
        elif call.name not in METHODS.split():
            way = "np"
    if way in ("fw", "jit") and not call._renamed(call.named).keys() <= parameters(call.name):
        return "np"
    return way


def parameters(name: str) -> set[str]:
    """The names of the parameters of a function of ours."""
    return set(inspect.signature(found(fw, name)).parameters)


def _is_of_dtypes(call: Call) -> bool:
    return call.name in ("result_type", "can_cast", "isdtype", "astype", "array", "asarray")


def array_text(value: np.ndarray, form: str = "np") -> str:
    """An array as code."""
    if form == "F":
        return f"np.asfortranarray({array_text(value)})"
    if not value.size and value.ndim != 1:
        return f"np.zeros({value.shape}, '{value.dtype}')"
    return f"np.array({value.tolist()}, '{value.dtype}')"


def shown(value: Any) -> str:
    """An argument as code."""
    if isinstance(value, Name):
        return value.text
    if type(value) in (list, tuple):
        inside = ", ".join(map(shown, value)) + ("," if len(value) == 1 else "")
        return f"[{inside.rstrip(',')}]" if type(value) is list else f"({inside})"
    if isinstance(value, np.ndarray):
        return array_text(value)
    if isinstance(value, np.dtype):
        return f"np.dtype('{value}')"
    return repr(value)


def first_line(raised: BaseException) -> str:
    """The first line of what an exception says."""
    return (str(raised).splitlines() or [""])[0][:160]


def summary(value: Any) -> str:
    """A result on a line."""
    return " ".join(repr(value).split())[:100]
