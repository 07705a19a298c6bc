"""Random programs over vectors and matrices of different extents, and how much work they do.

    source = random_source(7)          def program(v0, v1, v2, v3): v4 = fw.sum(v2, axis=1) ..
    traced, fused = work_of(source)    scalar operations and reads that the interpreter evaluates

    python -m tests.laws.work --programs 10000     those that do more than 4 times what they say

Nearly every step reads arrays of other extents than its result has, so that a step that is computed
where it is read costs what it should not: a mean over rows in each element of the rows, say.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from math import prod
from random import Random
from typing import Any

import numpy as np

import flatweave as fw
from flatweave.array_ir import interp
from flatweave.array_ir.interp import Interp
from flatweave.array_ir.syntax import Program
from flatweave.base.dtypes import f64
from flatweave.ops import Combine, CombineRows, Fold, Index, Locate, Prefix, Reduce, Scan, Sweep
from flatweave.passes.cost import LONG, may_repeat
from flatweave.pipeline import optimise
from flatweave.scalar.ops import TABLE
from flatweave.terms.batch import Env, Value, Values
from flatweave.terms.control import Apply, Cast, If
from flatweave.terms.syntax import Lambda, Let, Op, Var
from flatweave.terms.traverse import free_vars, walk_lets

EXTENTS = {"n": 13, "m": 19, "k": 29, "1": 1, "2": 2}
LARGER = {"n": 101, "m": 120, "k": 150, "1": 1, "2": 2}
BOUND = 1.5
SLACK = 64
Shape = tuple[str, ...]


class Counting(Interp):
    """An interpreter that counts: an operation or read on scalars is one for each element.

    `lines` counts the operations on floats by the lines that ask for them, weighted by their cost,
    and `folded` what is combined: that is the user's work, and not how rows are found. What is the
    same for all elements of a row counts once for it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.work = self.folded = 0
        self.lines: Counter[int] = Counter()
        self.line = 0
        self.same: dict[Let, float] = {}
        self.let: Let | None = None

    def _let(self, env: Env, let: Let) -> None:
        around = self.line, self.let
        self.line, self.let = let.where.line if let.where else self.line, let
        super()._let(env, let)
        self.line, self.let = around

    def evaluate(self, env: Env, op: Op) -> Values:
        """What an op gives."""
        let = self.let
        if isinstance(op, Sweep):
            axes = zip(op.body.params, self.shape(env, op.shape), strict=True)
            self._note(env, op.body, dict(axes), {})
        results = super().evaluate(env, op)
        if isinstance(op, Apply | Cast | Index):
            self.work += results[0].size
        elif not isinstance(op, If):
            self.work += sum(value.size for value in results)
        if isinstance(op, Apply) and results[0].dtype.kind == "f":
            same = self.same.get(let, 1) if let else 1
            self.lines[self.line] += int(TABLE[op.fn].cost * results[0].size / same)
        self.folded += self._folded(env, op, results)
        return results

    def _note(
        self, env: Env, fn: Lambda, axes: dict[Var, int], known: dict[Var, set[Var]]
    ) -> None:
        """For how many elements in a row each value of a sweep's body is the same."""
        known = {**known, **{axis: {axis} for axis in axes}}
        rows: dict[Var, float] = {}
        for let in fn.lets:
            used = set[Var]().union(*(known.get(var, set()) for var in free_vars(let.op)))
            if isinstance(let.op, Locate):
                used = set(let.vars[:1])
                count = max(1, len(self.atom(env, let.op.ends)) - let.op.skip)
                rows[let.vars[0]] = prod(axes.values()) / count
            known.update(dict.fromkeys(let.vars, used))
            by_row = [each for row, each in rows.items() if row in used]
            if by_row and used.isdisjoint(axes):
                self.same[let] = max(1.0, min(by_row))
            else:
                sizes = list(axes.items())
                last = max((k for k, (axis, _) in enumerate(sizes) if axis in used), default=-1)
                self.same[let] = max(1, prod(size for _, size in sizes[last + 1 :]))

    def _folded(self, env: Env, op: Op, results: Values) -> int:
        """How many floats an op combines."""
        match op:
            case Reduce(xs=xs) | Scan(xs=xs):
                return sum(_floats(self.atom(env, x)) for x in xs)
            case Fold(extent=extent, neutral=neutral) if results[0].dtype.kind == "f":
                same = self.same.get(self.let, 1) if self.let else 1
                times = np.broadcast_to(self.atom(env, extent), results[0].shape).sum()
                return int(times * len(neutral) / same)
            case Prefix(args=args):
                return sum(map(_floats, results[: len(args)]))
            case Sweep(shape=shape, sinks=sinks):
                folds = (each for each in sinks if isinstance(each, Combine | CombineRows))
                floats = sum(e.type is f64 for each in folds for e in each.neutral)
                return prod(self.shape(env, shape)) * floats
        return 0


