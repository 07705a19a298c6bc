"""What a notebook shows of arrays and rows: facts, a small picture, nothing that takes long."""

import base64
import struct
import warnings
import zlib

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.pretty import counted
from flatweave.frontend.values.array import host_array
from flatweave.notebook import LAST, UNKNOWN, levels, png
from tests.devices.gpus import gpu, jitted, kernel_of, plus_one
from tests.page.opened import Page

__all__ = ["gpu"]
LARGE = 1.7e308


def pixels(address):
    """The entries of the palette in a picture."""
    raw = base64.b64decode(address.removeprefix("data:image/png;base64,"))
    assert raw.startswith(b"\x89PNG\r\n\x1a\n")
    chunks, at = {}, 8
    while at < len(raw):
        (size,) = struct.unpack(">I", raw[at : at + 4])
        name, content = raw[at + 4 : at + 8], raw[at + 8 : at + 8 + size]
        (check,) = struct.unpack(">I", raw[at + 8 + size : at + 12 + size])
        assert check == zlib.crc32(name + content)
        chunks[name] = content
        at += 12 + size
    assert list(chunks) == [b"IHDR", b"PLTE", b"IDAT", b"IEND"] and len(chunks[b"PLTE"]) == 768
    width, height = struct.unpack(">II", chunks[b"IHDR"][:8])
    lines = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, 1 + width)
    assert not lines[:, 0].any()
    return lines[:, 1:]


def shown(value):
    """The page of a value; what it says."""
    text = value._repr_html_()
    assert "http" not in text and len(text) < 60_000
    page = Page(text).root
    return page, page.whole_text


