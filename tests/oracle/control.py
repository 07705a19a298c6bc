"""cond, fori_loop and while_loop over arrays: branches and bodies are blocks of steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.oracle.elementwise import choose_map
from tests.oracle.expressions import Cast, Expression, Function, Name, evaluate, text
from tests.oracle.moves import choose_filter, choose_move
from tests.oracle.program import OPERATIONS, Block, Operation, run_block
from tests.oracle.writer import Known, NoChoice, Writer

TURNS = 3


def branch(w: Writer, dtype: str, keep_length: str = "") -> Known:
    """One or two steps from the array `x` to one of a dtype."""
    for _ in range(w.random.choice([1, 2])):
        w.random.choice([choose_map, choose_map, choose_filter, choose_move])(w)
    alike = [x for x in w.known if x.rank == 1 and x.name != "x"]
    found = [x for x in alike if not keep_length or x.length == keep_length]
    if not found:
        raise NoChoice
    x = found[-1]
    if x.dtype == dtype:
        return x
    function = Function(("x",), (Cast(dtype, Name("x")),))
    return w.emit("map", x, length=x.length, function=function)


# -- cond ------------------------------------------------------------------------------------------


def cond_source(x: str, *, condition: Expression, then: str, other: str) -> str:
    return f"fw.cond({text(condition)}, {then}, {other}, {x})"


def cond_meaning(env: Any, x: Any, *, condition: Expression, then: Block, other: Block) -> Any:
    return run_block(then if evaluate(condition, env) else other, env, x)


def choose_cond(w: Writer) -> Known:
    x = w.vector()
    scalars = {y.name: y.sample for y in w.scalars()} or {
        f"{x.name}.shape[0]": np.int64(len(x.sample))
    }
    condition = w.boolean(scalars)
    then = w.block({"x": x}, lambda inside: branch(inside, x.dtype))
    other = w.block({"x": x}, lambda inside: branch(inside, x.dtype))
    return w.emit("cond", x, condition=condition, then=then, other=other)


# -- loops -----------------------------------------------------------------------------------------


def fori_source(x: str, *, body: str) -> str:
    return f"fw.fori_loop(0, {TURNS}, lambda i, x: {body}(x), {x})"


def fori_meaning(env: Any, x: Any, *, body: Block) -> Any:
    for _ in range(TURNS):
        x = run_block(body, env, x)
    return x


def choose_fori(w: Writer) -> Known:
    x = w.vector()
    keep = w.chance(0.5)
    body = w.block({"x": x}, lambda inside: branch(inside, x.dtype, x.length if keep else ""))
    return w.emit("fori", x, length=x.length if keep else "", body=body)


def while_source(x: str, *, body: str) -> str:
    return (
        f"fw.while_loop(lambda s: (s[0].shape[0] > 3) & (s[1] < {TURNS}),"
        f" lambda s: ({body}(s[0]), s[1] + 1), ({x}, 0))[0]"
    )


def while_meaning(env: Any, x: Any, *, body: Block) -> Any:
    for _ in range(TURNS):
        if len(x) > 3:
            x = run_block(body, env, x)
    return x


def choose_while(w: Writer) -> Known:
    x = w.vector()
    return w.emit("while", x, body=w.block({"x": x}, lambda inside: branch(inside, x.dtype)))


OPERATIONS |= {
    "cond": Operation(cond_source, cond_meaning),
    "fori": Operation(fori_source, fori_meaning),
    "while": Operation(while_source, while_meaning),
}
CHOICES = {choose_cond: 3, choose_fori: 2, choose_while: 1}
