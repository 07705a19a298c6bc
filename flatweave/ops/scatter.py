"""scatter dest indices values:   dest with dest[indices[i]] = values[i]"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from flatweave.array_ir import operators
from flatweave.array_ir.interp import Interp
from flatweave.base.dtypes import i64
from flatweave.ops.sweep import ScatterStore, Sink, SinkOp
from flatweave.terms.batch import Env, Values
from flatweave.terms.rules import types_misfit
from flatweave.terms.syntax import ArrayType, Atom, Type, op, types_of


@op
class Scatter(SinkOp):
    """A copy of rank-1 `dest` with values written; an index outside it drops its element.

    For equal indices the last element wins, whole.
    """

    dest: tuple[Atom, ...]
    indices: Atom
    xs: tuple[Atom, ...]

    def fed(self) -> tuple[Atom, ...]:
        return (self.indices, *self.xs)

    def sink(self, atoms: Callable[[Sequence[Atom]], tuple[Atom, ...]]) -> Sink:
        return ScatterStore(atoms(self.dest))

    def result_types(self) -> tuple[Type, ...]:
        return types_of(self.dest)

    def misfits(self) -> Iterator[str]:
        yield from types_misfit("the values", self.xs, types_of(self.dest))
        yield from types_misfit("the indices", (self.indices,), (ArrayType(i64, (self.indices,)),))

    def evaluate(self, interp: Interp, env: Env) -> Values:
        dest, xs = interp.atoms(env, self.dest), interp.atoms(env, self.xs)
        return operators.scatter_store(dest, interp.atom(env, self.indices), xs)
