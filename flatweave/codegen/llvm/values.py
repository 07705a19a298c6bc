"""Values under construction: Python operators that append LLVM instructions, at any width.

    x = Value(body, f32, 16, "%x")
    y = x * x + 1.0          ==>    %t0 = fmul <16 x float> %x, %x
                                    %t1 = fadd <16 x float> %t0, splat (float 0x3FF0000000000000)

Numbers among the operands become literals of the other operand's dtype. No fast-math flags: an
expression gives the same bits at every width.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flatweave.base.dtypes import BY_NAME, DType, bool_
from flatweave.base.records import record
from flatweave.codegen.llvm.module import Body, constant, integer_of, is_constant, suffix, vec

Number = int | float | bool


@record
class Value:
    """The text of `width` values of one dtype, in the body that computes them."""

    body: Body
    dtype: DType
    width: int
    text: str

    @property
    def type(self) -> str:
        """The LLVM type."""
        return vec(self.dtype, self.width)

    @property
    def is_constant(self) -> bool:
        """Whether this is a literal."""
        return is_constant(self.text)

    @property
    def literal(self) -> int | None:
        """The integer that this is in every lane, if it is a literal."""
        return integer_of(self.text, self.dtype)

    def number(self, value: Number) -> Value:
        """A literal of this dtype and width."""
        return Value(self.body, self.dtype, self.width, constant(self.dtype, self.width, value))

    def let(self, rhs: str, dtype: DType | None = None) -> Value:
        """The value of an instruction, of this width."""
        return Value(self.body, dtype or self.dtype, self.width, self.body.let(rhs))

    def lift(self, other: Value | Number) -> Value:
        """The other operand as a value."""
        return other if isinstance(other, Value) else self.number(other)

    def binary(self, opcode: str, other: Value | Number) -> Value:
        """An instruction with two operands of this type."""
        return self.let(f"{opcode} {self.type} {self.text}, {self.lift(other).text}")

    def _arithmetic(self, opcode: str, other: Value | Number) -> Value:
        return self.binary(("f" if self.dtype.is_float else "") + opcode, other)

    def __add__(self, other: Value | Number) -> Value:
        return self._arithmetic("add", other)

    def __radd__(self, other: Number) -> Value:
        return self.lift(other) + self

    def __sub__(self, other: Value | Number) -> Value:
        return self._arithmetic("sub", other)

    def __rsub__(self, other: Number) -> Value:
        return self.lift(other) - self

    def __mul__(self, other: Value | Number) -> Value:
        return self._arithmetic("mul", other)

    def __rmul__(self, other: Number) -> Value:
        return self.lift(other) * self

    def __truediv__(self, other: Value | Number) -> Value:
        return self.binary("fdiv", other)

    def __rtruediv__(self, other: Number) -> Value:
        return self.lift(other) / self

    def __neg__(self) -> Value:
        return self.let(f"fneg {self.type} {self.text}") if self.dtype.is_float else 0 - self

    def __and__(self, other: Value | Number) -> Value:
        return self.binary("and", other)

    def __or__(self, other: Value | Number) -> Value:
        return self.binary("or", other)

    def __xor__(self, other: Value | Number) -> Value:
        return self.binary("xor", other)

    def __invert__(self) -> Value:
        return self ^ (True if self.dtype == bool_ else -1)

    def __lshift__(self, other: Value | Number) -> Value:
        return self.binary("shl", other)

    def __rshift__(self, other: Value | Number) -> Value:
        return self.binary("ashr" if self.dtype.kind == "i" else "lshr", other)

    def compare(self, predicate: str, other: Value | Number) -> Value:
        """A bool per lane: predicate is eq ne lt le gt ge; only ne holds for NaN."""
        right = self.lift(other).text
        if self.dtype.is_float:
            code = f"fcmp {'u' if predicate == 'ne' else 'o'}{predicate}"
        elif predicate in ("eq", "ne"):
            code = f"icmp {predicate}"
        else:
            code = f"icmp {'s' if self.dtype.kind == 'i' else 'u'}{predicate}"
        return self.let(f"{code} {self.type} {self.text}, {right}", bool_)

    def eq(self, other: Value | Number) -> Value:
        """self == other."""
        return self.compare("eq", other)

    def ne(self, other: Value | Number) -> Value:
        """self != other; true for NaN."""
        return self.compare("ne", other)

    def __lt__(self, other: Value | Number) -> Value:
        return self.compare("lt", other)

    def __le__(self, other: Value | Number) -> Value:
        return self.compare("le", other)

    def __gt__(self, other: Value | Number) -> Value:
        return self.compare("gt", other)

    def __ge__(self, other: Value | Number) -> Value:
        return self.compare("ge", other)

    def is_nan(self) -> Value:
        """Whether a float is NaN."""
        return self.ne(self)

    def where(self, then: Value, other: Value | Number) -> Value:
        """For a bool: `then` in lanes that hold, else `other`."""
        right = then.lift(other).text
        condition = f"{self.type} {self.text}"
        return then.let(f"select {condition}, {then.type} {then.text}, {then.type} {right}")

    def any(self) -> str:
        """For a bool: an i1 that tells whether some lane holds."""
        if self.width == 1:
            return self.text
        function = f"@llvm.vector.reduce.or.v{self.width}i1"
        return self.body.call("i1", function, f"{self.type} {self.text}")

    def intrinsic(self, name: str, *others: Value | Number, flag: str = "") -> Value:
        """A call of llvm.NAME on operands of this type; flag is a last i1 literal."""
        operands = [f"{self.type} {self.lift(x).text}" for x in (self, *others)]
        symbol = f"@llvm.{name}.{suffix(self.dtype, self.width)}"
        flags = [f"i1 {flag}"] if flag else []
        text = self.body.call(self.type, symbol, *operands, *flags)
        return Value(self.body, self.dtype, self.width, text)

    def fma(self, factor: Value | Number, addend: Value | Number) -> Value:
        """self * factor + addend, rounded once."""
        return self.intrinsic("fma", factor, addend)

    def abs(self) -> Value:
        """The absolute value of a float."""
        return self.intrinsic("fabs")

    def sqrt(self) -> Value:
        """The square root of a float."""
        return self.intrinsic("sqrt")

    def copysign(self, sign: Value | Number) -> Value:
        """This float's size with the other's sign."""
        return self.intrinsic("copysign", sign)

    def polynomial(self, *coefficients: float) -> Value:
        """The polynomial with these coefficients, the constant term first.

        Even and odd powers by Horner's rule side by side: one product more than Horner alone, and
        half its chain of waiting fmas.
        """
        if len(coefficients) < 5:
            return self._horner(coefficients)
        square = self * self
        odd = square._horner(coefficients[1::2])
        return self.fma(odd, square._horner(coefficients[::2]))

    def _horner(self, coefficients: Sequence[float]) -> Value:
        total: Value = self.number(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            total = total.fma(self, coefficient)
        return total

    def convert(self, opcode: str, dtype: DType) -> Value:
        """A conversion instruction: bitcast, sext, sitofp, fptosi .."""
        return self.let(f"{opcode} {self.type} {self.text} to {vec(dtype, self.width)}", dtype)

    def bits(self) -> Value:
        """The bits of a float as a signed integer of its width."""
        return self.convert("bitcast", BY_NAME[f"i{self.dtype.bits}"])

    def as_float(self) -> Value:
        """An integer's bits as the float of its width."""
        return self.convert("bitcast", BY_NAME[f"f{self.dtype.bits}"])


