"""Recurrences against loops in Python: with and without a parallel form."""

import numpy as np
import pytest

import flatweave as fw

RNG = np.random.default_rng(13)
XS = RNG.integers(-4, 5, 40).astype(np.float64)
FORMS = {
    "average": lambda c, x: (0.75 * c + 0.25 * x, c),
    "sum": lambda c, x: (c + x, c * 2),
    "subtracted": lambda c, x: (x - c / 2, None),
    "twice": lambda c, x: (c + c * 0.25 - x, fw.sqrt(fw.abs(c))),
    "reset": lambda c, x: (fw.where(x < 0, 0.0, c + x), c),
    "reset_below": lambda c, x: (fw.where(x > 2, c, x), c),
    "highest": lambda c, x: (fw.maximum(c, x), c),
    "clipped": lambda c, x: (fw.maximum(c + x, 0.0), c + x),
    "lowest": lambda c, x: (fw.minimum(1.0, c - x), c),
}
LOOPS = {
    "logistic": lambda c, x: (0.9 * c * (1 - c), c + x),
    "both": lambda c, x: (fw.maximum(0.5 * c, x), c),
    "where_of_carry": lambda c, x: (fw.where(c > 0, c - x, c + x), c),
    "root": lambda c, x: (fw.sqrt(fw.abs(c)) + x, None),
}


def loop(step, carry, xs, reverse=False):
    """As Python does it."""
    found = []
    for x in xs[::-1] if reverse else xs:
        carry, y = step(carry, fw.asarray(x))
        found.append(None if y is None else float(y))
    return float(carry), found[::-1] if reverse else found


def agree(ours, wanted):
    np.testing.assert_allclose(float(ours[0]), wanted[0], rtol=1e-9, atol=1e-9)
    if ours[1] is None:
        assert set(wanted[1]) <= {None}
    else:
        np.testing.assert_allclose(np.asarray(ours[1]), np.array(wanted[1], float), rtol=1e-9,
                                   atol=1e-9)  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_forms_give_what_the_loop_does(name):
    """In both directions, for few and many elements."""
    step = FORMS[name]
    for n in (0, 1, 2, 40):
        for reverse in (False, True):
            wanted = loop(step, 1.5, XS[:n], reverse)
            for parallel in (None, True, False):
                agree(fw.recurrence(step, 1.5, XS[:n], reverse=reverse, parallel=parallel), wanted)


@pytest.mark.parametrize("name", LOOPS)
def test_what_has_no_form_is_a_loop(name):
    """And `parallel=True` refuses it."""
    step = LOOPS[name]

    agree(fw.recurrence(step, 0.5, XS[:9]), loop(step, 0.5, XS[:9]))
    agree(fw.recurrence(step, 0.5, XS[:9], reverse=True), loop(step, 0.5, XS[:9], reverse=True))
    with pytest.raises(fw.OperatorError):
        fw.recurrence(step, 0.5, XS[:9], parallel=True)


def test_infinities_and_resets_are_those_of_the_loop():
    """Infinity times 0 is NaN; what `where` leaves out is left out."""
    xs = np.array([1.0, np.inf, 0.0, 1.0])

    agree(fw.recurrence(lambda c, x: (c * x, c), 1.0, xs), loop(lambda c, x: (c * x, c), 1.0, xs))
    step = FORMS["reset"]
    xs = np.array([1.0, np.inf, -1.0, 2.0])
    agree(fw.recurrence(step, 0.0, xs, parallel=True), loop(step, 0.0, xs))


def test_bools_and_integers():
    """`&` and `|`; integers are exact, whatever they are multiplied with."""
    flags = np.array([True, False, False, True])

    carry, seen = fw.recurrence(lambda c, x: ((c | x) & ~(~x & False), c), False, flags)
    assert (bool(carry), seen.tolist()) == (True, [False, True, True, True])
    carry, found = fw.recurrence(lambda c, x: (3 * c + x, c), 1, np.arange(50), parallel=True)
    c, wanted = 1, []
    for x in range(50):
        wanted.append((c + 2**63) % 2**64 - 2**63)
        c = 3 * c + x
    assert found.tolist() == wanted


def test_carries_of_several_parts_and_structures():
    """Fibonacci numbers with their sum, of records."""
    def step(carry, x):
        a, b = carry
        return (b, a + b + x["u"]), {"sum": a + b, "v": x["v"]}

    xs = {"u": np.zeros(8, int), "v": np.arange(8.0)}
    (a, b), out = fw.recurrence(step, (0, 1), xs)

    assert (int(a), int(b)) == (21, 34)
    assert out["sum"].tolist() == [1, 2, 3, 5, 8, 13, 21, 34]
    assert out["v"].tolist() == list(range(8))


def test_along_other_axes_and_rows():
    """Carries may be arrays; of a Ragged each row begins anew."""
    table = RNG.random((3, 5))

    carry, sums = fw.recurrence(lambda c, x: (c + x, c + x), np.zeros(3), table, axis=1)
    np.testing.assert_allclose(np.asarray(sums), table.cumsum(1))
    np.testing.assert_allclose(np.asarray(carry), table.sum(1))
    rows = fw.ragged([[1.0, 2.0], [], [4.0]])
    for step in (FORMS["average"], LOOPS["root"]):
        carry, out = fw.recurrence(step, 0.5, rows)
        for i, row in enumerate(rows.tolist()):
            wanted = loop(step, 0.5, np.array(row))
            agree((carry[i], None if out is None else out[i]), wanted)


