"""Operators of reductions and scans in kernels, tried by the first call."""

import numpy as np
import pytest

import flatweave as fw
from flatweave import kernel as fk
from flatweave.base.config import config
from tests.conftest import DEVICE, missing_device

XS = 1 + np.random.default_rng(3).random(2048) / 8


@pytest.fixture(autouse=True)
def nothing_remembered():
    """What earlier processes have tried does not count."""
    with config.scoped(target="interp", no_cache=True):
        yield


def good(a, b):
    """Associative, and 0 is neutral; no law says so."""
    return a + b + a * b


def ema(a, b):
    return 0.75 * a + 0.25 * b


def blocks(work, *, checks=True):
    """A kernel whose blocks of 64 elements do this."""
    return fk.kernel(lambda xs: fk.pconcat_map(work, fk.split_up(64, xs)), checks=checks)


def warps(work):
    """The same for warps of 32."""
    return blocks(lambda p: fk.pconcat_map(work, fk.split_up(32, p), level=fk.WARP))


PLACES = {
    "reduce": lambda op, **how: blocks(lambda p: fk.singleton(fk.reduce(op, p, 0.0, **how))),
    "scan": lambda op, **how: blocks(lambda p: fk.scan(op, p, 0.0, **how)),
    "scan from a start": lambda op, **how: blocks(lambda p: fk.scan(op, p, 0.0, 1.5, **how)),
    "reduce of rows": lambda op, **how: blocks(
        lambda p: fk.reduce(op, fk.split_up(16, p), 0.0, **how)
    ),
    "scan of q each": lambda op, **how: blocks(
        fk.sequential(4)(lambda p: fk.scan(op, p, 0.0, **how))
    ),
    "shared memory": lambda op, **how: blocks(
        lambda p: fk.scan(op, fk.force(fk.map(lambda x: x / 2, p)), 0.0, **how)
    ),
    "reduce of a warp": lambda op, **how: warps(
        lambda p: fk.singleton(fk.reduce(op, p, 0.0, **how))
    ),
    "warp_reduce": lambda op, **how: warps(lambda p: fk.singleton(fk.warp_reduce(op, p, **how))),
    "warp_scan": lambda op, **how: warps(lambda p: fk.warp_scan(op, p, **how)),
}  # fmt: skip


@pytest.mark.parametrize("name", PLACES)
def test_an_operator_that_does_not_associate_is_refused_wherever_it_is(name):
    """With the elements that show it, on every call. One that does is not."""
    kernel = PLACES[name](ema)
    for _ in range(2):
        with pytest.raises(fw.OperatorError, match="not associative: with x = "):
            kernel(XS)
    PLACES[name](good)(XS)
    PLACES[name](ema, check=False)(XS)


@pytest.mark.parametrize("target", ["cpu", DEVICE])
def test_kernels_are_tried_on_every_target(target):
    """Before machine code runs."""
    if target == DEVICE and missing_device():
        pytest.skip(missing_device())
    with fw.target(target), pytest.raises(fw.OperatorError, match="not associative"):
        PLACES["reduce"](ema)(XS)


def test_a_value_that_is_not_neutral_is_refused():
    """It would count once for each warp and lane."""
    def with_start(op, ne, **how):
        return blocks(lambda p: fk.singleton(fk.reduce(op, p, ne, **how)))

    with pytest.raises(fw.OperatorError, match="5.0 is not neutral to add"):
        with_start(lambda a, b: a + b, 5.0)(XS)
    with pytest.raises(fw.OperatorError, match="1.0 is not neutral to this operator"):
        with_start(good, 1.0)(XS)
    with pytest.raises(fw.OperatorError, match="2.0 is not neutral to this operator"):
        with_start(fw.maximum, 2.0)(XS)
    assert np.array_equal(with_start(fw.maximum, 0.0)(XS), XS.reshape(-1, 64).max(1))
    with_start(fw.maximum, 2.0, check=False)(XS)


def test_a_start_that_only_a_call_knows_is_tried():
    """An argument of the kernel."""
    kernel = fk.kernel(lambda xs, ne: fk.pconcat_map(
        lambda p: fk.singleton(fk.reduce(lambda a, b: a + b, p, ne)), fk.split_up(64, xs)
    ))  # fmt: skip
    kernel(XS, 0.0)
    again = fk.kernel(kernel.__wrapped__)
    with pytest.raises(fw.OperatorError, match="3.0 is not neutral"):
        again(XS, 3.0)


def test_subtraction_is_refused_when_the_kernel_is_written():
    """Also by an operator that looks back."""
    with pytest.raises(fw.OperatorError, match="is a - b"):
        PLACES["warp_scan"](lambda a, b: a - b, check=False)(XS)


def test_checks_of_a_kernel_can_be_left_out():
    """As those of indices."""
    blocks(lambda p: fk.scan(ema, p, 0.0), checks=False)(XS)


