"""Text, as `print.py` writes it, back to terms.

    program ::= (name | "<" name ">" | string) "(" binder, .. ")" "=>" body
    lambda  ::= "(" (binder, ..) "=>" body ")"  |  "(" function dtype ")"       params "()" if none
    body    ::= let* ("in" results)?  |  results  |  op          op: its results are the body's
    let     ::= (name (":" type)?, .. "=")? op                   types left out are inferred
    op      ::= name field*  |  function atom*                   a field as its annotation says
    type    ::= dtype  |  dtype "[" atom, .. "]"  |  space dtype

Line ends mean nothing; `#` starts a comment. Ops are known once their modules are imported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeVar

from flatweave.base.dtypes import BY_NAME, DType, bool_, i64
from flatweave.base.errors import CompilerBug
from flatweave.base.records import REQUIRED, fields
from flatweave.scalar.ops import TABLE
from flatweave.terms.control import Apply
from flatweave.terms.print import is_reserved
from flatweave.terms.syntax import (
    OPS,
    PARTS,
    ArrayType,
    Atom,
    BufferType,
    Const,
    Lambda,
    Let,
    Op,
    Part,
    Type,
    Var,
    constant,
)
from flatweave.terms.traverse import Substitution

# A text cut into tokens, and a position among them.


_DTYPES = "|".join(name for name in BY_NAME if name != "bool")
_NUMBER = rf"-?(?:(?:inf|nan)(?=f\d)|\d+(?:\.\d*)?(?:e[+-]?\d+)?)(?:{_DTYPES})?(?!\w)"
_TOKEN = re.compile(
    rf'(?P<skip>\s+|#[^\n]*)|(?P<number>{_NUMBER})|(?P<name>\w+)|(?P<string>"(?:[^"]|"")*")'
    r"|(?P<anonymous><\w+>)|(?P<mark>=>|[()\[\],:=])"
)
_T = TypeVar("_T")


class Tokens:
    """A position among the tokens of a text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _tokens(text)
        self.at = 0

    @property
    def here(self) -> str:
        """The token to read next; "" at the end."""
        return self.tokens[self.at][1]

    @property
    def kind(self) -> str:
        return self.tokens[self.at][0]

    def ahead(self, by: int = 1) -> str:
        """A later token."""
        return self.tokens[min(self.at + by, len(self.tokens) - 1)][1]

    def take(self) -> str:
        token = self.here
        self.at = min(self.at + 1, len(self.tokens) - 1)
        return token

    def accept(self, token: str) -> bool:
        """Read the token if it comes next."""
        if self.here != token:
            return False
        self.take()
        return True

    def expect(self, token: str) -> None:
        if not self.accept(token):
            self.fail(f"expected {token or 'the end'!r}")

    def word(self) -> str:
        if self.kind != "name":
            self.fail("expected a name")
        return self.take()

    def fail(self, message: str) -> NoReturn:
        """Refuse the text, with the line where it goes wrong."""
        start = self.tokens[self.at][2]
        line = self.text[self.text.rfind("\n", 0, start) + 1 :].split("\n")[0].strip()
        number = self.text.count("\n", 0, start) + 1
        raise CompilerBug(f"line {number}: {message}, got {self.here!r} in: {line}")

    def several(self, item: Callable[[], _T], end: str) -> list[_T]:
        """Items with commas between them, up to the token `end`, which is read."""
        items: list[_T] = []
        while not self.accept(end):
            if items:
                self.expect(",")
            items.append(item())
        return items


def split_number(token: str) -> tuple[str, DType]:
    """The digits of a constant, and its dtype: 1.5f32, 3."""
    match = re.fullmatch(rf"(.*?)({_DTYPES})?", token)
    assert match is not None
    return match[1], BY_NAME[match[2]] if match[2] else i64


