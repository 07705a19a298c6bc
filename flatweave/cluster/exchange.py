"""What an exchange says of its operation; exchanges that move data or drive control flow."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Protocol

from flatweave.array_ir.syntax import Program, index_fault
from flatweave.base.records import record, replace
from flatweave.cluster.executor import Executor
from flatweave.cluster.steps import Divided
from flatweave.frontend.values.chunked import Chunked, Held
from flatweave.ops import Callback, Concat, Index
from flatweave.terms.control import For, If, While
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Let, Op, Var
from flatweave.terms.traverse import free_vars

# What an exchange says of its operation.


Divide = Callable[[Program, Collection[int]], Divided]


class Made(NamedTuple):
    """What is known of an exchange before it runs: the results that are in chunks, why it cannot be
    done, and whatever its class wants to keep."""

    split: frozenset[Var]
    refused: str = ""
    kept: Any = None


def in_chunks(value: Any, cuts: Sequence[int] = ()) -> Any:
    """A value that must be in chunks: if it was whole, those between the cuts, or one."""
    if isinstance(value, Chunked):
        return value
    ends = pairwise(cuts or (0, len(value)))
    return Chunked.of([Held(value[a:b]) for a, b in ends], value.dtype, value.shape[1:])


class Client(Protocol):
    """The client, as exchanges see it."""

    place: Executor

    def value(self, atom: Atom) -> Any:
        """A value that is whole, or a Chunked."""

    def entire(self, atom: Atom) -> Any:
        """The same, an array in chunks put together."""

    def shared(self, var: Var) -> Any:
        """What every task is given for a value that is whole, or an array that it needs all of."""

    def run(self, divided: Divided, args: Sequence[Any]) -> list[Any]:
        """The results of a program that was divided."""

    def call(self, name: str, fn: Any, args: Sequence[Any]) -> list[Any]:
        """A function of the program on values of the client."""


class Exchange:
    """One operation on arrays in chunks that the client has done."""

    op: ClassVar[type[Op]]

    def made(self, let: Let, split: Collection[Var], divide: Divide) -> Made:
        """What is known before anything runs; raises Unsupported."""
        return Made(frozenset())

    def run(self, client: Client, let: Let, made: Made) -> Mapping[Var, Any]:
        """The let's results."""
        raise NotImplementedError


# callback: a Python function of whole arrays is called by the client, which fetches them.


class CallbackExchange(Exchange):
    """Functions of rows are called where the rows are: by the programs of the chunks."""

    op: ClassVar[type[Op]] = Callback

    def run(self, client: Client, let: Let, made: Made) -> Mapping[Var, Any]:
        op: Any = let.op
        values = [client.entire(atom) for atom in op.given()]
        found = op.called_with(values, let.where)
        shapes = [[int(client.value(extent)) for extent in each.shape] for each in op.results]
        return {
            var: value.reshape(shape)[()]
            for var, value, shape in zip(let.vars, found, shapes, strict=True)
        }


# index: one element of an array in chunks, fetched from the chunk that has it.


class ElementExchange(Exchange):
    """Indices outside are faults, as ever."""

    op: ClassVar[type[Op]] = Index

    def run(self, client: Client, let: Let, made: Made) -> Mapping[Var, Any]:
        op: Any = let.op
        array = client.value(op.xs)
        row, *rest = (int(client.value(atom)) for atom in op.indices)
        for axis, (i, extent) in enumerate(zip((row, *rest), array.shape, strict=True)):
            if not 0 <= i < extent:
                fault = index_fault(-1, i, extent, axis)
                fault.where = let.where
                raise fault
        return {let.vars[0]: array.load(row, row + 1)[(0, *rest)]}


# concat: the chunks of one array, then those of the next; nothing is computed.


class JoinedExchange(Exchange):
    """An array that is whole becomes one chunk."""

    op: ClassVar[type[Op]] = Concat

    def made(self, let: Let, split: Collection[Var], divide: Divide) -> Made:
        return Made(frozenset(let.vars))

    def run(self, client: Client, let: Let, made: Made) -> Mapping[Var, Any]:
        parts = [client.value(x) for x in let.op.xs]  # type: ignore[attr-defined]
        pieces = [
            piece for part in parts
            for piece in (part.pieces if isinstance(part, Chunked) else (Held(part),))
        ]  # fmt: skip
        first = parts[0]
        return {let.vars[0]: Chunked.of(pieces, first.dtype, tuple(first.shape[1:]))}


# if, while and for over arrays in chunks: the client runs them, iteration by iteration.
#
# Each body is a separate program, divided as any other. A result in chunks is in chunks in the next
# iteration: a state that is whole at first is cut when it must be.


