"""A program as data: inputs, steps that name their values, results; and its Python source.

    def program(v0, v1):
        v2 = fw.map(lambda x: (x + 3), v0)
        v3 = fw.reduce(fw.add, 0, v2)
        return v3,

This text itself runs, so that a report shows what ran.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import flatweave as fw
from tests.oracle.data import KINDS, Rows, column, row_lengths


class Meaningless(Exception):
    """A program has no meaning: its oracle refuses it."""


@dataclass(frozen=True)
class Operation:
    """What a step may be: its Python text, and its meaning on NumPy values.

    Both take the inputs in a row, then the details by name; the meaning takes all values first.
    """

    source: Callable[..., str]
    meaning: Callable[..., Any]
    slow: bool = False  # a loop of Python over elements: few of them
    rounded: bool = False  # results are near, not equal
    varies: bool = False  # its results' length is its own


@dataclass(frozen=True)
class Input:
    """An argument: a column or rows of some dtype; columns of one `length` are equally long."""

    name: str
    dtype: str
    length: str  # "n", "m", "scalar"; or "rows", whose values are their own


@dataclass(frozen=True)
class Step:
    """One line of a program."""

    name: str
    operation: str
    inputs: tuple[str, ...]
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Block:
    """Lines of a program with separate parameters: a branch, or the body of a loop."""

    params: tuple[str, ...]
    steps: tuple[Step, ...]
    result: str


@dataclass(frozen=True)
class Program:
    """A whole program."""

    inputs: tuple[Input, ...]
    steps: tuple[Step, ...]
    results: tuple[str, ...]
    schedule: tuple[tuple[str, str], ...] = ()


OPERATIONS: dict[str, Operation] = {}
"""Every operation by its name: the modules of operations enter theirs."""


# -- as Python -------------------------------------------------------------------------------------


def lines_of(steps: Sequence[Step], indent: str) -> list[str]:
    """Steps as lines; the blocks that a step needs are functions before it."""
    lines: list[str] = []
    for step in steps:
        for role, block in step.details.items():
            if isinstance(block, Block):
                lines += _function_of(f"{step.name}_{role}", block, indent)
        text = OPERATIONS[step.operation].source(*step.inputs, **named_blocks(step))
        lines.append(f"{indent}{step.name} = {text}")
    return lines


def named_blocks(step: Step) -> dict[str, Any]:
    """A step's details, each block as the name of its function."""
    return {
        role: f"{step.name}_{role}" if isinstance(detail, Block) else detail
        for role, detail in step.details.items()
    }


def _function_of(name: str, block: Block, indent: str) -> list[str]:
    inside = indent + "    "
    head = f"{indent}def {name}({', '.join(block.params)}):"
    return [head, *lines_of(block.steps, inside), f"{inside}return {block.result}"]


def source_of(program: Program) -> str:
    """The program as a Python function."""
    head = f"def program({', '.join(x.name for x in program.inputs)}):"
    lines = [head, *lines_of(program.steps, "    ")]
    return "\n".join([*lines, f"    return {', '.join(program.results)},", ""])


def function_of(program: Program) -> Callable[..., Any]:
    """The function that the program's text defines, which error messages can quote."""
    text = source_of(program)
    name = f"<program {hash(text) & 0xFFFFFFFF:08x}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    names: dict[str, Any] = {"fw": fw, "np": np}
    exec(compile(text, name, "exec"), names)
    return names["program"]


# -- as NumPy --------------------------------------------------------------------------------------


def entered(name: str, value: Any) -> dict[str, Any]:
    """A value under its name, and its length as programs write it."""
    env = {name: value}
    if isinstance(value, np.ndarray) and value.ndim:
        env[f"{name}.shape[0]"] = np.int64(len(value))
    return env


def run_steps(steps: Sequence[Step], env: dict[str, Any]) -> dict[str, Any]:
    """The values of steps, entered among those that are known."""
    for step in steps:
        values = [env[name] for name in step.inputs]
        with np.errstate(all="ignore"):
            found = OPERATIONS[step.operation].meaning(env, *values, **step.details)
        env |= entered(step.name, found)
    return env


def run_block(block: Block, env: Mapping[str, Any], *values: Any) -> Any:
    """What a block gives for its parameters."""
    inside = dict(env)
    for name, value in zip(block.params, values, strict=True):
        inside |= entered(name, value)
    return run_steps(block.steps, inside)[block.result]


def expected(program: Program, arguments: Sequence[Any]) -> list[Any]:
    """The results, by NumPy alone."""
    env: dict[str, Any] = {}
    for given, value in zip(program.inputs, arguments, strict=True):
        env |= entered(given.name, value)
    run_steps(program.steps, env)
    return [env[name] for name in program.results]


# -- arguments -------------------------------------------------------------------------------------


def arguments(program: Program, n: int, m: int, seed: int) -> list[Any]:
    """Arguments drawn by a seed: `n` elements, `m` in the columns of the other length."""
    found: list[Any] = []
    for k, given in enumerate(program.inputs):
        random = np.random.default_rng([seed, k])
        kind = str(random.choice(KINDS))
        if given.length == "scalar":
            found.append(column(given.dtype, 1, random, kind)[0])
            continue
        values = column(given.dtype, m if given.length == "m" else n, random, kind)
        is_rows = given.length == "rows"
        found.append(Rows(values, row_lengths(n, random)) if is_rows else values)
    return found


def passed(argument: Any) -> Any:
    """An argument as a program of Flatweave takes it."""
    if isinstance(argument, Rows):
        return fw.ragged(argument.values, lengths=argument.lengths)
    return argument
