"""Views as arguments: programs read their elements where they are in memory."""

import copy
import pickle
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from flatweave.base.errors import ArgumentError, DTypeError, ShapeError
from flatweave.frontend.call import direct
from flatweave.frontend.call.signature import plain
from flatweave.frontend.trace.trace import Layout, View, view_of
from flatweave.frontend.values import elsewhere
from flatweave.runtime import calls
from flatweave.runtime.cpu import is_frozen

MATRIX = np.arange(35.0).reshape(5, 7)
BLOCK = np.arange(60.0).reshape(3, 4, 5)
LINE = np.arange(13.0)
CUTS = {
    "every second": LINE[1::2],
    "reversed": LINE[::-1],
    "every second, reversed": LINE[::-2],
    "block": MATRIX[1:-1, 2:],
    "columns reversed": MATRIX[:, ::-1],
    "rows and columns reversed": MATRIX[::-1, 5::-1],
    "every second column": MATRIX[:, ::2],
    "two columns": MATRIX[:, :2],
    "one row": MATRIX[2:3, :0:-1],
    "one column": MATRIX[:, 3:4],
    "transpose": MATRIX.T,
    "part of a transpose": MATRIX.T[::-1, 1:],
    "repeated rows": np.broadcast_to(MATRIX[0], (4, 7)),
    "repeated in the middle": np.broadcast_to(MATRIX[:, None], (5, 2, 7)),
    "of a block": BLOCK[1:, ::-1, 2:],
    "axes in another order": BLOCK.transpose(2, 0, 1),
    "last axes exchanged": BLOCK.transpose(0, 2, 1)[:, 1:],
    "repeated columns": np.broadcast_to(MATRIX[0, ::-1, None], (7, 4)),
    "overlapping": np.lib.stride_tricks.sliding_window_view(LINE, 4),
}
PROGRAMS = [
    fw.jit(
        lambda x: (
            x * 2, fw.sum(x), fw.sum(x, axis=0), fw.argmax(x), fw.transpose(x) + 1, x, x + x[:1],
            x[..., 1:] - x[..., :-1], fw.ravel(x) + 1,
        ),
        target="cpu",
    ),
    fw.jit(
        lambda x: (
            fw.cumsum(x, axis=-1), x[x > 9], fw.max(x, axis=-1), fw.cumsum(fw.ravel(x)),
            fw.reduce(lambda a, b: fw.where(a == 0, b, a), 0, fw.ravel(x - 9)),
            fw.map(lambda row: fw.max(row) - fw.min(row), x),
        ),
        target="cpu",
    ),
]  # fmt: skip
"""The second operator does not commute."""


@pytest.fixture(autouse=True)
def small_views(monkeypatch):
    """Views of any size are read where they are."""
    monkeypatch.setattr(calls.LEAST, "value", 1)


@pytest.mark.parametrize("cut", CUTS)
def test_programs_give_for_views_what_they_give_for_copies(cut):
    """Of whole numbers, whose sums do not depend on the order."""
    x = CUTS[cut]
    for program in PROGRAMS:
        for found, wanted in zip(program(x), program(x.copy()), strict=True):
            np.testing.assert_array_equal(found, wanted)
            assert not np.may_share_memory(found, x)


@pytest.mark.parametrize("cut", ["every second", "block", "columns reversed", "transpose"])
def test_views_of_other_elements(cut):
    """Bytes and flags."""
    for dtype in (np.uint8, np.bool_):
        x = _like(CUTS[cut], CUTS[cut].astype(dtype))
        np.testing.assert_array_equal(fw.jit(lambda x: x & x, target="cpu")(x), x)
        np.testing.assert_array_equal(fw.jit(fw.sum, target="cpu")(x), x.sum())
        np.testing.assert_array_equal(fw.sort(x, axis=-1), np.sort(x, axis=-1))


