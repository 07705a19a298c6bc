"""Images: what is mapped without LLVM computes what LLVM's linker makes of the same objects."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from flatweave.base.errors import CompilerBug
from flatweave.runtime import image, native, support
from flatweave.runtime.image import (
    Image,
    MappedCode,
    Unfit,
    from_bytes,
    image_from,
    image_of,
    to_bytes,
)
from flatweave.runtime.systems import system
from tests.quick import every
from tests.runtime.kept_programs import expanded, softmax
from tests.runtime.test_native import adder

RNG = np.random.default_rng(7)
FLOATS = RNG.normal(size=1025)
WHOLE = RNG.integers(0, 50, 1025)
EDGES = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1e-310, 1.5, -2.5])
ROWS = fw.ragged([[3.0, 1.0, 2.0], [], [5.0], list(FLOATS[:200])])


PROGRAMS = {
    "dot": (lambda x, y: fw.sum(x * y), FLOATS, FLOATS[::-1].copy()),
    "functions": (lambda x: (fw.sin(x), fw.erf(x), fw.log(x), fw.atan2(x, x + 1)), EDGES),
    "steps": (
        lambda x: fw.scan(lambda a, b: fw.where(b > 0, a + b, b), 0.0, x, check=False), FLOATS),
    "sort": (lambda x: fw.sort(x), FLOATS),
    "argsort": (lambda x: fw.argsort(x, descending=True), WHOLE),
    "filter": (lambda x: fw.filter(lambda a: a > 0.3, x), FLOATS),
    "histogram": (lambda k: fw.histogram(50, k), WHOLE),
    "rows": (lambda rows: fw.map(softmax, rows), ROWS),
    "expand": (expanded, WHOLE),
    "empty": (lambda x: fw.sum(x) + fw.max(x, initial=-1.0), FLOATS[:0]),
    "loop": (lambda n: fw.while_loop(lambda s: s < n, lambda s: s * 2 + 1, 0), np.int64(10**6)),
    "chars": (lambda x: fw.cumsum(x.astype(fw.i8)), WHOLE),
}


def leaves(result):
    """The arrays of a result, with their bits."""
    found = result if isinstance(result, tuple) else (result,)
    return [np.asarray(getattr(each, "values", each)) for each in found]


class Settable(MappedCode):
    """Like LLVM's code it accepts the name of its object in the cache."""


@pytest.fixture
def mapped(monkeypatch):
    """A list of mapped objects: from here on images replace LLVM's linker."""
    made = []

    def link(found, name, beside, imports, symbols=()):
        code = Settable(image_of(found), support.address_beside)
        assert all(code.address(symbol) for symbol in symbols)
        made.append(code)
        return code

    with config.scoped(no_cache=True):
        native.support()
        monkeypatch.setattr(native, "_link", link)
        monkeypatch.setattr(native, "_LOADED", {})
        yield made


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="images are made for x86-64")
@pytest.mark.parametrize("name", every(2, PROGRAMS))
@pytest.mark.parametrize("threads", [1, 3])
def test_mapped_programs_give_the_same_bits(mapped, monkeypatch, name, threads):
    """Host and kernels, those made later too, with one thread and with several."""
    program, *args = PROGRAMS[name]
    with config.scoped(threads=threads):
        found = leaves(fw.jit(lambda *xs: program(*xs))(*args))
        monkeypatch.undo()
        expected = leaves(fw.jit(lambda *xs: program(*xs))(*args))

    assert mapped
    assert [a.tobytes() for a in found] == [b.tobytes() for b in expected]


def test_an_image_comes_back_from_bytes():
    """As it was; other bytes are no image."""
    made = image_of(native.compile_object(adder(7)))
    raw = to_bytes(made.plain())

    assert image_from(from_bytes(raw)) == made
    for wrong in (b"", raw[:-1], b"\xff" + raw[1:], to_bytes((1, 2)), to_bytes("text")):
        with pytest.raises(Unfit):
            image_from(from_bytes(wrong))