def test_gradients():
    """Of a scan and of a loop."""
    for step in (FORMS["average"], LOOPS["logistic"]):
        def total(xs, step=step):
            carry, out = fw.recurrence(step, 0.5, xs)
            return carry + fw.sum(out * out)

        fw.check_grads(total, (XS[:5] / 7,), 1)


def test_a_recurrence_is_traced_once_for_every_length():
    """In a jitted function, also compiled."""
    f = fw.jit(lambda xs: fw.recurrence(FORMS["average"], 0.0, xs), target="cpu")
    g = fw.jit(lambda xs: fw.recurrence(LOOPS["where_of_carry"], 0.0, xs), target="cpu")

    for n in (0, 1, 40, 3000):
        xs = RNG.random(n)
        agree(f(xs), loop(lambda c, x: (0.75 * c + 0.25 * x, c), 0.0, xs.tolist()[:n]) if n < 99
              else (float(f(xs)[0]), np.asarray(f(xs)[1]).tolist()))  # fmt: skip
        agree(g(xs[:40]), loop(LOOPS["where_of_carry"], 0.0, xs[:40]))
    assert (f.traces, g.traces) == (1, 1)
    assert "parallel scan" in f.stages(XS).notes[0]
    assert "loop" in g.stages(XS).notes[0]


COUPLED = {
    "oscillator": (lambda c, x: ((0.9 * c[0] + 0.1 * c[1] + x, 0.2 * c[0] - 0.8 * c[1]), c[0]),
                   (1.0, 0.0)),
    "level_and_trend": (lambda c, x: (
        (0.5 * x + 0.5 * (c[0] + c[1]), 0.3 * (0.5 * x - 0.5 * c[0] + 0.5 * c[1]) + 0.7 * c[1]),
        c[0] + c[1]), (0.0, 0.0)),
    "two_states": (lambda c, x: (
        (fw.maximum(c[0] + x, c[1] - 1), fw.maximum(c[0] - 2, c[1] - x)), c[0]), (0.0, -1.0)),
    "three_sums": (lambda c, x: (
        (fw.maximum(c[0], x), c[1] + x, fw.minimum(c[2] + 1, x)), c[0] * c[1] + c[2]),
        (0.0, 0.0, 9.0)),
    "count_and_sum": (lambda c, x: ((c[0] + 1, c[1] + x), c[1] / c[0]), (1, 0.0)),
    "resets": (lambda c, x: (
        (fw.where(x < 0, 0.0, c[0] + c[1]), fw.where(x > 2, x, c[1] * 0.5 + 1)), c[0]), (1.0, 2.0)),
    "chosen": (lambda c, x: ((fw.where(x > 0, c[0], c[1]), c[1] * 0.5 + x), c[0]), (1.0, 2.0)),
    "bools": (lambda c, x: ((c[0] | (c[1] & (x > 0)), (c[0] & (x < 1)) | (x == 2)), c[0]),
              (False, True)),
    "four": (lambda c, x: (
        (c[1], c[2], c[3], 0.1 * c[0] + 0.2 * c[1] - 0.3 * c[2] + x), c[3]), (0.0, 1.0, 2.0, 3.0)),
    "shifted": (lambda c, x: ((x, c[0], c[1]), c[2]), (0.0, 1.0, 2.0)),
    "fraction": (lambda c, x: (1 / (c + x + 5), c), 1.0),
    "moebius": (lambda c, x: ((c * (x + 5) + 1.0) / (2 * c + 3.0), c), 1.0),
    "gain": (lambda c, x: (c / (c + 2.0) + 0.1, c), 1.0),
    "fraction_with_resets": (lambda c, x: (fw.where(x > 2, x, c / (1 + c)), c), 1.0),
}  # fmt: skip

EXACT_WITH_INFINITIES = ["oscillator", "three_sums", "count_and_sum", "resets", "chosen", "shifted"]


@pytest.mark.parametrize("name", COUPLED)
def test_coupled_carries_and_quotients_give_what_the_loop_does(name):
    """Of each semiring, of several at once, and of Möbius maps; NaN only where the loop has it."""
    step, initial = COUPLED[name]
    infinite = np.array([1.0, np.inf, 0.0, 3.0, -np.inf, 2.0])
    for xs in (XS[:0], XS[:1], XS, *[infinite] * (name in EXACT_WITH_INFINITIES)):
        ours = fw.recurrence(step, initial, xs, parallel=True)
        loop = fw.recurrence(step, initial, xs, parallel=False)
        for a, b in zip([*np.atleast_1d(ours[0]), ours[1]], [*np.atleast_1d(loop[0]), loop[1]],
                        strict=True):  # fmt: skip
            assert a.dtype == b.dtype
            np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-9, atol=1e-12)


def test_five_carries_that_all_depend_on_each_other_are_a_loop():
    """A product of matrices of five is dearer than five steps; five alone are scans."""
    def mixed(c, x):
        return tuple(sum(c) + x for _ in c), c[0]

    with pytest.raises(fw.OperatorError):
        fw.recurrence(mixed, (0.0,) * 5, XS[:5], parallel=True)
    def alone(c, x):
        return tuple(v + x for v in c), c[4]

    found = fw.recurrence(alone, (0.0,) * 5, XS, parallel=True)[1]
    np.testing.assert_allclose(np.asarray(found)[1:], np.cumsum(XS)[:-1])
