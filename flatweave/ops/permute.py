"""permute fn dest indices values:   dest with dest[indices[i]] = dest[indices[i]] fn values[i]"""

from __future__ import annotations

from flatweave.array_ir import operators
from flatweave.array_ir.batch import Env, Values
from flatweave.array_ir.interp import Interp
from flatweave.terms.syntax import Atom, Lambda, Op, Type, op, types_of


@op
class Permute(Op):
    """Combines values that meet at one place of rank-1 `dest` (Accelerate's permute, seed 000).

    `fn` is associative and commutative; `neutral`, where given, allows private copies.
    """

    fn: Lambda
    neutral: tuple[Atom, ...]
    dest: tuple[Atom, ...]
    indices: Atom
    xs: tuple[Atom, ...]

    def result_types(self) -> tuple[Type, ...]:
        return types_of(self.dest)

    def evaluate(self, interp: Interp, env: Env) -> Values:
        dest, xs = interp.atoms(env, self.dest), interp.atoms(env, self.xs)
        return operators.merge(interp, env, self.fn, dest, interp.atom(env, self.indices), xs)