@record
class Body:
    """A function of the program, divided: what it takes after its parameters, and in chunks."""

    divided: Divided
    beside: tuple[Var, ...]

    def run(self, client: Client, args: Sequence[Any]) -> list[Any]:
        """The results for values of its parameters."""
        given = [*args, *map(client.value, self.beside)]
        pairs = zip(self.divided.params, given, strict=True)
        return client.run(
            self.divided, [in_chunks(x) if var in self.divided.split else x for var, x in pairs]
        )


def body_of(
    name: str, fn: Lambda, split: Collection[Var], params: Sequence[bool], divide: Divide
) -> Body:
    """A function divided, given which of its parameters are in chunks."""
    beside = tuple(free_vars(fn))
    scalars = [var for var in beside if not isinstance(var.type, ArrayType)]
    arrays = [var for var in beside if isinstance(var.type, ArrayType)]
    flags = [*(False for _ in scalars), *params, *(var in split for var in arrays)]
    order = (*scalars, *fn.params, *arrays)
    divided = divide(
        Program(name, Lambda(order, fn.lets, fn.results)), [k for k, is_ in enumerate(flags) if is_]
    )
    first, last = len(scalars), len(scalars) + len(fn.params)
    own = divided.params[first:last]
    rest = (*divided.params[:first], *divided.params[last:])
    return Body(
        replace(divided, params=(*own, *rest)),
        (*scalars, *arrays),
    )


def results_in_chunks(body: Body) -> list[bool]:
    """Which results a body gives in chunks."""
    return [atom in body.divided.split for atom in body.divided.results]


class LoopExchange(Exchange):
    """A state that any iteration returns in chunks is in chunks from the start."""

    def made(self, let: Let, split: Collection[Var], divide: Divide) -> Made:
        op: Any = let.op
        state = [atom in split for atom in op.init]
        counters = len(op.body.params) - len(state)
        body = _settled("body", op.body, split, state, counters, divide)
        condition = None
        if isinstance(op, While):
            condition = body_of("condition", op.condition, split, state, divide)
        return Made(_bound(let.vars, state), kept=(condition, body, state))

    def run(self, client: Client, let: Let, made: Made) -> Mapping[Var, Any]:
        condition, body, state = made.kept
        op: Any = let.op
        values = _cut([client.value(atom) for atom in op.init], state)
        if condition is None:
            for i in range(*(int(client.value(x)) for x in (op.lo, op.hi, op.step))):
                values = body.run(client, [i, *values])
        else:
            while bool(condition.run(client, values)[0]):
                values = body.run(client, values)
        return dict(zip(let.vars, _cut(values, state), strict=True))


class WhileExchange(LoopExchange):
    """The condition is a program, too."""

    op: ClassVar[type[Op]] = While


class ForExchange(LoopExchange):
    """The counter is the client's."""

    op: ClassVar[type[Op]] = For


class BranchExchange(Exchange):
    """A result that either branch gives in chunks is in chunks."""

    op: ClassVar[type[Op]] = If

    def made(self, let: Let, split: Collection[Var], divide: Divide) -> Made:
        op: Any = let.op
        bodies = [body_of("branch", fn, split, [], divide) for fn in (op.then, op.other)]
        flags = [any(each) for each in zip(*map(results_in_chunks, bodies), strict=True)]
        return Made(_bound(let.vars, flags), kept=(bodies, flags))

    def run(self, client: Client, let: Let, made: Made) -> Mapping[Var, Any]:
        bodies, flags = made.kept
        holds = bool(client.value(let.op.condition))  # type: ignore[attr-defined]
        found = bodies[0 if holds else 1].run(client, [])
        return dict(zip(let.vars, _cut(found, flags), strict=True))


def _settled(
    name: str, fn: Lambda, split: Collection[Var], state: list[bool], before: int, divide: Divide
) -> Body:
    """A loop's body, for which what it gives in chunks is taken so; `state` becomes that."""
    while True:
        body = body_of(name, fn, split, [*[False] * before, *state], divide)
        found = results_in_chunks(body)
        if all(was or not is_ for was, is_ in zip(state, found, strict=True)):
            return body
        state[:] = [was or is_ for was, is_ in zip(state, found, strict=True)]


def _bound(variables: Sequence[Var], flags: Sequence[bool]) -> frozenset[Var]:
    return frozenset(var for var, is_ in zip(variables, flags, strict=True) if is_)


def _cut(values: Sequence[Any], flags: Sequence[bool]) -> list[Any]:
    return [in_chunks(x) if is_ else x for x, is_ in zip(values, flags, strict=True)]
