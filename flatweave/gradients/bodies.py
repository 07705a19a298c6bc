"""Rules of what has a function of each element: map, generate, nest.

    ys = map f xs       forward     ys, dys = map (x, dx => .. in f(x), f'(x) dx) xs dxs
                        reverse     xs' = map (x, y' => .. in f'(x) y') xs ys'

The body is computed again in reverse. What it contributes to variables from around it are sinks
(`sinks.py`); a body whose sinks differ in length from element to element becomes a nest.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import i64
from flatweave.base.records import record, replace
from flatweave.gradients.modes import Back, Forward, Reverse
from flatweave.gradients.sinks import Carried, Sink, carry, carry_rows, is_ragged
from flatweave.gradients.values import closed, element, generate, owned, part, read, shape_of, total
from flatweave.ops import Concat, Generate, Locate, Map, Nest, Reshape, Span
from flatweave.ops.arrays import element_type
from flatweave.terms.build import Builder, index
from flatweave.terms.control import Apply, Cast
from flatweave.terms.syntax import Atom, Lambda, Let, Op, Var
from flatweave.terms.traverse import free_vars


def map_forward(f: Forward, let: Let, op: Map) -> None:
    """A map of pairs."""
    dxs = [(param, f.of(x)) for param, x in zip(op.fn.params, op.xs, strict=True)]
    moving = [(param, dx) for param, dx in dxs if dx is not None]
    fn, outs = _with_tangents(f, op.fn, [param for param, _ in moving])
    f.emit(
        let, op.replace(fn=fn, xs=(*op.xs, *(dx for _, dx in moving))), [let.vars[k] for k in outs]
    )


def generate_forward(f: Forward, let: Let, op: Generate) -> None:
    """A function of the indices that gives pairs."""
    fn, outs = _with_tangents(f, op.fn, [])
    f.emit(let, op.replace(fn=fn), [let.vars[k] for k in outs])


def nest_forward(f: Forward, let: Let, op: Nest) -> None:
    """Rows with their tangents, of the same lengths."""
    fn, outs = _with_tangents(f, op.fn, [])
    before = len(op.lengths)
    first = len(let.vars) - len(op.groups)
    groups = (*op.groups, *(op.groups[k - before] for k in outs))
    vars_ = [let.vars[first + k - before] for k in outs]
    f.emit(let, Nest(op.count, groups, fn), vars_)


def _with_tangents(
    f: Forward, fn: Lambda, moving: Sequence[Var]
) -> tuple[Lambda, list[int]]:
    """A function that takes the tangents of some parameters, too, and gives those of its results:
    of which ones it has any."""
    with f.inside(fn.params) as inner:
        params = f.params(moving)
        f.run(fn.lets)
        found = [(k, f.of(atom)) for k, atom in enumerate(fn.results)]
        results = [(k, owned(inner, d)) for k, d in found if d is not None]
        made = inner.close((*fn.params, *params), (*fn.results, *(d for _, d in results)))
    return made, [k for k, _ in results]


def map_reverse(r: Reverse, let: Let, op: Map) -> Back:
    """A map of the body in reverse, over the elements and the cotangents."""
    r.keep(let)

    def back() -> None:
        fn = r.b.copy(op.fn)
        body = r.inner(fn.params)
        moving = [k for k, x in enumerate(op.xs) if r.is_active(x)]
        r.active.update(fn.params[k] for k in moving)
        body.run(fn.lets)
        cotangents = r.known_among(let.vars)
        given = [body.b.param("c", element_type(c, op.depth)) for c in cotangents.values()]
        body.pull([(fn.results[k], c) for k, c in zip(cotangents, given, strict=True)])
        found = [(op.xs[k], body.known(fn.params[k])) for k in moving]
        space = Space(op.shape(), (*fn.params, *given), (*op.xs, *cotangents.values()))
        space.emit(r, body, [(x, c) for x, c in found if c is not None])

    return back


def generate_reverse(r: Reverse, let: Let, op: Generate) -> Back:
    """The body in reverse at each index; all it gives are sinks."""
    r.keep(let)

    def back() -> None:
        fn = r.b.copy(op.fn)
        body = r.inner(())
        _bind_indices(body, fn.params, op.shape)
        body.run(fn.lets)
        known = r.known_among(let.vars)
        body.pull([(fn.results[k], element(body.b, c, fn.params)) for k, c in known.items()])
        Space(op.shape, fn.params).emit(r, body, [])

    return back


def nest_reverse(r: Reverse, let: Let, op: Nest) -> Back:
    """The body in reverse at each index, given the row's part of the cotangents."""
    r.keep(let)
    first = len(let.vars) - len(op.groups)

    def back() -> None:
        fn = r.b.copy(op.fn)
        body = r.inner(())
        _bind_indices(body, fn.params, (op.count,))
        body.run(fn.lets)
        rows = fn.results[len(op.lengths) :]
        seeds: list[tuple[Atom, Atom]] = []
        for k, c in r.known_among(let.vars[first:]).items():
            group = op.groups[k]
            offsets = let.vars[2 + 2 * group] if group >= 0 else None
            seeds.append((rows[k], _row(body.b, c, offsets, fn.params[0], rows[k])))
        body.pull(seeds)
        Space((op.count,), fn.params).emit(r, body, [])

    return back


def _bind_indices(body: Reverse, params: Sequence[Var], shape: Sequence[Atom]) -> None:
    body.bind(params)
    for param, extent in zip(params, shape, strict=True):
        body.b.assume_index(param, extent)