def test_threads_combine_one_by_one_and_take_any_operator():
    """What they give is the fold from the left."""
    kernel = blocks(lambda p: fk.pconcat_map(
        lambda q: fk.singleton(fk.reduce(lambda a, b: a - b, q, 0.0)), fk.split_up(8, p), fk.THREAD
    ))  # fmt: skip
    assert np.allclose(kernel(XS), -XS.reshape(-1, 8).sum(1))


def test_elements_of_different_rows_are_not_combined():
    """An operator may rely on what the elements of a row have in common."""
    rows = np.repeat(np.arange(128.0), 16)

    def of_one_row(a, b):
        return fw.where(a == b, a, 1e6 * a + b)

    blocks(lambda p: fk.reduce(of_one_row, fk.split_up(16, p), -1.0, check=False))(rows)
    with pytest.raises(fw.OperatorError, match="neutral"):  # and only that
        blocks(lambda p: fk.reduce(of_one_row, fk.split_up(16, p), -1.0))(rows)


def test_operators_of_tuples_that_read_memory():
    """Of lines, composed; the slopes are looked up."""
    def kernel(twist):
        def block(p):
            table = fk.force(fk.map(lambda x: x, p))

            def op(f, g):
                scale = table[0] if twist else 1.0
                return f[0] * g[0], (f[1] * g[0] + g[1]) * scale

            pairs = fk.map(lambda x: (x, 1.0), p)
            return fk.singleton(fk.reduce(op, pairs, (1.0, 0.0))[1])

        return blocks(block)

    kernel(False)(XS)
    with pytest.raises(fw.OperatorError, match="not associative"):
        kernel(True)(XS)


def test_kernels_in_jitted_functions():
    """On arguments, and on what the function computes of them; not with checks=False."""
    bad = PLACES["scan"](ema)
    for f in (lambda xs: bad(xs), lambda xs: bad(fw.sqrt(xs) * 2)):
        with pytest.raises(fw.OperatorError, match="not associative"):
            fw.jit(f)(XS)
        fw.jit(f, checks=False)(XS)
    with config.scoped(debug=True), pytest.raises(fw.OperatorError, match="not associative"):
        fw.jit(lambda xs: bad(xs))(XS)


def test_simulated_kernels():
    """In any schedule."""
    with pytest.raises(fw.OperatorError, match="not associative"):
        PLACES["reduce"](ema).simulate(XS, blocks=2, seed=1)


def test_a_check_goes_on_until_elements_say_something():
    """Zeros are fixed points of a sum; so the second call is the first to tell."""
    kernel = PLACES["reduce"](ema)
    kernel(np.zeros(64))
    with pytest.raises(fw.OperatorError, match="not associative"):
        kernel(XS)


def test_debug_tries_all_elements():
    """The last three are the first that tell."""
    xs = np.zeros(2048)
    xs[-3:] = 1, 2, 4
    PLACES["scan"](ema)(xs)
    with config.scoped(debug=True), pytest.raises(fw.OperatorError, match="not associative"):
        PLACES["scan"](ema)(xs)


EACH = 32  # elements of a block


def running(op, of_block=fw.add, **how):
    """A scan in one launch, whose blocks combine by `of_block` and look back by `op`."""

    @fk.kernel
    def kernel(xs):
        parts, out = fk.split_up(EACH, xs), fk.memory(xs.length, fw.f64)
        chain = fk.chain(parts.length, 0.0)

        def block(b):
            total = fk.reduce(of_block, parts[b], 0.0)
            before = fk.look_back(op, chain, b, total, **how)
            fk.for_all(EACH, lambda t: out.__setitem__(b * EACH + t, before))

        fk.for_all(parts.length, block)
        return out

    return kernel


def test_operators_that_look_back_are_tried_on_what_blocks_have():
    """In the order of the blocks, after what is before all of them."""
    with config.scoped(target="cpu"):
        with pytest.raises(fw.OperatorError, match=r"(?s)x = 0\.0, y = .*fk\.look_back\(op"):
            running(ema)(XS)
        running(ema, check=False)(XS)
        kernel = running(lambda a, b: fw.minimum(a + b, 9000.0))
        sums = np.concatenate([[0.0], XS.reshape(-1, EACH).sum(1).cumsum()[:-1]])
        assert np.allclose(kernel(XS), sums.repeat(EACH))
    with config.scoped(debug=True), pytest.raises(fw.OperatorError, match="not associative"):
        running(ema)(XS)


def test_an_operator_of_elements_is_not_tried_on_blocks_once_more():
    """One that is tried on the elements of blocks needs nothing that only a later call has."""
    def saturating(a, b):
        return fw.minimum(a + b, 1000.0)

    with config.scoped(target="cpu"):
        kernel = running(saturating, saturating)
        kernel(XS[:EACH])  # of one block
        kernel(np.tile([900.0, -900.0], 512))  # where it is not associative