def _floats(value: Value) -> int:
    return value.size if value.dtype.kind == "f" else 0


def programs_of(source: str, extents: Mapping[str, int]) -> tuple[Program, Program, Sequence[Any]]:
    """A program as it is traced and after the last pass, and its arguments."""
    scope: dict[str, Any] = {"fw": fw}
    exec(compile(source, "<program>", "exec"), scope)
    rng = np.random.default_rng(0)
    inputs = [rng.random(tuple(extents[e] for e in shape)) for shape in INPUTS]
    compiled, given = fw.jit(scope["program"], target="interp").taken(*inputs)
    program = compiled.traced.program
    return program, [program, *optimise(program).values()][-1], given


def work_of(source: str, extents: Mapping[str, int]) -> tuple[int, int]:
    """What a program costs as it is traced, and after the last pass."""
    traced, after, given = programs_of(source, extents)
    return counted(traced, given).work, counted(after, given).work


def repeated(source: str, extents: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    """The lines that do more than they say: what they do as traced, and after the last pass."""
    traced, after, given = programs_of(source, extents)
    written, done = counted(traced, given), counted(after, given)
    costs: Counter[int] = Counter()
    for let in walk_lets(traced.fn):
        if isinstance(let.op, Apply) and let.vars[0].type is f64 and let.where:
            costs[let.where.line] += TABLE[let.op.fn].cost
    found = {
        source.split("\n")[line - 1].strip(): (written.lines[line], cost)
        for line, cost in done.lines.items()
        if cost > BOUND * written.lines[line] + SLACK
        and not may_repeat(costs[line], _reads(cost / max(1, written.lines[line])))
    }
    if done.folded > BOUND * written.folded + SLACK:
        found["folds"] = written.folded, done.folded
    return found


def _reads(ratio: float) -> float:
    """How many reads a ratio stands for: more than a program has come from a loop."""
    return ratio if ratio < min(EXTENTS["n"], EXTENTS["k"]) - 1 else LONG


def counted(program: Program, given: Sequence[Any]) -> Counting:
    """The work of one run."""
    counting = Counting()
    interp.run(program, given[: len(program.fn.params)], counting)
    return counting


# -- programs --------------------------------------------------------------------------------------

INPUTS: tuple[Shape, ...] = (("n",), ("m",), ("n", "m"), ("k",), ("2", "k"))
HEAD = f"def program({', '.join(f'v{k}' for k in range(len(INPUTS)))}):"


class Writer:
    """A program as it grows: its lines, and the shape of each value."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.lines: list[str] = []
        self.shapes: dict[str, Shape] = {f"v{k}": shape for k, shape in enumerate(INPUTS)}
        self.read: set[str] = set()

    def value(self, fits: Callable[[Shape], bool] = bool) -> str | None:
        """A value whose shape fits; of late ones rather."""
        found = [name for name, shape in self.shapes.items() if fits(shape)]
        if not found:
            return None
        late = found[-3:]
        return self.random.choice(late if self.random.random() < 0.6 else found)

    def emit(self, text: str, shape: Shape, *used: str) -> None:
        """One more line; none for arrays that would be too large to interpret."""
        if prod(LARGER[e] for e in shape) > 60_000:
            return
        name = f"v{len(self.shapes)}"
        self.lines.append(f"    {name} = {text}")
        self.shapes[name] = shape
        self.read.update(used)


def elementwise(w: Writer) -> None:
    x = w.value()
    if x is not None:
        text = w.random.choice(["fw.sqrt(fw.abs({0}))", "{0} * 0.5 + 1.0", "fw.exp(-fw.abs({0}))"])
        w.emit(text.format(x), w.shapes[x], x)


def broadcast(a: Shape, b: Shape) -> Shape | None:
    """The shape of two together, or None."""
    long, short = (a, b) if len(a) >= len(b) else (b, a)
    pairs = list(zip(long[::-1], short[::-1], strict=False))
    if any(x != y and "1" not in (x, y) for x, y in pairs):
        return None
    joined = [y if x == "1" else x for x, y in pairs][::-1]
    return (*long[: len(long) - len(short)], *joined)


def binary(w: Writer) -> None:
    x = w.value()
    if x is None:
        return
    y = w.value(lambda shape: broadcast(w.shapes[x], shape) is not None)
    shape = broadcast(w.shapes[x], w.shapes[y]) if y is not None else None
    if y is not None and shape is not None:
        w.emit(f"{x} {w.random.choice('+-*')} {y}", shape, x, y)


def fold(w: Writer) -> None:
    x = w.value(lambda shape: len(shape) > 0)
    if x is None:
        return
    shape = w.shapes[x]
    axis = w.random.randrange(len(shape))
    keep = w.random.random() < 0.6
    left = (*shape[:axis], *(["1"] if keep else []), *shape[axis + 1 :])
    name = w.random.choice(["sum", "mean", "max", "var"])
    w.emit(f"fw.{name}({x}, axis={axis}, keepdims={keep})", left, x)


def scan(w: Writer) -> None:
    x = w.value(lambda shape: len(shape) > 0)
    if x is not None:
        axis = w.random.randrange(len(w.shapes[x]))
        w.emit(f"fw.cumsum({x}, axis={axis})", w.shapes[x], x)


def turned(w: Writer) -> None:
    x = w.value(lambda shape: len(shape) == 2)
    if x is not None:
        w.emit(f"{x}.T", w.shapes[x][::-1], x)


def stack(w: Writer) -> None:
    x = w.value(lambda shape: len(shape) == 1)
    y = w.value(lambda shape: x is not None and shape == w.shapes[x])
    if x is not None and y is not None:
        w.emit(f"fw.stack([{x}, {y}])", ("2", *w.shapes[x]), x, y)


def product(w: Writer) -> None:
    x = w.value(lambda shape: len(shape) == 2)
    y = w.value(lambda shape: x is not None and bool(shape) and shape[0] == w.shapes[x][1])
    if x is not None and y is not None:
        w.emit(f"fw.matmul({x}, {y})", (w.shapes[x][0], *w.shapes[y][1:]), x, y)


def of_rows(w: Writer) -> None:
    """A function of each row, which reads another vector whole."""
    x, y = w.value(lambda shape: len(shape) == 2), w.value(lambda shape: len(shape) == 1)
    if x is None or y is None:
        return
    rows, row = w.shapes[x]
    bodies = {
        f"r * fw.sum({y})": row,
        f"r - fw.mean(r) * {y}[0]": row,
        f"fw.map(lambda e: e + fw.max({y} * e), r)": row,
        "fw.sum(r * r) + fw.max(r)": None,
        f"fw.map(lambda e: fw.sum(r) * e, {y})": w.shapes[y][0],
        f"(lambda s: fw.map(lambda e: s + e, {y}))(fw.cumsum(r)[-1])": w.shapes[y][0],
        "fw.sort(r)[0] - r": row,
        f"(lambda t: fw.map(lambda e: e * fw.sum(t), {y}))"
        f"(fw.map(lambda e: e * 2.0, r))": w.shapes[y][0],
        f"(lambda t: t - fw.max(t))(fw.map(lambda e: fw.sum({y} * e), r))": row,
        f"(lambda t: fw.map(lambda e: fw.sum(t * e), {y}))"
        f"(fw.map(lambda e: fw.sum({x}[0] * e), r))": w.shapes[y][0],
        "fw.map(lambda q: q * fw.sum(r), fw.map(lambda e: fw.exp(e), r))": row,
    }
    text, length = w.random.choice(list(bodies.items()))
    shape = (rows,) if length is None else (rows, length)
    w.emit(f"fw.map(lambda r: {text}, {x})", shape, x, y)


def of_elements(w: Writer) -> None:
    """A function of each element, which reads a row for it or another array whole."""
    x, y = w.value(lambda shape: len(shape) == 1), w.value(lambda shape: len(shape) == 1)
    if x is None or y is None:
        return
    mine, other = w.shapes[x][0], w.shapes[y][0]
    bodies: dict[str, Shape] = {
        f"fw.sum({y} * e)": (mine,),
        f"e * {y}[0] + {y}[-1]": (mine,),
        f"fw.map(lambda o: o - e, {y})": (mine, other),
        f"fw.map(lambda o: o * fw.sum({x}), {y})": (mine, other),
        f"fw.cond(e > 0.5, lambda: fw.sum({y}), lambda: e)": (mine,),
    }
    text, shape = w.random.choice(list(bodies.items()))
    w.emit(f"fw.map(lambda e: {text}, {x})", shape, x, y)


def gather(w: Writer) -> None:
    x = w.value(lambda shape: len(shape) > 0)
    if x is None:
        return
    shape = w.shapes[x]
    w.emit(*w.random.choice([
        (f"{x}[0]", shape[1:]), (f"{x}[-1]", shape[1:]), (f"{x}[::-1]", shape),
        (f"{x}[(fw.iota({x}.shape[0]) * 7) % {x}.shape[0]]", shape),
        (f"fw.broadcast_to({x}, (2, *{x}.shape))", ("2", *shape)),
        (f"{x} - fw.concat([{x}[1:], {x}[:1]])", shape),
    ]), x)  # fmt: skip


def wider(w: Writer) -> None:
    """A vector as the rows or the columns of a matrix, with another vector."""
    x, y = w.value(lambda shape: len(shape) == 1), w.value(lambda shape: len(shape) == 1)
    if x is not None and y is not None:
        shape = w.shapes[x][0], w.shapes[y][0]
        w.emit(f"{x}[:, None] {w.random.choice('+*')} {y}[None, :]", shape, x, y)


def ragged(w: Writer) -> None:
    """Rows of two lengths."""
    x = w.value(lambda shape: len(shape) == 1 and shape[0] not in "12")
    if x is None:
        return
    body = w.random.choice([
        "r - fw.mean(r)", "fw.map(lambda e: e * fw.sum(r), r)", "fw.cumsum(r) * fw.max(r)",
        f"r * fw.sum({x})",
    ])  # fmt: skip
    lengths = f"fw.astype(fw.concat([{x}[:1] * 0 + 7, {x}[:1] * 0 + {x}.shape[0] - 7]), fw.int64)"
    rows = f"fw.ragged({x}, lengths={lengths})"
    w.emit(f"fw.map(lambda r: {body}, {rows}).values", w.shapes[x], x)


def loop(w: Writer) -> None:
    """Three iterations over an array, with another one that each reads."""
    x, y = w.value(lambda shape: len(shape) > 0), w.value(lambda shape: len(shape) > 0)
    if x is not None and y is not None:
        text = f"lambda i, s: s * 0.5 + fw.sum({y})"
        w.emit(f"fw.fori_loop(0, 3, {text}, {x})", w.shapes[x], x, y)


def branch(w: Writer) -> None:
    x = w.value(lambda shape: len(shape) > 0)
    y = w.value(lambda shape: x is not None and shape == w.shapes[x])
    if x is not None and y is not None:
        condition = f"fw.sum({x}) > fw.sum({y})"
        w.emit(f"fw.cond({condition}, lambda: {x} * 2.0, lambda: {y} - 1.0)", w.shapes[x], x, y)


def library(w: Writer) -> None:
    x = w.value(lambda shape: len(shape) == 2)
    if x is None:
        return
    rows = w.shapes[x][0]
    text = w.random.choice(["fw.cov({0})", "fw.corrcoef({0})"])
    w.emit(text.format(x), (rows, rows), x)


STEPS: tuple[Callable[[Writer], None], ...] = (
    elementwise, elementwise, binary, binary, binary, fold, fold, fold, scan, turned, stack,
    product, of_rows, of_rows, of_elements, gather, gather, wider, ragged, loop, branch, library,
)  # fmt: skip


def random_source(seed: int, least: int = 3, most: int = 9) -> str:
    """The program of a seed, with a number of steps."""
    w = Writer(Random(seed))
    for _ in range(w.random.randint(least, most)):
        w.random.choice(STEPS)(w)
    made = list(w.shapes)[len(INPUTS) :] or ["v0"]
    ends = [name for name in made if name not in w.read][-3:]
    return "\n".join([HEAD, *w.lines, f"    return {', '.join(ends or made[-1:])},", ""])


def main() -> None:
    """Count the work of many programs, and print those that do too much."""
    options = argparse.ArgumentParser()
    options.add_argument("--programs", type=int, default=100)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--most", type=float, default=4.0)
    chosen = options.parse_args()
    ratios = []
    for seed in range(chosen.seed, chosen.seed + chosen.programs):
        written, done = work_of(random_source(seed), EXTENTS)
        ratios.append(done / max(written, 1))
        if ratios[-1] > chosen.most:
            print(f"{seed}: {ratios[-1]:.2f}", flush=True)
        if len(ratios) % 500 == 0 or len(ratios) == chosen.programs:
            ranked = sorted(ratios)
            parts = (("median", 0.5), ("99 %", 0.99), ("99.9 %", 0.999), ("most", 1.0))
            said = ", ".join(f"{n} {ranked[int((len(ranked) - 1) * at)]:.2f}" for n, at in parts)
            above = sum(ratio > chosen.most for ratio in ratios)
            print(f"{len(ratios)} programs, {above} above {chosen.most:g}: {said}", flush=True)


if __name__ == "__main__":
    main()