Build = Callable[..., Value]


def call_function(name: str, build: Build, operands: Sequence[Value], attributes: str) -> Value:
    """A call of an internal function @fw.NAME.f32x16, which `build` writes at its first use."""
    first = operands[0]
    module = first.body.module
    symbol = f"@fw.{name}.{first.dtype.name}x{first.width}"
    if not module.defines(symbol):
        body = Body(module)
        body.label("entry")
        letters = [Value(body, x.dtype, x.width, f"%{'xyz'[i]}") for i, x in enumerate(operands)]
        result = build(*letters)
        body.line(f"ret {result.type} {result.text}")
        listed = ", ".join(f"{x.type} {x.text}" for x in letters)
        head = f"define internal {result.type} {symbol}({listed}) {attributes} {{"
        module.define(symbol, head, body)
    listed = ", ".join(f"{x.type} {x.text}" for x in operands)
    return first.let(f"call {first.type} {symbol}({listed})")


def rarely(condition: Value, usual: Value, rare: Callable[[], Value]) -> Value:
    """`rare()` in the lanes where the condition holds, computed only if some lane holds."""
    body = usual.body
    some = body.call("i1", "@llvm.expect.i1", f"i1 {condition.any()}", "i1 false")
    stem = body.fresh("rare")[1:]
    before = body.block
    body.line(f"br i1 {some}, label %{stem}, label %{stem}.end")
    body.label(stem)
    chosen = condition.where(rare(), usual)
    inside = body.block
    body.line(f"br label %{stem}.end")
    body.label(f"{stem}.end")
    return usual.let(
        f"phi {usual.type} [ {usual.text}, %{before} ], [ {chosen.text}, %{inside} ]"
    )