def _row(b: Builder, xs: Atom, offsets: Atom | None, i: Atom, like: Atom) -> Atom:
    """What belongs to one element among the results of a nest."""
    if offsets is None:
        return element(b, xs, [i])
    return part(b, xs, read(b, offsets, [i]), shape_of(like))


def _move_out(inner: Builder, outer: Builder) -> None:
    """Move scalar work that reads nothing of a body out of it: an extent that is the same for all
    elements makes rows of one length."""
    kept: list[Let] = []
    for let in inner.lets:
        if isinstance(let.op, Apply | Cast) and inner.own.keys().isdisjoint(free_vars(let.op)):
            outer.append(let)
            del inner.own[let.vars[0]]
        else:
            kept.append(let)
    inner.lets[:] = kept


@record
class Space:
    """What a body goes over: the shape, its parameters, and the arrays that it takes elements of.
    Without such arrays the parameters are indices."""

    shape: tuple[Atom, ...]
    params: tuple[Var, ...]
    xs: tuple[Atom, ...] = ()

    def emit(self, r: Reverse, body: Reverse, found: Sequence[tuple[Atom, Atom]]) -> None:
        """Emit a body in reverse; what it found for elements and its sinks go to where they
        belong."""
        _move_out(body.b, r.b)
        if any(is_ragged(body.b, sink) for sink in body.sinks):
            self._emit_rows(r, body, found)
            return
        inner = body.b
        places: dict[Atom, int] = {}
        if not self.xs:
            places.update((param, axis) for axis, param in enumerate(self.params))
        rest = [sink for sink in body.sinks if not self._adds_to_rows(r, inner, sink)]
        carried = [carry(inner, sink, len(self.shape), places) for sink in rest]
        results = [owned(inner, c) for _, c in found]
        results += [atom for each in carried for atom in each.results]
        if not results:
            return
        made = iter(r.b.emit(self._op(closed(inner, self.params, results))))
        for x, _ in found:
            r.add(x, next(made))
        for each in carried:
            r.sink(each.rebuild([next(made) for _ in each.results]))

    def _adds_to_rows(self, r: Reverse, inner: Builder, sink: Sink) -> bool:
        """Add what each index contributes to its row, which the body locates: sums of rows."""
        row = sink.dims[0] if len(sink.dims) == 1 and len(self.shape) == 1 else None
        located = inner.definition(row) if isinstance(row, Var) and row in inner.own else None
        if self.xs or sink.batch or not isinstance(located, Locate) or located.skip:
            return False
        if located.position != self.params[0] or located.ends in inner.own:
            return False
        fn = closed(inner, self.params, [sink.value])
        (let,) = (let for let in inner.lets if row in let.vars)
        lets = tuple(each for each in fn.lets if each is not let)
        fn = Lambda((*let.vars, *fn.params), lets, fn.results)
        (count,) = shape_of(located.ends)
        (first,) = generate(r.b, [index(1)], lambda *_: [index(0)])
        (offsets,) = r.b.emit(Concat(r.b.add(count, index(1)), (first, located.ends)))

        def total_of(b: Builder, at: list[Var]) -> list[Atom]:
            start, length = b.emit(Span(offsets, at[0]))
            return [total(b, generate(b, [length], lambda b, j: b.inline(
                fn, [at[0], start, b.add(start, j[0])]
            ))[0])]  # fmt: skip

        r.sink(replace(sink, dims=(0,), value=generate(r.b, [count], total_of)[0]))
        return True

    def _op(self, fn: Lambda) -> Op:
        if not self.xs:
            return Generate(self.shape, fn)
        read_ = free_vars(Lambda((), fn.lets, fn.results))
        pairs = list(zip(fn.params, self.xs, strict=True))
        used = [pair for pair in pairs if pair[0] in read_] or pairs[:1]
        params = tuple(param for param, _ in used)
        return Map(Lambda(params, fn.lets, fn.results), tuple(x for _, x in used), len(self.shape))

    def _emit_rows(
        self, r: Reverse, body: Reverse, found: Sequence[tuple[Atom, Atom]]
    ) -> None:
        """The same where elements differ in how much they contribute: a nest."""
        inner = body.b
        one_axis = not self.xs and len(self.shape) == 1
        places: dict[Atom, int] = {self.params[0]: 0} if one_axis else {}
        lengths: list[Atom] = []
        groups: list[int] = [-1] * len(found)
        carried: list[Carried] = []
        for sink in body.sinks:
            if not is_ragged(inner, sink):
                carried.append(carry(inner, sink, 1, places))
                groups += [-1] * len(carried[-1].results)
                continue
            carried.append(carry_rows(inner, sink, places))
            length = shape_of(carried[-1].results[0])[0]
            if length not in lengths:
                lengths.append(length)
            groups += [lengths.index(length)] * len(carried[-1].results)
        results = [owned(inner, c) for _, c in found]
        results += [atom for each in carried for atom in each.results]
        fn = closed(inner, self.params, [*lengths, *results])
        count = r.b.product(self.shape)
        op = Nest(count, tuple(groups), r.b.function([i64], lambda b, i: self._at(b, fn, i)))
        made = iter(r.b.emit(op)[1 + 2 * len(lengths) :])
        for x, _ in found:
            c = next(made)
            shape = (*self.shape, *shape_of(c)[1:])
            r.add(x, c if len(self.shape) == 1 else r.b.emit(Reshape(c, shape))[0])
        for each in carried:
            r.sink(each.rebuild([next(made) for _ in each.results]))

    def _at(self, b: Builder, fn: Lambda, i: Atom) -> Sequence[Atom]:
        """The body at a flat index."""
        at = b.unravel(i, self.shape)
        return b.inline(fn, [element(b, x, at) for x in self.xs] if self.xs else at)
