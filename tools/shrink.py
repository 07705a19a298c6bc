"""Make a failing program small: drop results and lets as long as it still fails.

    python -m tools.shrink failing.air                    cpu and interp disagree
    python -m tools.shrink failing.air --target opencl

A program fails where a target gives other results than the reference interpreter on random
arguments, or cannot compile it. In Python any predicate will do: `shrink(program, fails)`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import flatweave.ops  # noqa: F401  the operations that texts may name
from flatweave.array_ir import interp
from flatweave.array_ir.syntax import Fault, Program, form_of_text, parse_program, print_program
from flatweave.base.dtypes import DType, i64
from flatweave.base.errors import CompilerBug, Unsupported
from flatweave.passes.dce import dce
from flatweave.pipeline import build
from flatweave.targets import TARGETS
from flatweave.terms.syntax import ArrayType, Atom, Const, Lambda, Let, Op, Var, constant
from flatweave.terms.traverse import Substitution, free_vars, lambdas_in, map_field, walk_lets

SIZES = (0, 1, 2, 17, 129, 1025)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; 1 where the program does not fail."""
    options = _parser().parse_args(arguments)
    program = parse_program(Path(options.file).read_text(encoding="utf-8"))

    def fails(candidate: Program) -> bool:
        return disagrees(candidate, options.target)

    if not fails(program):
        sys.stderr.write(f"{options.file} does not fail: {options.target} agrees with interp.\n")
        return 1
    sys.stdout.write(print_program(shrink(program, fails)))
    return 0


def shrink(program: Program, fails: Callable[[Program], bool]) -> Program:
    """The smallest program found that still fails, by single steps that each keep it failing."""
    for candidate in _candidates(program):
        if _size(candidate) < _size(program) and _is_sound(candidate) and fails(candidate):
            return shrink(candidate, fails)
    return program


def disagrees(program: Program, target: str) -> bool:
    """Whether a target gives other results than the interpreter, or cannot compile the program."""
    try:
        compiled = build(program, target)
    except Unsupported:
        return False
    except Exception:
        return True
    return any(_differs(program, compiled.run, _arguments(program, n)) for n in SIZES)


def _differs(program: Program, run: Callable[[list[Any]], list[Any]], args: list[Any]) -> bool:
    try:
        wanted = interp.run(program, args)
    except Fault:
        return False
    try:
        found = run(args)
    except Exception:
        return True
    pairs = [(np.asarray(a), np.asarray(b)) for a, b in zip(wanted, found, strict=True)]
    return not all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in pairs)


def _arguments(program: Program, n: int) -> list[Any]:
    """Random arguments whose extents are all `n`; the same ones for the same program."""
    random = np.random.default_rng(n)
    return [_argument(random, param, n) for param in program.fn.params]


def _argument(random: np.random.Generator, param: Var, n: int) -> Any:
    match param.type:
        case ArrayType(dtype=dtype, shape=shape):
            extents = [int(e.value) if isinstance(e, Const) else n for e in shape]
            return random.integers(0, 2 if dtype.kind == "b" else 100, extents).astype(dtype.numpy)
        case DType() as dtype:
            return n if dtype is i64 else dtype.numpy.type(random.integers(0, 2))
    raise CompilerBug(f"{param} cannot be an argument.")


def _size(program: Program) -> int:
    fn = program.fn
    return len(fn.params) + len(fn.results) + 3 * sum(1 for _ in walk_lets(fn))


def _is_sound(program: Program) -> bool:
    try:
        form_of_text(program)
    except CompilerBug:
        return False
    return True


def _candidates(program: Program) -> Iterator[Program]:
    """Programs that are a little smaller, the greatest steps first."""
    for fn in _smaller(program.fn):
        yield _without_params(dce(Program(program.name, fn)))


def _without_params(program: Program) -> Program:
    """Without the parameters that nothing reads."""
    fn = program.fn
    read = free_vars(Lambda((), fn.lets, fn.results))
    params = [param for param in fn.params if param in read]
    extents = {extent for param in params for extent in _extents(param)}
    kept = tuple(param for param in fn.params if param in read or param in extents)
    return Program(program.name, Lambda(kept, fn.lets, fn.results))


def _extents(param: Var) -> tuple[Atom, ...]:
    return param.type.shape if isinstance(param.type, ArrayType) else ()


def _smaller(fn: Lambda) -> Iterator[Lambda]:
    """The whole cut short after a let, then fewer results, then without single lets."""
    for k, let in enumerate(fn.lets[:-1]):
        for var in let.vars:
            yield Lambda(fn.params, fn.lets[: k + 1], (var,))
    if len(fn.results) > 1:
        for result in fn.results:
            yield Lambda(fn.params, fn.lets, (result,))
    yield from _simpler(fn, ())


def _simpler(fn: Lambda, scope: tuple[Var, ...]) -> Iterator[Lambda]:
    """Without one let, whose results become values that are known before it."""
    known = scope + fn.params
    for k, let in enumerate(fn.lets):
        for mapping in _replacements(let, known):
            rest = Substitution(mapping).function(Lambda((), fn.lets[k + 1 :], fn.results))
            yield Lambda(fn.params, fn.lets[:k] + rest.lets, rest.results)
        for op in _simpler_ops(let, known):
            yield Lambda(fn.params, (*fn.lets[:k], op, *fn.lets[k + 1 :]), fn.results)
        known += let.vars


def _replacements(let: Let, known: tuple[Var, ...]) -> Iterator[dict[Var, Atom]]:
    """For each variable of a let another atom of its type; none where there is no such."""
    mapping: dict[Var, Atom] = {}
    for var in let.vars:
        alike = [other for other in known if other.type == var.type]
        if alike:
            mapping[var] = alike[-1]
        elif isinstance(var.type, DType):
            mapping[var] = constant(1, var.type)
        else:
            return
    yield mapping


def _simpler_ops(let: Let, known: tuple[Var, ...]) -> Iterator[Let]:
    """The let with one of its lambdas made simpler."""
    for inner in lambdas_in(let.op):
        for variant in _simpler(inner, known):
            yield Let(let.vars, _exchanged(let.op, inner, variant), let.where)


def _exchanged(op: Op, inner: Lambda, variant: Lambda) -> Op:
    """The operation with one of its lambdas exchanged."""
    made: Op = map_field(op, lambda atom: atom, lambda fn: variant if fn is inner else fn)
    return made


def _parser() -> argparse.ArgumentParser:
    summary, _, rest = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        prog="python -m tools.shrink", description=summary, epilog=rest,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("file", help="a .air text of a program that fails")
    parser.add_argument("--target", default="cpu", choices=sorted(TARGETS))
    return parser


if __name__ == "__main__":
    sys.exit(main())
