"""Loops of launches on CUDA: equal iterations are recorded once as a graph, and replayed."""

import ast
import inspect

import numpy as np
import pytest

import flatweave as fw
from flatweave.runtime.devices import cuda, launches
from flatweave.runtime.devices.launches import Turns
from tests.devices.gpus import gpu, of
from tests.shape.tree import PACKAGE

__all__ = ["gpu"]
XS, YS = np.arange(5000.0), np.arange(7.0)


def changing(change):
    """A kernel that stores a change of the state that it reads."""

    def kernel(cu, grid, threads, **given):
        n = of(given, "n")
        state = cu.view(of(given, "s"), np.float64, n)
        cu.view(of(given, "buffer"), np.float64, n)[:] = change(state, given)

    return kernel


def running(gpu, f, args, *changes, **options):
    """The program on a fake GPU; its kernels, in the order of their launches, make `changes`."""
    jitted = fw.jit(f, target="cuda")
    names = [f"k_{name}" for name, _, _ in jitted.stages(*args).launched]
    kernels = dict(zip(names, map(changing, changes), strict=True))
    return jitted, gpu(jitted, args, kernels, **options)


def two_states(xs, ys, n):
    """Two launches in each iteration."""
    return fw.fori_loop(0, n, lambda i, s: (s[0] * 2, s[1] + 1), (xs, ys))


def doubled(state, given):
    return state * 2


def more(state, given):
    return state + 1


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 12, 33])
def test_turns_are_recorded_once(gpu, n):
    """The first two iterations launch separately, one reads what it may not write; then one call
    for each, as the state stays where it is."""
    f, cu = running(gpu, two_states, (XS, YS, 3), doubled, more)
    xs, ys = f(XS, YS, n)

    assert np.array_equal(xs, XS * 2.0**n) and np.array_equal(ys, YS + n)
    recorded = cu.calls.count("cuGraphInstantiate")
    assert recorded == cu.calls.count("cuStreamBeginCapture") == cu.calls.count("cuGraphDestroy")
    assert recorded == min(1, max(0, n - 2))
    assert cu.calls.count("cuGraphLaunch") == max(0, n - 2)
    assert cu.calls.count("cuLaunchKernel") == 2 * (min(n, 2) + recorded)
    assert cu.sticky is None


def test_a_later_call_replays(gpu):
    """Where memory is that of the call before."""
    f, cu = running(gpu, two_states, (XS, YS, 3), doubled, more)
    for k in range(3):
        found = [np.asarray(each) for each in f(XS + k, YS, 12)]
        assert np.array_equal(found[0], (XS + k) * 2.0**12)
    before = cu.calls.count("cuGraphInstantiate")
    found = [np.asarray(each) for each in f(XS + 9, YS, 12)]

    assert np.array_equal(found[0], (XS + 9) * 2.0**12)
    assert cu.calls.count("cuGraphInstantiate") == before
    assert cu.calls.count("cuGraphLaunch") > 2 * 9


def test_numbers_that_differ_are_no_graph(gpu):
    """A launch that takes the iteration's number differs in each iteration."""
    def counted(xs, ys, n):
        return fw.fori_loop(0, n, lambda i, s: (s[0] + i, s[1] + 1), (xs, ys))

    f, cu = running(
        gpu, counted, (XS, YS, 3),
        lambda state, given: state + next(v for k, v in given.items() if type(v) is float), more,
    )  # fmt: skip
    xs, ys = f(XS, YS, 9)

    assert np.array_equal(xs, XS + 36) and np.array_equal(ys, YS + 9)
    assert "cuGraphLaunch" not in cu.calls


