"""scatter dest indices values:   dest with dest[indices[i]] = values[i]"""

from __future__ import annotations

from flatweave.array_ir import operators
from flatweave.array_ir.batch import Env, Values
from flatweave.array_ir.interp import Interp
from flatweave.terms.syntax import Atom, Op, Type, op, types_of


@op
class Scatter(Op):
    """A copy of rank-1 `dest` with values written; an index outside it drops its element.

    For equal indices the last element wins, whole.
    """

    dest: tuple[Atom, ...]
    indices: Atom
    xs: tuple[Atom, ...]

    def result_types(self) -> tuple[Type, ...]:
        return types_of(self.dest)

    def evaluate(self, interp: Interp, env: Env) -> Values:
        dest, xs = interp.atoms(env, self.dest), interp.atoms(env, self.xs)
        return operators.place(dest, interp.atom(env, self.indices), xs)
