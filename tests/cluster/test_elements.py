"""Elements of every kind in chunks: complex numbers, floats of 16 bits, records."""

import numpy as np
import pytest

import flatweave as fw

Z = np.arange(7) + 1j * np.arange(7)[::-1]
RECORDS = np.zeros(7, [("key", "i8"), ("weight", "f4"), ("at", "f8", (2,))])
RECORDS["key"], RECORDS["weight"] = np.arange(7) % 3, 1.5
RECORDS["at"] = np.arange(14).reshape(7, 2)


def test_complex_numbers(tmp_path):
    """Of memory and of files; what is given back goes on."""
    np.save(tmp_path / "z.npy", Z)
    f = fw.jit(lambda z: (z * 2j, fw.sum(z), abs(z)))
    for chunks in (fw.Chunked.cut(Z, 3), fw.Chunked.open(tmp_path / "z.npy", 3)):
        doubled, total, size = f(chunks)
        assert repr(doubled) == "Chunked(complex128[7], 3 chunks)"
        assert np.array_equal(np.asarray(doubled), Z * 2j)
        assert complex(total) == Z.sum()
        assert np.allclose(np.asarray(size), np.abs(Z), rtol=1e-15)
        assert np.array_equal(np.asarray(f(doubled)[0]), -4 * Z)


def test_floats_of_16_bits():
    """Their words go through chunks; sorted they keep every bit."""
    xs = np.array([3, -1, 0.5, 7, -0.0, 2, 1], np.float16)
    doubled, ordered = fw.jit(lambda x: (x * 2, fw.sort(x)))(fw.Chunked.cut(xs, 3))

    assert repr(ordered) == "Chunked(float16[7], 3 chunks)"
    assert np.array_equal(np.asarray(doubled), xs * 2)
    assert np.array_equal(np.asarray(ordered), np.sort(xs))


def test_records(tmp_path):
    """A function sees a dict of fields, each in chunks, of files, too."""
    np.save(tmp_path / "records.npy", RECORDS)
    f = fw.jit(lambda r: (fw.histogram(3, r["key"]), fw.sum(r["at"], axis=0), r))
    for chunks in (fw.Chunked.cut(RECORDS, 3), fw.Chunked.open(tmp_path / "records.npy", 3)):
        counts, sums, same = f(chunks)
        assert np.asarray(counts).tolist() == [3, 2, 2]
        assert np.asarray(sums).tolist() == [42, 49]
        assert repr(same["at"]) == "Chunked(float64[7, 2], 3 chunks)"
        assert np.asarray(chunks["weight"]).tolist() == [1.5] * 7


def test_another_order_of_bytes():
    """It is swapped, as on one machine."""
    xs = np.arange(5, dtype=">i4")

    assert int(fw.sum(fw.Chunked.cut(xs, 2))) == 10


def test_what_is_no_number():
    """Nor a record of numbers; a field that records lack."""
    with pytest.raises(fw.DTypeError, match="array of cut has dtype <U1"):
        fw.Chunked.cut(np.array(["a", "b"]), 1)
    with pytest.raises(fw.DTypeError, match="numbers, booleans and records of these, not"):
        fw.Chunked([np.array([(1, "a")], [("x", "i8"), ("y", object)])])
    with pytest.raises(fw.DTypeError, match="float128|longdouble|float96"):
        fw.Chunked([np.ones(2, np.longdouble)])
    with pytest.raises(fw.ArgumentError, match=r"(?s)has no field 'y'.*It has key, weight"):
        fw.Chunked.cut(RECORDS, 3)["y"]
    with pytest.raises(fw.ArgumentError, match=r"(?s)has no field 'y'.*elements are numbers"):
        fw.Chunked.cut(Z, 3)["y"]
