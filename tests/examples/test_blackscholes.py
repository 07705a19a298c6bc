"""examples/blackscholes.py gives the prices of the formula."""

import numpy as np


def test_prices_are_exact_to_single_precision(example, target):
    """Each call is near the price in double precision."""
    blackscholes = example("blackscholes")
    market = blackscholes.options(500)

    calls, puts = blackscholes.prices(*market, blackscholes.RATE, blackscholes.VOLATILITY)

    assert calls.dtype == puts.dtype == np.float32
    assert blackscholes.largest_error(calls, market, samples=500) < 1e-4


def test_a_call_less_a_put_is_worth_the_forward(example, target):
    """Put-call parity."""
    blackscholes = example("blackscholes")
    spot, strike, years = blackscholes.options(100)

    calls, puts = blackscholes.prices(spot, strike, years, np.float32(0.02), np.float32(0.3))

    forward = spot - strike * np.exp(-0.02 * years)
    assert np.allclose(np.asarray(calls) - np.asarray(puts), forward, atol=1e-3)


def test_numpy_prices_the_same(example):
    """What the demo compares with is the same formula."""
    blackscholes = example("blackscholes")
    (_, _, ours, numpys, agree) = next(blackscholes.cases(1000))
    mine, theirs = ours(), numpys()

    assert agree(mine, theirs)
    assert np.allclose(np.asarray(mine), np.asarray(theirs), atol=1e-3)


def test_the_program_ends_well(example, capsys):
    """`python examples/blackscholes.py 1000` ends with 0."""
    assert example("blackscholes").main(["1000"]) == 0
    assert "1000 options" in capsys.readouterr().out
