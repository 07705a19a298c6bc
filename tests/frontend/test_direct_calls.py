"""Calls that machine code makes: as Python would, whatever is given and whatever happens."""

import contextvars
import copy
import gc
import os
import pickle
import resource
import signal
import sys
import threading
from typing import Any, NamedTuple

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.errors import EscapedArrayError, IndexOutOfBounds, ShapeError
from flatweave.frontend.call.direct import PATIENCE, in_python
from flatweave.frontend.values.scope import TRACING
from flatweave.runtime import calls
from flatweave.runtime.cpu import address_of
from flatweave.runtime.support import POOL, set_threads
from tests.frontend.direct_calls import warm

XS, YS = np.arange(12.0), np.arange(12.0)[::-1].copy()


@fw.jit
def scaled(x, y):
    return x * 2.0 + y


@pytest.fixture(scope="module")
def call():
    """What machine code does of `scaled` for two arrays of f64."""
    return warm(scaled, XS, YS)


class Derived(np.ndarray):
    pass


def test_the_third_call_is_made_by_machine_code(call):
    """With NumPy's arrays and with ours; its result is read-only, and ours."""
    for x in (XS, fw.asarray(XS)):
        result = call(x, YS)
        assert type(result) is type(fw.asarray(XS))
        np.testing.assert_array_equal(result, XS * 2 + YS, strict=True)
        assert result.to_numpy().flags.c_contiguous and not result.to_numpy().flags.writeable


READ_ONLY = XS.copy()
READ_ONLY.setflags(write=False)
OTHERS: dict[str, tuple[Any, ...]] = {
    "swapped": (XS.astype(">f8"), YS),
    "derived": (XS.view(Derived), YS),
    "f32": (XS.astype("f4"), YS),
    "rank 2": (XS.reshape(3, 4), YS.reshape(3, 4)),
    "numbers": (2.0, 3),
    "NumPy's numbers": (np.float64(2.0), YS),
    "rank 0": (np.array(2.0), YS),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_arguments_are_left_to_python(call, name):
    """What is not exactly what the signature says."""
    x, y = OTHERS[name]
    assert call(x, y) is NotImplemented
    np.testing.assert_array_equal(scaled(x, y), np.asarray(x) * 2 + np.asarray(y))


@pytest.mark.parametrize("args", [
    (), (XS,), (XS, YS, XS), ("text", YS), (None, XS), (object(), 1), ([1.0], YS), (XS, [[]]),
    (XS, np.ma.masked_array(YS)), (XS, fw), (type(XS), YS),
])
def test_what_no_signature_has(call, args):
    """Too few, too many, and what is no array."""
    assert call(*args) is NotImplemented


def test_arrays_of_all_kinds(call):
    """Read-only, empty and overlapping ones, one array twice, parts of arrays, one element."""
    whole = np.arange(20.0)
    for x, y in ((READ_ONLY, YS), (XS[:0], YS[:0]), (whole[:12], whole[5:17]), (XS, XS),
                 (XS[3:6], YS[2:5]), (XS[:1], YS[:1])):  # fmt: skip
        np.testing.assert_array_equal(call(x, y), x * 2 + y, strict=True)


def test_numbers_are_what_python_says():
    """Floats, ints and bools have separate signatures; an int beyond 64 bits is Python's."""
    f = fw.jit(lambda x, n: x * n)
    for number in (2.5, 3, True):
        direct = warm(f, XS, number)
        np.testing.assert_array_equal(direct(XS, number), XS * number)
    np.testing.assert_array_equal(direct(XS, -(2**63)), XS * -(2.0**63))
    assert direct(XS, 2**63) is NotImplemented
    assert direct(XS, np.int64(3)) is NotImplemented


@pytest.mark.parametrize("dtype", ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8",
                                   "c8", "c16"])  # fmt: skip
def test_every_dtype_as_array_and_scalar(dtype):
    """Of rank 0 a value goes into a slot, of complex ones a pair; a bool is true if it is not 0."""
    f = fw.jit(lambda x, s: (fw.where(x == s, x, s), x[3], fw.any(x == s)))
    x = np.arange(6).astype(dtype)
    for s in (x[3:4].reshape(()), fw.asarray(x)[3]):
        direct = warm(f, x, s)
        chosen, same, found = direct(x, s)
        np.testing.assert_array_equal(chosen, np.where(x == x[3], x, x[3]), strict=True)
        np.testing.assert_array_equal(same, x[3])
        assert same.dtype == x.dtype and same.shape == () and found.tolist() is True
    odd = np.array([2], "u1").view("?")
    assert warm(fw.logical_not, odd.reshape(()))(odd.reshape(())).tolist() is False


