"""Programs that are long or nest deeply: they compile, or a message says why not."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.errors import UserError

XS = np.arange(5.0, dtype=np.float32)


def nested(depth, x):
    """Branches inside branches."""
    if depth == 0:
        return x
    return fw.cond(x > depth, lambda: nested(depth - 1, x * 0.5), lambda: x + 1)


def boxed(depth, value):
    """Tuples of one inside tuples of one."""
    for _ in range(depth):
        value = (value,)
    return value


def unboxed(value):
    while isinstance(value, tuple):
        value = value[0]
    return value


def test_a_chain_longer_than_pythons_stack_compiles():
    """Through every pass, the printer, the verifier, lowering and emission."""

    def chain(xs):
        for _ in range(1500):
            xs = xs + 1
        return xs

    stages = fw.jit(chain, target="cuda").stages(XS)

    assert stages.kernels == 1
    assert stages.text["fused"].count("add") == 1500
    assert stages.text["llvm"]


def test_branches_nested_too_deeply_are_refused(target):
    """In the user's terms; afterwards everything works."""
    with pytest.raises(fw.Unsupported, match="deeper than Python's stack"):
        fw.map(lambda x: nested(400, x), XS)

    assert np.array_equal(fw.map(lambda x: nested(3, x), XS), [1, 2, 3, 4, 3])


@pytest.mark.parametrize("depth", [2000, 20_000])
def test_arguments_nested_too_deeply_are_refused(depth):
    """When a compiled function takes them, gives them, or an operation meets them at once."""
    deep = boxed(depth, XS)
    for call in (
        lambda: fw.jit(lambda t: unboxed(t) + 1)(deep),
        lambda: fw.jit(lambda x: boxed(depth, x + 1))(XS),
        lambda: fw.map(lambda e: unboxed(e) + 1, deep),
    ):
        with pytest.raises(UserError, match="deep"):
            call()


def test_a_function_that_calls_itself_for_ever_is_pythons_matter():
    """Its traceback says more than any message of ours."""

    def endless(x):
        return endless(x)

    with pytest.raises(RecursionError):
        fw.jit(endless)(XS)