def _like(x, values):
    """The values in memory as those of x are."""
    if not x.size:
        return values
    low, high = np.lib.array_utils.byte_bounds(x)
    room = np.zeros((high - low) // 8, values.dtype)
    first = (x.__array_interface__["data"][0] - low) // 8
    strides = [stride // 8 * values.itemsize for stride in x.strides]
    view = np.lib.stride_tricks.as_strided(room[first:], x.shape, strides)
    view[...] = values
    return view


def test_the_layouts():
    """Distances are extents of memory; what is not regular is copied."""
    found = {name: view_of(x) for name, x in CUTS.items()}
    assert found["every second"].layout == Layout(1, (0,), 2, (), ())
    assert found["block"].memory.shape == (3, 7)
    assert found["columns reversed"].layout == Layout(2, (0, 1), 1, (1,), ())
    assert found["transpose"].layout == Layout(2, (1, 0), 1, (), ())
    assert found["one row"].layout == Layout(2, (1,), 1, (1,), (0,))
    assert found["repeated in the middle"].layout.order == (0, 2)
    assert found["axes in another order"].memory.shape == BLOCK.shape
    for name in ("overlapping", "one column"):
        assert found[name] is None
    assert view_of(MATRIX[:, ::3]) is None  # far apart: copied
    assert view_of(MATRIX[:0, ::2]) is None
    assert view_of((MATRIX + 1j)[:, ::2]) is None
    assert view_of(MATRIX.astype(">f8")[::-1]) is None


def test_views_of_several_ranks_have_several_programs():
    """The axes of which move in memory alike."""
    double = fw.jit(lambda x: x * 2, target="cpu")
    for x in (LINE[::-1], CUTS["repeated columns"], np.broadcast_to(LINE[::-1], (2, 3, 13))):
        np.testing.assert_array_equal(double(x), x * 2)


def test_what_no_program_knows_is_refused():
    """With the name of the argument."""
    with pytest.raises(DTypeError, match="^x .argument 1 of <lambda>. has dtype"):
        fw.jit(lambda x: x, target="cpu")(MATRIX.astype(np.longdouble).T)


def test_results_that_are_the_memory_of_a_view_are_copied():
    """Unless nobody writes to it."""
    x = MATRIX.copy().T
    found = fw.jit(lambda x: (fw.transpose(x), x), target="cpu")(x)
    x[:] = -1
    np.testing.assert_array_equal(found[0], MATRIX)
    assert not is_frozen(view_of(x).memory)
    x.base.setflags(write=False)
    x.setflags(write=False)
    assert is_frozen(view_of(x).memory)


def test_nothing_is_copied_nor_traced_again():
    """One program serves all sizes of a layout, and it stores results alone."""
    total = fw.jit(lambda x: x + 1, target="cpu")
    for x in (MATRIX[1:-1, 2:], MATRIX[:, 1:], BLOCK[1, :, :4]):
        np.testing.assert_array_equal(total(x), x + 1)
    assert total.traces == 1
    stages = total.stages(MATRIX[1:, 2:])
    assert total.traces == 1
    assert len(stages.manifest) == 1
    assert stages.kernels == 1
    assert stages.call().text == stages.text
    assert total.traces == 1


def test_donated_arguments_are_copied():
    """The others are read where they are; stages show the program that a call runs."""
    add = fw.jit(lambda x, y: (x + y, x * 2), target="cpu", donate=0)
    x, y = MATRIX[:, 1:], MATRIX[::-1, :-1]
    text = add.stages(x, y).text["array"]
    for _ in range(2):
        for found, wanted in zip(add(x, y), (x + y, x * 2), strict=True):
            np.testing.assert_array_equal(found, wanted)
    assert add.traces == 1
    assert text.count("generate") == 1
    whole = MATRIX.copy()
    add(whole, whole[:, ::-1])
    np.testing.assert_array_equal(whole, MATRIX)  # another argument is in its memory


def test_who_takes_views():
    """The CPU does; elsewhere, and where operations are checked one by one, they are copied."""
    x = MATRIX[:, ::2]
    assert isinstance(direct.in_place(x, "cpu"), View)
    for target in ("opencl", "interp", "auto"):
        assert direct.in_place(x, target) is None
    with config.scoped(debug=True):
        assert direct.in_place(x, "cpu") is None
    with fw.on(memory="1 GiB"):
        assert direct.in_place(x, "cpu") is None
        rows = fw.Chunked.cut(MATRIX, 2)
    add = fw.jit(lambda x, y: fw.sum(x) + fw.sum(y), target="cpu")
    assert add(rows, x) == MATRIX.sum() + x.sum()


@dataclass
class Pair:
    """Two arrays."""

    left: np.ndarray
    right: np.ndarray


def test_views_inside_structures():
    """And by name; of other classes of NumPy's arrays, too."""
    left, right = MATRIX[1:, :0:-1], MATRIX[:-1, 1:]
    parts = {"left": left, "right": right}
    total = fw.jit(lambda parts, by: parts[0] * by - parts[1], target="cpu")
    named = fw.jit(lambda parts, *, by: parts["left"] * by - parts["right"], target="cpu")
    fields = fw.jit(lambda pair: pair.left * 3 - pair.right, target="cpu")
    records = np.rec.fromarrays([LINE, LINE[::-1]], names=["left", "right"])[::-1]
    calls = {
        "tuple": (total, lambda: total((left, right), 3)),
        "list": (total, lambda: total([left, right], by=3)),
        "by name": (named, lambda: named(parts=parts, by=3)),
        "dataclass": (fields, lambda: fields(Pair(left, right))),
    }
    for f, call in calls.values():
        f.forget()
        for _ in range(3):
            np.testing.assert_array_equal(call(), left * 3 - right)
    for stages in (total.stages((left, right), 3), named.stages(parts=parts, by=3)):
        assert stages.text["array"].count("generate") == 2
        assert len(stages.manifest) == 1
    wanted = records["left"] * 3 - records["right"]
    np.testing.assert_array_equal(named(parts=records, by=3), wanted)
    for cls in (np.matrix, np.memmap):
        assert isinstance(plain(left.view(cls), "x", target="cpu"), View)
    assert plain(left, "x").flags.c_contiguous


def test_static_arguments_are_what_was_given():
    """An array cannot be one, of whatever layout."""
    scale = fw.jit(lambda x, by: x * by, target="cpu", static_argnames="by")
    np.testing.assert_array_equal(scale(MATRIX.T, 2), MATRIX.T * 2)
    for by in (MATRIX, MATRIX.T):
        with pytest.raises(ArgumentError, match="cannot be hashed"):
            scale(MATRIX, by)


def test_public_functions_take_views():
    """Outside of a function that is compiled."""
    for x in (CUTS["block"], CUTS["transpose"], CUTS["reversed"]):
        np.testing.assert_array_equal(fw.add(x, 1), x + 1)
        np.testing.assert_array_equal(fw.sum(x), x.sum())


def test_an_axis_of_one_element_is_broadcast():
    """As that of an array."""
    add = fw.jit(lambda x, y: x + y, target="cpu")
    np.testing.assert_array_equal(add(MATRIX[2:3, ::-1], MATRIX), MATRIX[2:3, ::-1] + MATRIX)
    np.testing.assert_array_equal(add(MATRIX[:, ::-1], MATRIX), MATRIX[:, ::-1] + MATRIX)


def test_errors_tell_of_the_view():
    """Its own shape."""
    with pytest.raises(ShapeError, match="7 and 4|4 and 7"):
        fw.jit(lambda x, y: x + y, target="cpu")(MATRIX[:, ::2], MATRIX)


GUARDED = """
import ctypes, mmap
import numpy as np
import flatweave as fw
from flatweave.runtime.calls import LEAST

LEAST.value = 1
PAGE = mmap.PAGESIZE
c = ctypes.CDLL(None)
held = []

def at_the_end(x):
    pages = -(-x.nbytes // PAGE)
    memory = mmap.mmap(-1, (pages + 1) * PAGE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    assert c.mprotect(ctypes.c_void_p(start + pages * PAGE), PAGE, 0) == 0
    held.append(memory)
    found = np.frombuffer(memory, x.dtype, x.size, pages * PAGE - x.nbytes)
    found[:] = x.reshape(-1)
    return found.reshape(x.shape)

programs = [fw.jit(f, target="cpu") for f in (
    fw.sum, fw.max, lambda x: x * 2, lambda x: fw.sum(x, axis=0), lambda x: fw.sum(x, axis=-1),
    lambda x: fw.cumsum(x, axis=-1), lambda x: x[x > 4], lambda x: fw.transpose(x) + 1,
)]
for dtype in ("f8", "u1"):
    for shape, cut in (
        ((97, 33), np.s_[1:, 2:]), ((97, 33), np.s_[::2, 1::2]), ((97, 33), np.s_[:, -7:]),
        ((1000,), np.s_[1::2]), ((9, 11, 17), np.s_[1:, 1:, 1:]),
    ):
        x = at_the_end(np.arange(np.prod(shape)).reshape(shape).astype(dtype) % 9)[cut]
        for program in programs:
            np.testing.assert_array_equal(program(x), program(x.copy()))
print("read what there is")
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mprotect is that of Linux")
def test_nothing_is_read_beyond_the_view():
    """Its last row ends where memory that may be read does."""
    command = [sys.executable, "-c", GUARDED]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "read what there is", done.stderr


MOVES = {
    "transpose": (lambda x: x.T, lambda x: x.T),
    "flip": (fw.flip, np.flip),
    "columns reversed": (lambda x: fw.flip(x, axis=1), lambda x: np.flip(x, 1)),
    "reverse": (fw.reverse, lambda x: x[::-1]),
    "every second": (lambda x: x[::2, 1::2], lambda x: x[::2, 1::2]),
    "every third": (lambda x: x[:, ::3], lambda x: x[:, ::3]),
    "one column": (lambda x: x[:, 2], lambda x: x[:, 2]),
    "moveaxis": (lambda x: fw.moveaxis(x, 0, 1), lambda x: np.moveaxis(x, 0, 1)),
    "permute_dims": (lambda x: fw.permute_dims(x, (1, 0)), lambda x: x.T),
    "matrix_transpose": (lambda x: x.mT, lambda x: x.T),
    "expand_dims": (lambda x: fw.expand_dims(x.T, 1), lambda x: x.T[:, None]),
    "broadcast_to": (
        lambda x: fw.broadcast_to(x, (2, 5, 7)), lambda x: np.broadcast_to(x, (2, 5, 7))
    ),
    "twice": (lambda x: fw.flip(x.T[1:])[:, ::-1], lambda x: np.flip(x.T[1:])[:, ::-1]),
    "unstack": (lambda x: fw.unstack(x.T)[3], lambda x: x[:, 3]),
}  # fmt: skip
READS = {
    "as it is": lambda x: x,
    "one and more": lambda x: x + 1,
    "sum": lambda x: x.sum(),
    "sums": lambda x: x.sum(axis=0),
    "elements": lambda x: np.array([x[i].sum() for i in range(len(x))]),
    "other shape": lambda x: x.reshape(-1),
    "list": lambda x: np.array(x.tolist()),
    "bytes": lambda x: np.array([x.nbytes, x.size, x.ndim, *x.shape, x.itemsize]),
    "copied": lambda x: copy.deepcopy(x),
    "kept": lambda x: pickle.loads(pickle.dumps(x)),
}


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "u1", "?", "f2", "c16"])
def test_our_arrays_in_another_order(move, dtype):
    """Of numbers that are no word of a program's, too, which are put in order at once."""
    ours, numpys = MOVES[move]
    x = MATRIX.astype(dtype)
    for name, read in READS.items():
        found = np.asarray(read(ours(fw.asarray(x))))
        wanted = np.asarray(read(numpys(x)))
        np.testing.assert_array_equal(found, wanted, name)
        assert name in ("one and more", "sum", "sums", "elements") or found.dtype == wanted.dtype


def test_nothing_is_moved_until_the_order_matters():
    """Then it is, once."""
    x = fw.asarray(MATRIX)
    for _ in range(3):
        view = x.T
        assert np.shares_memory(elsewhere.in_memory(view), MATRIX)
        np.testing.assert_array_equal(fw.sum(view, axis=0), MATRIX.sum(axis=1))
        assert type(view) is elsewhere.HostView
    in_order = view.to_numpy()
    assert in_order.flags.c_contiguous and not in_order.flags.writeable
    assert view.to_numpy() is in_order and type(view) is type(x)


def test_views_of_ours_are_values():
    """Assignment changes one object alone, whoever shares its memory."""
    x = fw.asarray(MATRIX, copy=True)
    view, other = x.T, x[::-1]
    view[0] = -1
    x[1] = -2
    np.testing.assert_array_equal(other, MATRIX[::-1])
    np.testing.assert_array_equal(view, np.where(np.arange(7)[:, None] == 0, -1, MATRIX.T))
    np.testing.assert_array_equal(x, np.where(np.arange(5)[:, None] == 1, -2, MATRIX))
    rows = fw.broadcast_to(fw.asarray([1.0, 2.0]), (3, 2))
    rows[0, 0] = 5
    np.testing.assert_array_equal(rows, [[5, 2], [1, 2], [1, 2]])
    other += 1
    np.testing.assert_array_equal(other, MATRIX[::-1] + 1)


def test_views_of_ours_are_donated_and_captured():
    """A donated view is copied, as its memory is another array's."""
    double = fw.jit(lambda x: x * 2, donate="x")
    x = fw.asarray(MATRIX, copy=True)
    np.testing.assert_array_equal(double(x.T), MATRIX.T * 2)
    np.testing.assert_array_equal(x, MATRIX)
    view = x.T
    np.testing.assert_array_equal(fw.map(lambda i: view[i], fw.asarray([1, 0])), MATRIX.T[[1, 0]])
    turned = x.T
    added = fw.jit(lambda y: y + turned)
    np.testing.assert_array_equal(added(MATRIX.T), MATRIX.T * 2)
    rows = fw.Ragged(x.T, fw.asarray([0, 3, 7]))
    np.testing.assert_array_equal(rows[1], MATRIX.T[3:])


@pytest.mark.parametrize("target", ["cpu", "interp", "opencl"])
def test_views_of_ours_on_each_target(target):
    """Targets other than the CPU are given copies."""
    with fw.target(target):
        view = fw.asarray(MATRIX).T[::-1]
        np.testing.assert_array_equal(view * 2, MATRIX.T[::-1] * 2)
        np.testing.assert_array_equal(view, MATRIX.T[::-1])