class Both(NamedTuple):
    sums: Any
    parts: Any


def test_results_of_every_structure():
    """A number, tuples, dicts, named tuples, ranks that are known and that are not."""
    f = fw.jit(lambda x: Both(fw.sum(x), {"a": [x[x > 3], fw.broadcast_to(x[:2], (3, 2))]}))
    found = warm(f, XS)(XS)
    assert type(found) is Both and found.sums.tolist() == 66.0
    np.testing.assert_array_equal(found.parts["a"][0], XS[4:])
    np.testing.assert_array_equal(found.parts["a"][1], np.broadcast_to(XS[:2], (3, 2)))


def test_captured_arrays_are_read_where_they_are():
    """An array from outside the function, whose values change."""
    outside = np.ones(12)
    f = fw.jit(lambda x: x + outside)
    direct = warm(f, XS)
    outside[:] = 5.0
    np.testing.assert_array_equal(direct(XS), XS + 5)


def test_a_result_that_is_an_argument():
    """A copy where anybody may write to that, else a view, which keeps it alive."""
    f = fw.jit(lambda x: x)
    xs = np.arange(5.0)
    whole = xs.view()
    still = xs[1:]
    still.setflags(write=False)
    direct = warm(f, xs)
    for given in (xs, whole, still, xs.copy(), xs[:0]):
        result = direct(given)
        assert not np.shares_memory(result, given) and not result.to_numpy().flags.writeable
        np.testing.assert_array_equal(result, given, strict=True)
    frozen = np.arange(5.0)
    frozen.setflags(write=False)
    for given in (frozen, frozen[1:], fw.asarray(xs, copy=True)):
        result = direct(given)
        assert np.shares_memory(result, given)
        kept = sys.getrefcount(given)
        del result
        assert sys.getrefcount(given) <= kept
    assert direct(fw.asarray(range(7), dtype=fw.f64)).tolist() == list(range(7))
    first = fw.jit(lambda x, y: (x, y[:1], x + y))
    a, b, both = warm(first, XS, YS)(frozen, frozen)
    assert np.shares_memory(a, frozen) and b.tolist() == [0.0] and both.tolist() == [0, 2, 4, 6, 8]


def test_memory_of_neither_argument_nor_program_is_left_to_python():
    """A captured array is one: calls in vain end after some."""
    outside = np.arange(5.0)
    f = fw.jit(lambda x: (outside, x))
    direct = warm(f, XS)
    assert direct(XS) == 0
    for _ in range(PATIENCE):
        np.testing.assert_array_equal(f(XS)[0], np.arange(5.0))
    assert f._direct.call is in_python


def test_errors_are_those_of_python(call):
    """A fault has the user's line and values each time, and later calls succeed."""
    assert call(XS, YS[:3]) == 0
    for _ in range(3):
        with pytest.raises(ShapeError, match=r"12 and 3") as raised:
            scaled(XS, YS[:3])
        assert "test_direct_calls.py:" in str(raised.value)
    np.testing.assert_array_equal(call(XS, YS), XS * 2 + YS)
    take = fw.jit(lambda x, i: x[i])
    direct = warm(take, XS, 3)
    with pytest.raises(IndexOutOfBounds):
        take(XS, 12)
    assert direct(XS, 11).tolist() == 11.0


def test_references_and_memory_stay(call):
    """After 10^5 calls."""
    ours = fw.asarray(YS)
    big = np.zeros(20_000)
    watched = (XS, ours, ours.to_numpy(), XS.dtype, type(ours), call.__self__)
    for _ in range(2000):
        call(big, big)
    before, memory = [sys.getrefcount(each) for each in watched], _memory()
    for _ in range(20_000):
        call(XS, ours), call(XS, YS), call(XS[::2], YS), call(XS, YS[:3]), call(big, big)
    assert [sys.getrefcount(each) for each in watched] == before
    assert _memory() - memory < 8 << 20


def _memory():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def test_a_result_outlives_what_made_it():
    """Its buffer is freed with the last view of it."""
    f = fw.jit(lambda x: x + 1)
    result = warm(f, XS)(XS)
    view = result.to_numpy()[3:]
    f.forget()
    del result, f
    np.testing.assert_array_equal(view, XS[3:] + 1)


def test_switches_send_calls_to_python(call):
    """Another target, another schedule, and a context that was copied inside of one."""
    with fw.target("interp"):
        assert call(XS, YS) is NotImplemented
        inside = contextvars.copy_context()
        np.testing.assert_array_equal(scaled(XS, YS), XS * 2 + YS)
    with fw.schedule(permute="owner"):
        assert call(XS, YS) is NotImplemented
    assert inside.run(call, XS, YS) is NotImplemented
    assert call(XS, YS) is not NotImplemented


