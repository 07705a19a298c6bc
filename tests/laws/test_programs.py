"""Every pass keeps the meaning of random programs, and machine code agrees with the interpreter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flatweave import pipeline
from flatweave.array_ir import interp
from flatweave.array_ir.syntax import Program, parse_program, print_program, same
from flatweave.base.config import config
from flatweave.passes.rewrite import ArrayPass
from tests.laws.programs import random_args, random_program
from tests.laws.small_blocks import Small, blocks
from tests.quick import every

SIZES = (0, 1, 2, 17, 129)
LARGEST = 1025
THREADS = (1, 2, 3, 7)
GROUPS = range(5)
PROGRAMS = settings.default.max_examples  # 25, and 1,000 in `make test-all`

seeds = st.integers(0, 10**6)


def agree(want: Sequence[Any], got: Sequence[Any]) -> bool:
    """The same dtypes, shapes and values."""
    pairs = [(np.asarray(a), np.asarray(b)) for a, b in zip(want, got, strict=True)]
    return all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in pairs)


def some_passes(seed: int) -> list[ArrayPass]:
    """The passes that lowering needs, and a random part of the others."""
    random = Random(seed)
    return [
        step for step in pipeline.ARRAY_PASSES if not step.is_optional or random.random() < 0.5
    ]


def passes_of(seed: int) -> Sequence[ArrayPass]:
    """All passes, or only some."""
    return pipeline.ARRAY_PASSES if seed % 3 else some_passes(seed)


def in_group(group: int) -> Iterator[int]:
    """The seeds of a group of programs: always the same."""
    return iter(range(group, PROGRAMS, len(GROUPS)))


@pytest.mark.sampled
@pytest.mark.parametrize("group", GROUPS)
def test_every_pass_keeps_the_meaning(group: int) -> None:
    """The interpreter gives the same results before and after each pass."""
    for seed in in_group(group):
        program, dtypes = random_program(seed, 8 + seed % 7)
        stages = pipeline.optimise(program)
        pairs = pipeline.inputs_of(program, stages)
        changed = {name: stages[name] for before, name in pairs if not same(before, stages[name])}
        for n in SIZES:
            args = random_args(seed, n, dtypes)
            want = interp.run(program, args)
            for name, after in changed.items():
                assert agree(want, interp.run(after, args)), f"{seed}: after {name} at n = {n}"


@pytest.mark.sampled
@pytest.mark.parametrize("group", GROUPS)
def test_machine_code_agrees_with_the_interpreter(group: int) -> None:
    """All passes or only some, any number of threads, and blocks so small that there are many."""
    for seed in in_group(group):
        program, dtypes = random_program(seed, 8 + seed % 7)
        compiled = Small(program, passes_of(seed), streaming=seed % 2 == 0)
        for n in (*SIZES, LARGEST):
            args = random_args(seed, n, dtypes)
            want = interp.run(program, args)
            for threads in THREADS if n == LARGEST else THREADS[(seed + n) % 4 :][:1]:
                with config.scoped(threads=threads):
                    assert agree(want, compiled.run(args)), f"{seed}: at n = {n}, {threads} threads"


def test_most_sweeps_have_several_blocks() -> None:
    """Else the law of machine code would say little of threads."""
    sweeps = several = 0
    for seed in in_group(0):
        program, dtypes = random_program(seed, 8 + seed % 7)
        swept = [*pipeline.optimise(program, passes_of(seed)).values()][-1]
        found = blocks(swept, random_args(seed, LARGEST, dtypes))
        sweeps, several = sweeps + found.sweeps, several + found.several

    assert several > 0.7 * sweeps


@settings(max_examples=3, deadline=None, derandomize=True)
@given(seeds)
def test_text_reads_back(seed: int) -> None:
    """parse(print(program)) is the program, before and after the passes."""
    program, _ = random_program(seed, 8)
    for stage in (program, *pipeline.optimise(program).values()):
        assert same(parse_program(print_program(stage)), stage)


@settings(max_examples=2, deadline=None, derandomize=True)
@given(seeds)
def test_the_passes_are_deterministic(seed: int) -> None:
    """The same program gives the same text at every stage."""
    first, second = (stage_texts(random_program(seed, 8)[0]) for _ in range(2))
    assert first == second


def stage_texts(program: Program) -> list[str]:
    """The program's text after each pass."""
    return [print_program(stage) for stage in pipeline.optimise(program).values()]


@pytest.mark.parametrize("seed", every(2, range(4)))
def test_large_inputs_give_the_same_bits_for_every_number_of_threads(seed: int) -> None:
    """Blocks of the size that they have: the results do not depend on threads."""
    program, dtypes = random_program(seed + 40, 8)
    compiled = pipeline.build(program, "cpu")
    args = random_args(seed, 2**20 + 1, dtypes)
    with config.scoped(threads=1):
        want = compiled.run(args)
    for threads in THREADS[1:]:
        with config.scoped(threads=threads):
            assert agree(want, compiled.run(args)), f"with {threads} threads"
