"""How many low bits of each integer of a kernel are known to be zero: what it is a multiple of.

    base: 0, 64, 128, ..         6
    s = mul block 1024           10
    i = add s base               6
    j = shl i 1                  7
    k = mod n 64                 0
    e = sub n k                  6         what is left is taken off

That of `lane base` is that of its base, the value of lane 0. Sums, products and bits wrap without
changing it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flatweave.kernel_ir.syntax import Lane
from flatweave.terms.control import Apply, For
from flatweave.terms.syntax import Atom, Const, Lambda, Op, Var
from flatweave.terms.traverse import lambdas_in

BITS = 64
Zeros = Mapping[Var, int]


def trailing_zeros(body: Lambda) -> Zeros:
    """Those of the variables that have any."""
    found = _Zeros()
    found.body(body)
    return found.zeros


def zeros_of(zeros: Zeros, atom: Atom) -> int:
    """Those of a variable or of a number."""
    if isinstance(atom, Var):
        return zeros.get(atom, 0)
    return zeros_in(int(atom.value)) if atom.dtype.is_integer else 0


def zeros_in(value: int) -> int:
    """Low bits of a number that are zero; of 0 all are."""
    return (value & -value).bit_length() - 1 if value else BITS


class _Zeros:
    """What has been found so far, and what made each variable."""

    def __init__(self) -> None:
        self.zeros: dict[Var, int] = {}
        self._made: dict[Var, Op] = {}

    def body(self, fn: Lambda) -> None:
        """All variables of a body."""
        for let in fn.lets:
            match let.op:
                case Apply(fn=name, args=args):
                    self._know(let.vars[0], self._applied(name, args))
                    self._made[let.vars[0]] = let.op
                case Lane(base=base):
                    self._know(let.vars[0], self._of(base))
                case For(lo=lo, step=step, body=inner):
                    self._know(inner.params[0], min(self._of(lo), self._of(step)))
            for inner in lambdas_in(let.op):
                self.body(inner)

    def _know(self, var: Var, count: int) -> None:
        if count > 0:
            self.zeros[var] = min(count, BITS)

    def _of(self, atom: Atom) -> int:
        return zeros_of(self.zeros, atom)

    def _applied(self, name: str, args: Sequence[Atom]) -> int:
        """Those of what a scalar function gives."""
        known = [self._of(arg) for arg in args]
        match name, args:
            case ("add" | "or" | "xor" | "minimum" | "maximum"), _:
                return min(known)
            case "and", _:
                return max(known)
            case "mul", _:
                return sum(known)
            case "select", _:
                return min(known[1:])
            case "sub", (a, b):
                return max(min(known), self._left(a, b))
            case "mod", (_, Const(value=int(divisor))) if divisor:
                return min(known)
            case "shl", (_, Const(value=by)) if 0 <= by < BITS:
                return known[0] + int(by)
            case "shr", (_, Const(value=by)) if 0 <= by < BITS:
                return known[0] - int(by)
            case "floordiv", (_, Const(value=int(divisor))) if divisor > 0 and _is_power(divisor):
                return known[0] - known[1]
        return 0

    def _left(self, a: Atom, b: Atom) -> int:
        """Those of a - b where b is what a leaves over: those of the divisor."""
        match self._made.get(b) if isinstance(b, Var) else None:
            case Apply(fn="mod", args=(x, Const() as divisor)) if x == a:
                return self._of(divisor)
        return 0


def _is_power(value: int) -> bool:
    return value & (value - 1) == 0
