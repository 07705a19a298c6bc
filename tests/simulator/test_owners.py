"""The simulator counts who owns a buffer: given back once, written in place by one owner alone."""

import numpy as np
import pytest

from flatweave.base.errors import CompilerBug
from flatweave.simulator.run import run
from tests.kernel_ir.units import unit


@pytest.mark.parametrize(
    ("host", "message"),
    [
        ("b: global i64 = alloc i64 n 0\n in n", "1 owners left"),
        ("b: global i64 = alloc i64 n 0\n free b\n store b 0 1\n in n", "after it was given back"),
        ("b: global i64 = alloc i64 n 0\n free b\n free b\n in n", "after it was given back"),
        ("b: global i64 = alloc i64 n 0\n retain b\n in b", "2 owners left"),
        ("b: global i64 = alloc i64 n 0\n trim b 9\n in b", "trimmed to 9"),
    ],
)
def test_owners_are_counted(host, message):
    """Memory is given back once, and not used afterwards."""
    made = unit(f"host(n: i64) => {host}")
    with pytest.raises(CompilerBug, match=message):
        run(made, [4])


def test_owners():
    """Only a buffer with one owner may be written in place; arguments are the caller's."""
    made = unit("""
        host(xs: global i64) =>
            b: global i64 = alloc i64 2 0
            store b 0 7
            p: bool = is_unique b
            retain b
            q: bool = is_unique b
            free b
            r: bool = is_unique xs
            trim b 1
            t: i64 = threads
            in p, q, r, b, xs, t
    """)
    p, q, r, b, xs, t = run(made, [np.arange(2)], threads=3)

    assert (p, q, r, t) == (True, False, False, 3)
    np.testing.assert_array_equal(b, [7])
    np.testing.assert_array_equal(xs, [0, 1])


@pytest.mark.parametrize("given", [True, False])
def test_an_array_that_the_caller_gives_away_is_owned(given):
    """It may be written to, and is given back or a result; else it stays the caller's."""
    host = """
        host(xs: global i64, given: bool) =>
            a: global i64 = adopt xs given
            p: bool = is_unique a
            if p (() => store a 0 7) (() => ())
            in p, a
    """
    xs = np.arange(2)
    p, found = run(unit(host), [xs, given])
    assert p == given
    np.testing.assert_array_equal(found, [7, 1] if given else [0, 1])
    if given:
        with pytest.raises(CompilerBug, match="1 owners left"):
            run(unit(host.replace("in p, a", "in p")), [xs, given])