def test_a_condition_is_read_in_each_turn(gpu):
    """Between the iterations, which are still replayed."""
    def until(xs, ys):
        return fw.while_loop(lambda s: s[1][0] < 9, lambda s: (s[0] * 2, s[1] + 1), (xs, ys))

    f, cu = running(gpu, until, (XS, YS), doubled, more)
    before = cu.calls.count("cuMemcpyDtoHAsync")
    xs, ys = f(XS, YS)
    assert cu.calls.count("cuMemcpyDtoHAsync") - before == 10

    assert np.array_equal(xs, XS * 2.0**9) and np.array_equal(ys, YS + 9)
    assert cu.calls.count("cuGraphLaunch") == 7


def test_one_launch_is_no_graph(gpu):
    """It is a call anyway."""
    f, cu = running(
        gpu, lambda xs, n: fw.fori_loop(0, n, lambda i, s: s * 2, xs), (XS, 3), doubled
    )

    assert np.array_equal(f(XS, 9), XS * 2.0**9)
    assert "cuStreamBeginCapture" not in cu.calls


def test_without_memory_a_turn_is_put_into_the_queue_as_it_is(gpu):
    """Idle memory is freed after its last use; an allocation that still fails is reported, and
    the device goes on."""
    f, cu = running(gpu, two_states, (XS, YS, 3), doubled, more, total=140_000)
    idle = [cuda.device().allocate(15_000) for _ in range(2)]
    del idle
    xs, _ = f(XS, YS, 9)
    assert np.array_equal(xs, XS * 2.0**9) and cu.sticky is None
    del xs
    with pytest.raises(fw.OutOfMemory):
        f(np.arange(17_000.0), YS, 9)
    assert not cuda.device().pool.is_held

    assert np.array_equal(f(XS, YS, 9)[0], XS * 2.0**9) and cu.sticky is None


def test_old_graphs_are_destroyed(gpu, monkeypatch):
    """A few iterations are kept for each program."""
    monkeypatch.setattr(launches, "KEPT", 3)
    f, cu = running(gpu, two_states, (XS, YS, 3), doubled, more)
    held = []
    for n in range(4999, 4990, -1):
        held.append(f(XS[:n], YS, 8))
        assert np.array_equal(held[-1][0], XS[:n] * 2.0**8)

    made, gone = (cu.calls.count(name) for name in ("cuGraphInstantiate", "cuGraphExecDestroy"))
    assert made - gone <= 3 < made


def test_bits_of_numbers_tell_turns_apart(gpu):
    """0.0 and -0.0 are equal, and are not the same."""
    cu = gpu()
    device, done = cuda.device(), []
    seen = Turns(device)

    def work(*args):
        done.append(args)

    for value in (0.0, -0.0, 0.0, -0.0):
        seen.do([(work, (np.float64(value),)), (work, (1, np.int8(1)))])
    assert cu.calls.count("cuGraphInstantiate") == 2
    seen.do([(work, (np.float64(0.0),)), (work, (1, np.int16(1)))])
    assert cu.calls.count("cuGraphLaunch") == 2 and len(done) == 10


def calls_of_the_driver():
    """Each call of a function of the driver in our files: name, file and line, arguments."""
    for path in sorted((PACKAGE / "runtime" / "devices").glob("cuda*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            if node.func.attr.startswith("cu") and node.func.attr[2:3].isupper():
                yield node.func.attr, f"{path.name}:{node.lineno}", node


def test_calls_are_as_the_bindings_say():
    """Their names exist, with this number of arguments; those with a star are counted elsewhere:
    the fake takes no other number."""
    driver = pytest.importorskip("cuda.bindings.driver")
    found = list(calls_of_the_driver())
    assert {"cuStreamEndCapture", "cuGraphInstantiate", "cuLaunchKernel", "cuStreamWaitEvent"} <= {
        name for name, _, _ in found
    }
    for name, where, node in found:
        takes = list(inspect.signature(getattr(driver, name)).parameters)
        assert not node.keywords, where
        if not any(isinstance(arg, ast.Starred) for arg in node.args):
            assert len(node.args) == len(takes), f"{where}: {name} takes {takes}"