@pytest.mark.parametrize("numbers, entries, ends", [
    ([[0, 1, 2]], [[0, 127, 254]], (0, 2)),
    ([[5.0, 5.0]], [[0, 0]], (5, 5)),
    ([[np.nan, 1.0, np.inf, 2.0, -np.inf]], [[UNKNOWN, 0, UNKNOWN, LAST, UNKNOWN]], (1, 2)),
    ([[np.nan]], [[UNKNOWN]], (0, 0)),
    ([[-LARGE, 0.0, LARGE]], [[0, 127, LAST]], (-LARGE, LARGE)),
    (np.array([[0, 2**64 - 1]], np.uint64), [[0, LAST]], (0, 2.0**64)),
    ([[False, True]], [[0, LAST]], (0, 1)),
    ([[3 + 4j, 0]], [[LAST, 0]], (0, 5)),
])  # fmt: skip
def test_numbers_are_levels_of_brightness(numbers, entries, ends):
    """From the least to the largest; what is not finite is grey."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found, least, most = levels(np.array(numbers))

    assert found.tolist() == entries and (least, most) == ends


def test_a_picture_can_be_read_back():
    """A PNG with its checks, as any viewer reads it."""
    entries = np.random.default_rng(0).integers(0, 256, (13, 40)).astype(np.uint8)

    assert np.array_equal(pixels(png(entries)), entries)


@pytest.mark.parametrize("shape, drawn", [
    ((1, 1), (1, 1)), ((5, 7), (5, 7)), ((127, 128), (127, 128)), ((129, 1025), (16, 128)),
    ((1, 100_000), (1, 128)), ((100_000, 100_000), (128, 128)),
])  # fmt: skip
def test_a_matrix_is_a_picture(shape, drawn):
    """Its shape, dtype and bytes, and at most 128 x 128 of its elements, in its proportions."""
    values = np.broadcast_to(np.float32(1), shape)  # the largest one would not fit into memory
    page, text = shown(host_array(values.view()))
    assert shown(fw.asarray(values[:1, :2]).astype(fw.bf16))[0].find("img")
    (image,) = page.find("img")

    assert pixels(image.attributes["src"]).shape == drawn
    assert f"float32[{shape[0]}, {shape[1]}]" in text
    assert ("are shown" in text) == (shape != drawn)
    assert bool(page.find("pre")) == (values.size <= 100)


@pytest.mark.parametrize("values", [
    np.float64(2.5), np.arange(3), np.arange(1000), np.zeros((0, 4)), np.zeros((2, 3, 4)),
    np.zeros((2, 2), np.complex64), np.array([True]), np.zeros(0),
])  # fmt: skip
def test_others_are_text(values):
    """As `str` of them is, short."""
    array = fw.asarray(values)
    page, text = shown(array)

    assert str(array.dtype) in text
    assert page.find("pre")[0].text == str(array)
    assert len(page.find("img")) == (np.ndim(values) == 2 and np.size(values) > 0)


def test_rows_have_a_histogram():
    """Of their lengths: as many rows in all bars as there are."""
    lengths = np.random.default_rng(0).integers(3, 90, 5000)
    rows = fw.ragged(np.zeros(lengths.sum(), np.float32), lengths=lengths)
    page, text = shown(rows)
    bars = page.find("rect")
    counts = [int(bar.find("title")[0].text.split(": ")[1].split()[0]) for bar in bars]

    assert "5000 rows" in text and f"{lengths.sum()} values" in text and "float32" in text
    assert sum(counts) == 5000 and len(bars) == 24
    assert "row lengths from 3 to 89" in text and not page.find("pre")


@pytest.mark.parametrize("rows", [
    fw.ragged([[1, 2], [], [3]]), fw.ragged(np.zeros(0), offsets=[0]),
    fw.ragged(np.zeros(0), offsets=[0, 0]),
    fw.Ragged(fw.ragged([[1], [2, 3]]), [0, 2, 2]),
    fw.ragged({"a": np.arange(3), "b": np.ones(3)}, lengths=[1, 2]),
])  # fmt: skip
def test_few_rows_are_shown_themselves(rows):
    """Empty ones, rows of rows and records, too."""
    page, text = shown(rows)

    assert page.find("b")[0].text == counted(len(rows), "row")
    assert page.find("pre")[0].text == repr(rows)
    assert len(page.find("svg")) == (len(rows) > 0)


def test_of_many_rows_some_are_looked_at():
    """Evenly chosen ones: what takes long is no matter for a picture."""
    offsets = fw.asarray(np.arange(200_001) * 2)
    text = shown(fw.Ragged(np.zeros(400_000, np.int8), offsets))[1]

    assert "of 65,536 rows evenly chosen" in text and "row lengths from 2 to 2" in text


def test_inside_a_trace_there_is_no_picture():
    """Arrays there are text, as outside of notebooks."""
    seen = []

    @fw.jit(target="interp")
    def f(rows, xs):
        bundle = rows._repr_mimebundle_()
        seen.append((rows._repr_html_(), hasattr(xs, "_repr_html_"), bundle["text/plain"]))
        return xs

    f(fw.ragged([[1], [2, 3]]), np.arange(3))
    assert seen[0][:2] == (None, False) and seen[0][2].startswith("Traced(")


def test_what_was_given_away_is_text():
    """Nobody uses it, a notebook neither."""
    xs = fw.asarray(np.ones(5))
    fw.jit(lambda v: v + 1, target="cpu", donate="v")(xs)

    assert xs._repr_html_() is None and "donated" in repr(xs)


def test_an_array_on_a_device_is_not_copied(gpu):
    """Only facts, for the text too; once it has been copied, its elements."""
    f, xs = jitted(), np.arange(6.0)
    cu = gpu(f, (xs,), {kernel_of(f, xs): plus_one})
    ys = f(xs)
    before = ys._repr_mimebundle_()
    assert "cuMemcpyDtoHAsync" not in cu.calls
    assert before["text/plain"] == "Array(float64[6] on cuda:0)"
    assert "nothing was copied" in before["text/html"]

    assert np.array_equal(ys, xs + 1)
    after = ys._repr_mimebundle_()
    assert after["text/plain"] == repr(ys) and str(ys) in after["text/html"]


def test_rows_on_a_device_are_not_copied(gpu):
    """Their text is how many there are, until somebody has read them."""
    f, xs = jitted(), np.arange(6.0)
    cu = gpu(f, (xs,), {kernel_of(f, xs): plus_one})
    rows = fw.Ragged.made(f(xs), fw.asarray([0, 2, 6]))
    bundle = rows._repr_mimebundle_()

    assert bundle["text/plain"] == "Ragged(2 rows, 6 values, dtype=float64)"
    assert "row lengths from 2 to 4" in bundle["text/html"] and "<pre" not in bundle["text/html"]
    assert "cuMemcpyDtoHAsync" not in cu.calls
    assert np.array_equal(rows.values, xs + 1)
    assert rows._repr_mimebundle_()["text/plain"] == repr(rows) and "6.0]]" in repr(rows)


def test_what_failed_on_a_device_raises_nothing(gpu):
    """Reading elements raises the error; looking at a notebook's cell does not."""
    f, xs = jitted(), np.arange(6.0)
    gpu(f, (xs,), {kernel_of(f, xs): lambda cu, grid, threads, **given: cu.view(1, np.int8, 1)})
    ys = f(xs)

    assert "float64[6]" in ys._repr_mimebundle_()["text/html"]
    with pytest.raises(fw.DeviceError):
        np.asarray(ys)
    assert "float64[6]" in ys._repr_mimebundle_()["text/plain"]