def test_numbers_of_threads(call):
    """More workers than there are must be started first, by Python."""
    before = POOL.default
    try:
        set_threads(max(before, POOL.ready) + 1)
        assert call(XS, YS) is NotImplemented
        scaled(XS, YS)
        assert call(XS, YS) is not NotImplemented
    finally:
        set_threads(before)


def test_watchers_see_every_call(call):
    """A profile has what it would have."""
    with fw.profile() as p:
        assert call(XS, YS) is NotImplemented
        scaled(XS, YS), scaled(XS, YS)
    assert sum(row["calls"] for row in p.calls()) == 2


def test_calls_inside_a_trace_belong_to_it(call):
    """Also where the arguments are arrays with values; and no thread is left out afterwards."""
    seen = []

    def outer(x):
        seen.append(call(XS, YS))
        return scaled(XS, YS) + x

    np.testing.assert_array_equal(fw.jit(outer)(XS), XS * 3 + YS)
    assert seen == [NotImplemented]
    with pytest.raises(ZeroDivisionError):
        fw.jit(lambda x: 1 // 0)(XS)
    assert not TRACING


def test_keywords(call):
    """By name, in any order, and mixed with positions."""
    for args, named in (((XS,), {"y": YS}), ((), {"y": YS, "x": XS})):
        np.testing.assert_array_equal(scaled(*args, **named), XS * 2 + YS)
    with pytest.raises(TypeError):
        scaled(XS, z=YS)
    with pytest.raises(TypeError):
        scaled(XS)


def test_static_arguments_are_compared_by_class_and_value():
    """The constants of two functions are other objects; -0.0 is another value than 0.0."""
    f = fw.jit(lambda x, k: x * float(k), static_argnames="k")
    for text in ("10.5", "1000", "'0.5'", "0.0"):
        call = warm(f, XS, eval(text))
        assert text == "0.0" or (call(XS, eval(text)) == XS * float(eval(text))).all()
    for other in (1000.0, "1000", 1001, -0.0):
        assert f._direct.call(XS, other) is NotImplemented, other


def test_copies_and_pickles(call):
    """They are jitted functions, too."""
    for other in (pickle.loads(pickle.dumps(scaled)), copy.copy(scaled), copy.deepcopy(scaled)):
        np.testing.assert_array_equal(warm(other, XS, YS)(XS, YS), XS * 2 + YS)


def test_what_makes_the_result_may_call_or_raise():
    """Calls within a call do not meet; an error is the caller's, and no buffer is lost."""
    f = fw.jit(lambda x: (x + 1, x[x > 3]))
    warm(f, XS)
    program = next(iter(f._entries.values())).direct([calls.Argument(XS)]).program
    deep: list[int] = []

    def finish(arrays):
        deep.append(1)
        if len(deep) == 5:
            raise ValueError("refused")
        return direct(arrays[0])

    found = calls.signature(program, [calls.Argument(XS)], [], calls.AS_THEY_ARE, finish)
    direct = calls.callable_for([found])
    for _ in range(3):
        deep.clear()
        with pytest.raises(ValueError, match="refused"):
            direct(XS)


def test_finalizers_may_call():
    """A call makes objects, and so may collect garbage that calls the same function."""
    found = []

    class Garbage:
        def __init__(self):
            self.itself = self

        def __del__(self):
            found.append(scaled(XS, YS))

    before = gc.get_threshold()
    gc.set_threshold(3)
    try:
        for _ in range(50):
            Garbage()
            np.testing.assert_array_equal(scaled(XS, YS), XS * 2 + YS)
    finally:
        gc.set_threshold(*before)
    assert found
    for each in found:
        np.testing.assert_array_equal(each, XS * 2 + YS)


def test_donated_results_are_written_in_place():
    """A buffer that machine code made belongs to one array, or is seen to be shared."""
    step = fw.jit(lambda x: x + 1, donate="x")
    f = fw.jit(lambda x: x * 2)
    direct = warm(f, XS)
    xs = direct(XS)
    place = address_of(xs.to_numpy())
    ys = step(xs)
    assert address_of(ys.to_numpy()) == place
    with pytest.raises(EscapedArrayError):
        f(xs)
    zs = direct(XS)
    view = zs.to_numpy()
    step(zs)
    np.testing.assert_array_equal(view, XS * 2)


SILENT = np.zeros(4)  # no operator can be tried on


def until_python_rests(f):
    """Call until machine code makes calls; how many remain is counted in what is returned."""
    f(SILENT)
    checks = f.taken(SILENT)[0].checks
    for _ in range(1000):
        if checks.untried.value > 8:
            return checks
        f(SILENT)
    raise AssertionError("every call tries operators")


def test_machine_code_makes_the_calls_between_two_tries_of_an_operator():
    """It counts them; the call after the last one tries the operator."""
    f = fw.jit(lambda v: fw.reduce(lambda a, b: a * a + b, 0.0, v))
    checks = until_python_rests(f)
    f(SILENT)  # this call of Python's enters the signature
    left = checks.untried.value
    for made in range(left):
        assert checks.untried.value == left - made
        assert f._direct.call(XS) > 0  # which Python would refuse
    assert f._direct.call(SILENT) is NotImplemented
    with pytest.raises(fw.OperatorError, match="not associative"):
        f(XS)


def test_machine_code_makes_all_calls_once_an_operator_has_been_tried():
    """With the signature that it learned before that."""
    f = fw.jit(lambda v: fw.reduce(lambda a, b: fw.minimum(a + b, 100.0), 0.0, v))
    checks = until_python_rests(f)
    for _ in range(checks.untried.value):
        f(SILENT)
    f(XS)

    assert checks.is_done
    assert all(f._direct.call(XS) == 66 for _ in range(20))


def test_functions_of_python_are_called_by_python():
    """A program with a callback has no direct calls."""
    f = fw.jit(lambda x: fw.pure_callback(np.sort, x, x))
    for _ in range(4):
        np.testing.assert_array_equal(f(YS), XS)
    assert f._direct.call is in_python


def test_threads_call_at_once(call):
    """Some of them compile meanwhile, which sends the others to Python for a while."""
    wrong = []

    def many(number):
        x = XS + number
        for k in range(300):
            if not np.array_equal(scaled(x, YS), x * 2 + YS):
                wrong.append(number)
            if k % 100 == number:
                fw.jit(lambda x, n=number + k: x + n)(XS)

    threads = [threading.Thread(target=many, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_other_threads_go_on_during_a_long_call():
    """The GIL is free; a signal ends the call."""
    f = fw.jit(lambda n, x: fw.fori_loop(0, n, lambda i, s: s * 0.5 + i, x))
    direct = warm(f, 3, 1.0)
    ticks = []
    done = threading.Event()

    def tick():
        while not done.wait(0.005):
            ticks.append(1)

    def alarm(number, frame):
        raise KeyboardInterrupt

    ticker = threading.Thread(target=tick)
    before = signal.signal(signal.SIGALRM, alarm)
    ticker.start()
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):
            direct(2**60, 1.0)
    finally:
        signal.signal(signal.SIGALRM, before)
        done.set()
        ticker.join()
    assert len(ticks) > 3
    assert direct(3, 1.0).tolist() == f(3, 1.0).tolist()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_the_child_of_a_fork_calls_too(call):
    """First by Python, which starts its workers."""
    child = os.fork()
    if not child:
        signal.alarm(30)
        fine = np.array_equal(scaled(XS, YS), XS * 2 + YS)
        fine = fine and call(XS, YS) is not NotImplemented
        os._exit(0 if fine else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_other_interpreters_make_all_calls_in_python(monkeypatch):
    """Where objects have another head, as in a free-threaded Python, or fields are elsewhere."""
    unlike = {"_HEAD": 32, "_numpys": lambda _: 0, "_reads_fields": lambda _: False}
    for name, value in unlike.items():
        with monkeypatch.context() as here:
            here.setattr(calls, "_OPEN", [])
            here.setattr(calls, name, value)
            f = fw.jit(lambda x: x + 1)
            for _ in range(4):
                np.testing.assert_array_equal(f(XS), XS + 1)
            assert f._direct.call is in_python


def test_forgotten_functions_and_many_signatures():
    """Signatures beyond the last 32 leave; none keeps a function alive that nobody has."""
    f = fw.jit(lambda x, *rest: x + sum(rest))
    for number in range(40):
        args = [XS.reshape((1,) * (number % 3) + (12,)), *[1.0] * (number // 3)]
        for _ in range(3):
            found = f(*args)
        np.testing.assert_array_equal(found, args[0] + number // 3)
    assert 0 < len(f._direct._signatures) <= 32
    f.forget()
    assert f._direct.call is in_python


def test_other_threads_call_nothing_before_the_method_is_there(monkeypatch):
    """The first call of a process, made by several threads at once."""
    were_open = []
    monkeypatch.setattr(calls, "_OPEN", [])
    monkeypatch.setattr(calls, "_fill_in", lambda *_: were_open.append(bool(calls._OPEN)))
    example = fw.asarray([1.0, 2.0])

    assert calls.open_for(calls.Known((type(example),) * 3, example, None, None, [], []))
    assert were_open == [False]
