"""Terms as text that `parse.py` reads back: derived from the fields of the records.

    total(n_1: i64, xs_2: f32[n_1]) =>
        a_3: f32[n_1] = map (x_4: f32 => mul x_4 x_4) [xs_2]
        s_5: f32 = reduce (add f32) [0.0f32] [a_3]
        in s_5

    scalar functions        add x y             where a body is one let, that let alone
    operators               (add f32)           (a: f32, b: f32 => add a b)
    constants               7 is an i64; 2.0f32, 3u8, true, nanf64
    tuples of fields        [x, y]              parts stand as ops do: [store, compact 1]
    fields with a default   name=value          only where they differ from it

A variable keeps its name unless that stands for something else there already; locations are not
printed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any

import numpy as np

from flatweave.base.dtypes import BY_NAME, DType, f32, i64
from flatweave.base.records import REQUIRED, fields
from flatweave.scalar.ops import TABLE
from flatweave.terms.control import Apply
from flatweave.terms.syntax import (
    OPS,
    PARTS,
    ArrayType,
    BufferType,
    Const,
    Lambda,
    Let,
    Op,
    Part,
    Type,
    Var,
)

WIDTH = 100
INDENT = "    "
KEYWORDS = frozenset(
    {"in", "true", "false", "none", "host", "kernel", "warps", "global", "shared", "local"}
)


def is_reserved(name: str) -> bool:
    """Whether a name means something else in the text."""
    known = name in KEYWORDS or name in BY_NAME or name in TABLE or name in OPS or name in PARTS
    return known or name[:4] in ("inff", "nanf")


def print_name(name: str) -> str:
    """What a program is called, in quotes unless it is a word or Python's `<lambda>`."""
    return name if re.fullmatch(r"(?!inff|nanf)[^\W\d]\w*|<\w+>", name) else quoted(name)


def print_function(name: str, fn: Lambda, label: str = "", canonical: bool = False) -> str:
    """`name(params) =>` with the body below; `label` stands before the arrow."""
    printer = Printer(canonical)
    head = f"{name}({printer.binders(fn.params)}){label and ' ' + label} =>"
    return "\n".join([head, *printer.body(fn, INDENT)]) + "\n"


def print_let(let: Let) -> str:
    """A let alone, for messages."""
    return Printer().let(let, "")


def print_type(type_: Type) -> str:
    """A type alone."""
    return Printer().type(type_)