def test_code_is_not_writable():
    """Not once it runs: what /proc says of its pages."""
    code = MappedCode(image_of(native.compile_object(adder(8))), support.address_beside)
    at = code.address("once")
    with open("/proc/self/maps", encoding="ascii") as lines:
        rows = [line.split()[:2] for line in lines]
    access = [
        flags
        for places, flags in rows
        if int(places.split("-")[0], 16) <= at < int(places.split("-")[1], 16)
    ]

    assert access == ["r-xp"]


def test_a_symbol_that_is_nowhere():
    """Unfit when it is wanted; a fault of ours when it is asked for."""
    text = "declare i64 @nobody(i64)\n" + adder(9).replace("@once(i64 %x)\n ", "@nobody(i64 %x)\n ")
    with pytest.raises(Unfit, match="nobody"):
        MappedCode(image_of(native.compile_object(text)), support.address_beside)
    good = MappedCode(image_of(native.compile_object(adder(9))), support.address_beside)
    with pytest.raises(CompilerBug, match="nothing_such"):
        good.address("nothing_such")


@pytest.mark.parametrize("wrong", ["garbage", "empty", "cut", "machine", "relocation"])
def test_an_object_that_is_not_understood_is_unfit(wrong):
    """LLVM links it then, or says what is wrong with it."""
    good = native.compile_object(adder(10))
    thread_local = native.compile_object(
        "@x = thread_local global i64 7\n"
        "define i64 @get() {\n  %v = load i64, ptr @x\n  ret i64 %v\n}\n"
    )
    found = {
        "garbage": b"this is not an object file" * 9, "empty": b"", "cut": good[: len(good) // 2],
        "machine": good[:18] + b"\x03\x00" + good[20:], "relocation": thread_local,
    }[wrong]  # fmt: skip

    with pytest.raises(Unfit):
        image_of(found)


TABLES = """
@words = internal global [3 x ptr] [ptr @one, ptr @two, ptr @words]
@zeros = global [9000 x i64] zeroinitializer
define internal i64 @one() { ret i64 1 }
define internal i64 @two() { ret i64 2 }
define i64 @pick(i64 %i) {
  %at = getelementptr ptr, ptr @words, i64 %i
  %f = load ptr, ptr %at
  %v = call i64 %f()
  %z = load i64, ptr getelementptr (i64, ptr @zeros, i64 8999)
  %s = add i64 %v, %z
  store i64 %s, ptr getelementptr (i64, ptr @zeros, i64 8999)
  ret i64 %s
}
"""


def test_addresses_in_data_and_memory_that_is_zero():
    """A table of functions is filled in; variables can be written."""
    code = MappedCode(image_of(native.compile_object(TABLES)), support.address_beside)
    pick = image.ctypes.CFUNCTYPE(image.ctypes.c_int64, image.ctypes.c_int64)(code.address("pick"))

    assert [pick(0), pick(1), pick(1)] == [1, 3, 5]


@pytest.mark.skipif(not system().has_images, reason="the portable runtime maps no images")
def test_support_code_that_was_mapped(tmp_path):
    """LLVM links against it as against its own."""
    script = """
        import numpy as np
        import flatweave as fw
        from flatweave.runtime import native, support
        from flatweave.runtime.cache import name_on_disk, process_cache
        from flatweave.runtime.image import image_of
        from flatweave.runtime.image import MappedCode, to_bytes
        found = native.compile_object(native.support_text(), level=native.RAW)
        process_cache().put(name_on_disk("support"), to_bytes(image_of(found).plain()))
        assert isinstance(support.support(), MappedCode)
        xs = np.arange(1000.0)
        print(float(fw.sum(fw.sort(fw.filter(lambda x: x > 9, -xs + 500)))))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True, text=True, timeout=150,
        env=dict(os.environ, XDG_CACHE_HOME=str(tmp_path)),
    )  # fmt: skip

    assert (done.stdout, done.returncode) == (f"{sum(range(10, 501))}.0\n", 0), done.stderr


def test_sizes_are_pages():
    """Parts with different access never share one."""
    made = image_of(native.compile_object(TABLES))

    assert isinstance(made, Image)
    assert all(size and size % image.mmap.PAGESIZE == 0 for size in made.sizes[::2])