def _tokens(text: str) -> list[tuple[str, str, int]]:
    """Kind, text and position of every token, and an empty one at the end."""
    tokens, at = [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise CompilerBug(f"no token starts with {text[at : at + 20]!r}.")
        if match.lastgroup != "skip":
            tokens.append((str(match.lastgroup), match[0], at))
        at = match.end()
    return [*tokens, ("end", "", len(text))]


_SPACES = ("global", "shared", "warp_shared", "local")


def parse_function(text: str) -> tuple[str, Lambda]:
    """The name and the lambda of `name(params) => body`."""
    parser = Parser(text)
    name = parser.function_name()
    try:
        fn = parser.rest_of_function(parser.header())
    except RecursionError:
        raise CompilerBug(f"{name} nests deeper than Python's stack allows.") from None
    parser.expect("")
    return name, fn


class Parser(Tokens):
    """A position in a text, and the variables in scope there."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.scope: dict[str, Var] = {}
        self.hidden: list[tuple[str, Var | None]] = []  # the binding that each one replaced

    def function_name(self) -> str:
        """What a program is called: a word, `<lambda>`, or any other text in quotes."""
        return self.take() if self.kind == "anonymous" else self._string()

    # -- lambdas ----------------------------------------------------------------------------------

    def header(self) -> list[Var]:
        """`(params)`, bound."""
        self.expect("(")
        return self.several(self.binder, ")")

    def rest_of_function(self, params: Sequence[Var]) -> Lambda:
        """`=> body`."""
        self.expect("=>")
        return self.body(params)

    def function(self) -> Lambda:
        """A lambda in parentheses, its variables in scope only there."""
        around = len(self.hidden)
        self.expect("(")
        if self.here in TABLE and self.ahead() in BY_NAME and self.ahead(2) == ")":
            fn = _operator(self.take(), BY_NAME[self.take()])
        else:
            fn = self.rest_of_function(self._params())
        self.expect(")")
        self._leave(around)
        return fn

    def _leave(self, around: int) -> None:
        """Take back the bindings made since there were `around` of them."""
        while len(self.hidden) > around:
            name, before = self.hidden.pop()
            if before is None:
                del self.scope[name]
            else:
                self.scope[name] = before

    def _params(self) -> list[Var]:
        if self.accept("("):
            self.expect(")")
            return []
        params = [self.binder()]
        while self.accept(","):
            params.append(self.binder())
        return params

    def binder(self) -> Var:
        """`name: type`, bound from here on."""
        name = self.word()
        self.expect(":")
        return self._bind(Var(name, self.type()))

    def _bind(self, var: Var) -> Var:
        if is_reserved(var.name):
            self.fail(f"{var.name} cannot be a variable")
        self.hidden.append((var.name, self.scope.get(var.name)))
        self.scope[var.name] = var
        return var

    def body(self, params: Sequence[Var]) -> Lambda:
        """Lets and results, up to what cannot be part of a body."""
        lets: list[Let] = []
        if self._is_result():
            return Lambda(tuple(params), (), self._results())
        while self.kind == "name" and self.here not in ("in", "kernel"):
            bare = not self._is_binding()
            lets.append(self._bare_let() if bare else self._let())
            if bare and lets[-1].vars:
                return Lambda(tuple(params), tuple(lets), lets[-1].vars)
        results = self._results() if self.accept("in") else ()
        return Lambda(tuple(params), tuple(lets), results)

    def _is_result(self) -> bool:
        if self.kind == "name" and self.here in self.scope:
            return self.ahead() not in (":", "=") and not self._is_binding()
        return self.kind == "number" or self.here in ("(", "true", "false")

    def _results(self) -> tuple[Atom, ...]:
        if self.accept("("):
            self.expect(")")
            return ()
        atoms = [self.atom()]
        while self.accept(","):
            atoms.append(self.atom())
        return tuple(atoms)

    # -- lets -------------------------------------------------------------------------------------

    def _is_binding(self) -> bool:
        """Whether names with commas between them, then `=` or a type, come next."""
        by = 1
        while self.ahead(by) == ",":
            by += 2
        return self.ahead(by) in (":", "=")

    def _bare_let(self) -> Let:
        """An op alone: for its effect, or as the last of a body for its results."""
        op = self.op()
        return Let(tuple(Var("t", type_) for type_ in op.result_types()), op)

    def _let(self) -> Let:
        names: list[str] = []
        made: list[Var] = []
        while not names or self.accept(","):
            names.append(self.word())
            if self.accept(":"):
                made.append(self._bind(Var(names[-1], self.type())))
        self.expect("=")
        op = self.op()
        return Let(tuple(made if len(made) == len(names) else self._inferred(names, op)), op)

    def _inferred(self, names: list[str], op: Op) -> list[Var]:
        """Variables of these names with the types that the op gives."""
        binders = op.binders()
        if len(names) != len(binders):
            self.fail(f"{op.name} binds {len(binders)} variables")
        waiting = iter(names)
        renaming = Substitution(fresh=lambda _, type_: Var(next(waiting), type_))
        return [self._bind(renaming.binder(binder)) for binder in binders]

    # -- ops and fields ---------------------------------------------------------------------------

    def op(self) -> Op:
        """An op, or a scalar function of atoms."""
        name = self.word()
        if name == "apply" and self.here in TABLE and self.ahead() != "[":
            name = self.word()
        if name in TABLE:
            return Apply(name, tuple(self.atom() for _ in range(TABLE[name].arity)))
        if name not in OPS:
            self.at -= 1
            self.fail("expected an operation (are its modules imported?)")
        made: Op = self._fields(OPS[name])
        return made

    def part(self) -> Part:
        name = self.word()
        if name not in PARTS:
            self.at -= 1
            self.fail("expected a part of an operation")
        made: Part = self._fields(PARTS[name])
        return made

    def _fields(self, cls: type[Any]) -> Any:
        """The fields in their order, those with a default by name."""
        values: dict[str, Any] = {}
        optional: dict[str, str] = {}
        for field in fields(cls):
            if field.default is REQUIRED:
                values[field.name] = self.field(str(field.type))
            else:
                optional[field.name] = str(field.type)
        while self.here in optional and self.ahead() == "=":
            name = self.word()
            self.expect("=")
            values[name] = self.field(optional[name])
        return cls(**values)

    def field(self, annotation: str) -> Any:
        """A field's value, as its annotation says."""
        if annotation.startswith("tuple["):
            inner = annotation.removeprefix("tuple[").split(",")[0].rstrip("]")
            self.expect("[")
            return tuple(self.several(lambda: self.field(inner), "]"))
        if annotation.endswith("| None") and self.accept("none"):
            return None
        match annotation.removesuffix(" | None"):
            case "Atom" | "Var" | "Const":
                return self.atom()
            case "Lambda":
                return self.function()
            case "str":
                return self._string()
            case "int":
                return self._integer()
            case "bool":
                return self._bool()
            case "DType":
                return self._dtype()
        return self.part()

    def _string(self) -> str:
        if self.kind == "string":
            return self.take()[1:-1].replace('""', '"')
        return self.word()

    def _integer(self) -> int:
        if not self.here.lstrip("-").isdigit():
            self.fail("expected a whole number")
        return int(self.take())

    def _bool(self) -> bool:
        if self.here not in ("true", "false"):
            self.fail("expected true or false")
        return self.take() == "true"

    def _dtype(self) -> DType:
        if self.here not in BY_NAME:
            self.fail("expected a dtype")
        return BY_NAME[self.take()]

    def atom(self) -> Atom:
        """A variable in scope or a constant."""
        if self.here in ("true", "false"):
            return Const(self._bool(), bool_)
        if self.kind == "number":
            return self._constant()
        if self.kind != "name" or self.here not in self.scope:
            self.fail("expected a variable in scope or a constant")
        return self.scope[self.take()]

    def _constant(self) -> Const:
        number, dtype = split_number(self.here)
        if not dtype.is_float and not number.lstrip("-").isdigit():
            self.fail(f"an {dtype} is a whole number")
        self.take()
        return constant(float(number) if dtype.is_float else int(number), dtype)

    def type(self) -> Type:
        """f32, f32[n, 3], global f32."""
        if self.here in _SPACES:
            space = self.take()
            return BufferType(self._dtype(), space)
        dtype = self._dtype()
        if self.accept("["):
            return ArrayType(dtype, tuple(self.several(self.atom, "]")))
        return dtype


def _operator(fn: str, dtype: DType) -> Lambda:
    """The scalar function as a lambda over operands of one dtype."""
    params = tuple(Var(name, dtype) for name in "abcd"[: TABLE[fn].arity])
    op = Apply(fn, params)
    result = Var("t", op.result_types()[0])
    return Lambda(params, (Let((result,), op),), (result,))