class Printer:
    """Names in scope; `canonical` ones are v_1, v_2, .. in the order of their binding."""

    def __init__(self, canonical: bool = False) -> None:
        self.canonical = canonical
        self.names: dict[Var, str] = {}
        self.taken: set[str] = set()
        self.scope: list[str] = []  # the names that are taken, the innermost last
        self.count = 0

    # -- names ------------------------------------------------------------------------------------

    def bind(self, var: Var) -> str:
        """A name for a variable, no other one's in this scope."""
        self.count += 1
        name = f"v_{self.count}" if self.canonical else _identifier(var.name)
        if name in self.taken:
            stem = name.rstrip("0123456789").rstrip("_")
            fresh = (f"{stem}_{k}" for k in count(self.count))
            name = next(candidate for candidate in fresh if candidate not in self.taken)
        self.names[var] = name
        self.taken.add(name)
        self.scope.append(name)
        return name

    def binders(self, vars_: Iterable[Var]) -> str:
        """Variables with their types; a later one's type may name an earlier one."""
        return ", ".join(f"{self.bind(var)}: {self.type(var.type)}" for var in vars_)

    def var(self, var: Var) -> str:
        """A variable that is read; one bound nowhere here keeps its name."""
        return self.names.get(var) or self.bind(var)

    # -- bodies -----------------------------------------------------------------------------------

    def body(self, fn: Lambda, margin: str) -> list[str]:
        """The lines of a body, the results last."""
        lines = [self.let(let, margin) for let in fn.lets]
        if fn.results or not fn.lets:
            results = wrapped([self.field(result, margin) for result in fn.results], margin)
            lines.append(f"{margin}in {results or '()'}")
        return lines

    def let(self, let: Let, margin: str) -> str:
        """A let on one line if it is short enough, else with its bodies below."""
        binders = wrapped([self.binders([var]) for var in let.vars], margin)
        head = f"{margin}{binders} = " if binders else margin
        bound = self.count
        flat = self.op(let.op, None)
        if "\n" not in flat and len(head.split("\n")[-1]) + len(flat) <= WIDTH:
            return head + flat
        self.count = bound
        return head + self.op(let.op, margin)

    def function(self, fn: Lambda, margin: str | None) -> str:
        """A lambda; with a margin its body may be on separate lines."""
        operator = operator_of(fn)
        if operator is not None:
            return f"({operator.fn} {fn.params[0].type})"
        around = len(self.scope)
        params = self.binders(fn.params) or "()"
        if not fn.lets:
            results = ", ".join(self.field(result, margin) for result in fn.results)
            text = f"({params} => {results or '()'})"
        elif margin is None and is_short(fn):
            text = f"({params} => {self.op(fn.lets[0].op, None)})"
        elif margin is None:
            text = "\n"
        else:
            lines = "\n".join(self.body(fn, margin + INDENT))
            text = f"({params} =>\n{lines})"
        self.taken.difference_update(self.scope[around:])
        del self.scope[around:]
        return text

    # -- fields -----------------------------------------------------------------------------------

    def op(self, op: Op | Part, margin: str | None) -> str:
        """An op's or part's name and fields; no margin: on one line, or with a line end in it."""
        if isinstance(op, Apply) and op.fn in TABLE and len(op.args) == TABLE[op.fn].arity:
            return " ".join([op.fn, *(self.field(arg, margin) for arg in op.args)])
        words = [op.name]
        for field in fields(op):
            value = getattr(op, field.name)
            if field.default is REQUIRED:
                words.append(self.field(value, margin))
            elif value != field.default:
                words.append(f"{field.name}={self.field(value, margin)}")
        return " ".join(words)

    def field(self, value: Any, margin: str | None) -> str:
        """Any field of a record."""
        match value:
            case Var():
                return self.var(value)
            case Const():
                return constant_text(value)
            case Lambda():
                return self.function(value, margin)
            case tuple():
                return self.items(value, margin)
            case Part() | Op():
                return self.op(value, margin)
            case bool():
                return "true" if value else "false"
            case DType() | int():
                return str(value)
            case str():
                return value if value.isidentifier() else quoted(value)
            case None:
                return "none"
        raise TypeError(f"a field cannot be {value!r}")

    def items(self, items: tuple[Any, ...], margin: str | None) -> str:
        """A tuple; if one item needs separate lines, all do."""
        text = f"[{', '.join(self.field(item, None) for item in items)}]"
        if "\n" not in text or margin is None:
            return text
        inside = margin + INDENT
        return "[\n" + ",\n".join(inside + self.field(item, inside) for item in items) + "]"

    def type(self, type_: Type) -> str:
        """A type: f32, f32[n, 3], global f32."""
        match type_:
            case ArrayType(dtype=dtype, shape=shape):
                return f"{dtype}{self.field(shape, '')}"
            case BufferType(dtype=dtype, space=space):
                return f"{space} {dtype}"
            case DType():
                return str(type_)


def operator_of(fn: Lambda) -> Apply | None:
    """The scalar function that a lambda is, all parameters in order and of one dtype."""
    match fn.lets:
        case (Let(vars=(var,), op=Apply() as made),):
            params = fn.params
            same = bool(params) and all(param.type is params[0].type for param in params)
            if same and fn.results == (var,) and made.args == params and made.fn in TABLE:
                return made
    return None


def is_short(fn: Lambda) -> bool:
    """Whether a lambda is one let whose results are scalars of the types that its op gives."""
    if len(fn.lets) != 1 or fn.results != fn.lets[0].vars:
        return False
    types = tuple(var.type for var in fn.lets[0].vars)
    return all(isinstance(t, DType) for t in types) and fn.lets[0].op.result_types() == types


def wrapped(items: Sequence[str], margin: str) -> str:
    """Items with commas, on as many lines as they need."""
    lines, used = [""], len(margin)
    for k, item in enumerate(items):
        word = item if k == len(items) - 1 else f"{item},"
        if lines[-1] and used + 1 + len(word) > WIDTH - 3:
            lines.append(margin + word)
            used = len(lines[-1])
        else:
            lines[-1] += f" {word}" if lines[-1] else word
            used += len(word) + 1
    return "\n".join(lines)


def constant_text(const: Const) -> str:
    """2.0f32, 3u8, true; an i64 is a bare number."""
    value, dtype = const.value, const.dtype
    if dtype.kind == "b":
        return "true" if value else "false"
    if dtype.is_integer:
        return str(int(value)) if dtype is i64 else f"{int(value)}{dtype}"
    if not math.isfinite(value):
        return f"{'-' if math.copysign(1, value) < 0 else ''}{abs(value)!r}{dtype}"
    short = float(value)
    if dtype is f32 and float(np.float32(short)) == short:
        return f"{np.float32(short)!s}{dtype}"
    return f"{short!r}{dtype}"


def quoted(text: str) -> str:
    """A string in double quotes, without backslashes: a quote inside is written twice."""
    return '"' + text.replace('"', '""') + '"'


def _identifier(name: str) -> str:
    """The name itself if the text can contain it, else a similar name."""
    letters = "".join(c if c.isalnum() or c == "_" else "_" for c in name)
    if not letters.isidentifier():
        letters = f"v{letters}"
    return f"{letters}_" if is_reserved(letters) else letters
