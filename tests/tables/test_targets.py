"""Tables as machine code: the same values as the interpreter's, in few programs."""

import numpy as np
import pytest

import flatweave as fw

RNG = np.random.default_rng(11)


def leaves(found):
    """The arrays of a result, NaN for what is missing."""
    if isinstance(found, dict):
        found = list(found.values())
    if isinstance(found, tuple | list):
        return [leaf for part in found for leaf in leaves(part)]
    if isinstance(found, fw.Groups):
        return leaves((found.keys, found.rows, found.index))
    if isinstance(found, fw.Ragged):
        return leaves((found.values, found.offsets))
    return [np.array(found.tolist(), float)]


def grouped(keys, x, times):
    """Groups, what is computed of them, and what is given back to their elements."""
    groups = fw.group_by((keys, times), x)
    totals = groups.agg(total="sum", most="max", own=lambda row: fw.max(row) - fw.min(row))
    return totals, groups.sizes, x - groups.spread(totals["most"])


def missing(keys, x, times):
    """Missing values in arithmetic, reductions and keys."""
    known = fw.Nullable(x, keys > 0)
    return known * 2, fw.sum(known), fw.min(known), fw.sort(known), fw.group_by(
        fw.Nullable(keys, x > 0), x, dropna=True
    ).rows  # fmt: skip


def windowed(keys, x, times):
    """Maps over windows, and runs."""
    means = fw.map(fw.mean, fw.rolling(x, 3))
    return means, fw.max(fw.rolling_by(times, x, 2.0), axis=1, initial=0.0), fw.run_lengths(keys)


def chosen(keys, x, times):
    """The best elements, ranks and segments."""
    return fw.top_k(x, fw.minimum(2, x.shape[0])), fw.rank(keys), fw.cummax(x), fw.segment_sum(
        x, keys, 4
    )  # fmt: skip


def verbs(keys, x, times):
    """Pairs of each row, padded rows, indices of extremes."""
    rows = fw.ragged(x, offsets=fw.concat([fw.full(1, 0), fw.searchsorted(keys, fw.iota(5))]))
    left, right = rows.combinations(2)
    return fw.sum(left * right, axis=1), rows.pad_none(2), rows.argmax(axis=1), rows.softmax()


@pytest.mark.parametrize("program", [grouped, missing, windowed, chosen, verbs])
def test_compiled_programs_give_what_the_interpreter_does(program):
    """For no elements, one, few and many, by one compiled program."""
    compiled, interpreted = fw.jit(program, target="cpu"), fw.jit(program, target="interp")
    for n in (0, 1, 5, 130):
        keys = np.sort(RNG.integers(0, 4, n))
        x = RNG.integers(1, 99, n).astype(np.float64)
        times = np.sort(RNG.random(n) * 9)

        ours, wanted = (leaves(f(keys, x, times)) for f in (compiled, interpreted))
        for one, other in zip(ours, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)


def test_pairs_store_nothing_but_the_result():
    """A function of every pair of a row, added up: pairs are found where they are used."""
    f = fw.jit(lambda rows: fw.sum(fw.multiply(*rows.combinations(2)), axis=1), target="cpu")
    stored = f.stages(fw.ragged(np.arange(10.0), lengths=[4, 6])).manifest

    assert [array.is_result for array in stored if array.type.startswith("f64")] == [True]
