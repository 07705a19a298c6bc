"""What goes to and from other libraries, copied or not: the rows of docs/interchange.md.

    python -m tests.frontend.interchange > table      the table, as the page has it

Each row is code that a test runs, and the result that it must find by comparing addresses.
"""

from __future__ import annotations

from typing import NamedTuple

SHARED, COPIED = "shared", "copied"


class In(NamedTuple):
    """What another library has, made an array of ours, and the array of NumPy over its memory."""

    library: str
    what: str
    modules: str  # those that it needs, as they are imported
    xs: str
    memory: str = "np.asarray(xs)"
    ours: str = "fw.asarray(xs)"
    taken: str = SHARED
    passed: str = COPIED  # given to a compiled function that returns it


class Out(NamedTuple):
    """What another library makes of `ys`, an array of ours, and NumPy's array over its memory."""

    library: str
    modules: str
    zs: str
    memory: str = "zs"
    taken: str = SHARED


F = "np.arange(6.0)"
IN = (
    In("NumPy", "an array", "", F),
    In("NumPy", "one that nobody can write to", "", "np.frombuffer(bytes(48))", passed=SHARED),
    In("NumPy", "complex numbers", "", "np.ones(3, np.complex64)"),
    In("NumPy", "`float16`", "", "np.ones(3, np.float16)"),
    In("NumPy", "`bfloat16` of ml_dtypes", "ml_dtypes", "np.ones(3, ml_dtypes.bfloat16)"),
    In("NumPy", "not in row-major order, or of the other byte order", "", f"{F}[::2]",
       taken=COPIED),
    In("NumPy", "`memmap`, read", "", 'np.memmap(file, np.float64, "r")', passed=SHARED),
    In("NumPy", "`memmap`, read and written", "", 'np.memmap(file, np.float64, "r+")'),
    In("NumPy", "a masked array", "", f"np.ma.masked_array({F})", "xs.data",
       'fw.asarray(xs, nulls="mask")[0]', passed="refused"),
    In("NumPy", "records: a dict of their fields", "", 'np.zeros(3, "f8, i4")', 'xs["f0"]',
       'fw.asarray(xs["f0"])', taken=COPIED, passed="a dict"),
    In("NumPy", "times, which keep their unit", "", 'np.arange(6).astype("M8[s]")',
       ours="fw.asarray(xs.view(np.int64))"),
    In("Python", "`bytes`", "", "bytes(48)", "np.frombuffer(xs, np.uint8)", passed=SHARED),
    In("Python", "`bytearray`, `memoryview`", "", "bytearray(48)", "np.frombuffer(xs, np.uint8)"),
    In("Python", "`array.array`", "array", 'array.array("d", [1, 2, 3])', "np.frombuffer(xs)"),
    In("Python", "`ctypes` arrays", "ctypes", "(ctypes.c_double * 6)()", "np.frombuffer(xs)"),
    In("Python", "`mmap`", "mmap", "mmap.mmap(-1, 48)", "np.frombuffer(xs, np.uint8)"),
    In("Python", "lists of numbers", "", "[1.0, 2.0]", "np.zeros(2)", taken=COPIED,
       passed="a list"),
    In("DLPack", "anything with `__dlpack__`", "", f"Dlpack({F})", "xs.values",
       "fw.from_dlpack(xs)"),
    In("Arrow", "anything with `__arrow_c_array__` or `__arrow_c_stream__`", "", f"Arrow({F})",
       "xs.values", passed=SHARED),
    In("pyarrow", "an array, a chunked array of one chunk", "pyarrow", "pyarrow.array([1.0, 2.0])",
       "xs.to_numpy()", passed=SHARED),
    In("pyarrow", "with nulls", "pyarrow", "pyarrow.array([1.0, None])",
       "np.frombuffer(xs.buffers()[1])", 'fw.asarray(xs, nulls="mask")[0]', passed="refused"),
    In("pyarrow", "bools, which are bits", "pyarrow", "pyarrow.array([True, False])",
       "np.frombuffer(xs.buffers()[1], np.uint8)", taken=COPIED),
    In("nanoarrow", "an array", "nanoarrow", "nanoarrow.Array([1.0, 2.0], nanoarrow.float64())",
       "np.asarray(xs.buffers[1])", passed=SHARED),
    In("pandas", "a Series, an Index, a column", "pandas", f"pandas.Series({F})", "xs.to_numpy()"),
    In("pandas", "a Series with an `ArrowDtype`", "pandas pyarrow",
       f'pandas.Series({F}, dtype="float64[pyarrow]")',
       "xs.array.__arrow_array__().chunk(0).to_numpy()", passed=SHARED),
    In("pandas", "a Series with a dtype that has nulls", "pandas",
       'pandas.Series([1, 2], dtype="Int64")', "xs.to_numpy()"),
    In("polars", "a Series", "polars", f"polars.Series({F})", "xs.to_numpy()", passed=SHARED),
    In("Awkward", "a regular array", "awkward", f"awkward.Array({F})", "xs.layout.data"),
    In("Awkward", "lists", "awkward", "awkward.Array([[1.0], []])", "xs.layout.content.data",
       "fw.ragged(xs).values", passed="refused"),
    In("pyarrow", "lists", "pyarrow", "pyarrow.array([[1.0], []])", "xs.values.to_numpy()",
       "fw.ragged(xs).values", passed="refused"),
    In("polars", "lists", "polars", "polars.Series([[1.0], []])",
       "xs.explode(empty_as_null=False).to_numpy()", "fw.ragged(xs).values", passed="refused"),
    In("xarray", "a DataArray", "xarray", f"xarray.DataArray({F})", "xs.values"),
    In("JAX", "an array", "jax", "jax.numpy.arange(6)", passed=SHARED),
    In("PyTorch", "a tensor on the CPU", "torch", "torch.arange(6.0)", "xs.numpy()"),
    In("SciPy", "CSR, its rows", "scipy.sparse", "scipy.sparse.csr_array(np.eye(3))", "xs.data",
       "fw.ragged(xs).values[0]", passed="refused"),
    In("SciPy", "CSC, its columns", "scipy.sparse", "scipy.sparse.csc_array(np.eye(3))", "xs.data",
       "fw.ragged(xs).values[0]", passed="refused"),
    In("SciPy", "BSR, its rows of blocks", "scipy.sparse", "scipy.sparse.bsr_array(np.eye(4))",
       "xs.data", "fw.ragged(xs).values[0]", passed="refused"),
    In("SciPy", "COO, its arrays", "scipy.sparse", "scipy.sparse.coo_array(np.eye(3))", "xs.data",
       "fw.asarray(xs.data)", passed="refused"),
    In("h5py", "a data set", "h5py", 'h5py.File(file.with_suffix(".h5"), "w")'
       f'.create_dataset("xs", data={F})', taken=COPIED),
    In("Pillow", "an image", "PIL.Image", 'PIL.Image.new("L", (4, 3))', taken=COPIED),
)
OUT = (
    Out("NumPy", "", "np.asarray(ys)"),
    Out("NumPy", "", "np.from_dlpack(ys)"),
    Out("NumPy", "", "np.from_dlpack(ys, copy=True)", taken=COPIED),
    Out("Python", "", "memoryview(np.asarray(ys))", "np.asarray(zs)"),
    Out("Python", "array", 'array.array("d", ys)', "np.frombuffer(zs)", COPIED),
    Out("Arrow", "", "Taken(ys.__arrow_c_array__())", "zs.values"),
    Out("pyarrow", "pyarrow", "pyarrow.array(ys)", "zs.to_numpy()"),
    Out("pyarrow", "pyarrow", "pyarrow.array(rows)", "zs.values.to_numpy()"),
    Out("nanoarrow", "nanoarrow", "nanoarrow.Array(ys)", "np.asarray(zs.buffers[1])"),
    Out("pandas", "pandas", "pandas.Series(ys, copy=False)", "zs.to_numpy()"),
    Out("polars", "polars", "polars.Series(ys)", "zs.to_numpy()"),
    Out("polars", "polars", "polars.Series(rows)", "zs.explode(empty_as_null=False).to_numpy()"),
    Out("Awkward", "awkward", "awkward.from_dlpack(ys)", "zs.layout.data"),
    Out("Awkward", "awkward", "rows.to_awkward()", "zs.layout.content.data"),
    Out("SciPy", "scipy.sparse", "scipy.sparse.csr_array((ys, at, ends))", "zs.data"),
    Out("SciPy", "scipy.sparse", "scipy.sparse.csc_array((ys, at, ends))", "zs.data"),
    Out("SciPy", "scipy.sparse", "scipy.sparse.coo_array((ys, (at, at)))", "zs.data"),
    Out("SciPy", "scipy.sparse",
        "scipy.sparse.bsr_array((fw.reshape(ys, (-1, 1, 1)), at, ends))", "zs.data"),
    Out("xarray", "xarray", "xarray.DataArray(ys)", "zs.values"),
    Out("JAX", "jax", "jax.device_put(np.asarray(numbers))", "np.asarray(zs)"),
    Out("PyTorch", "torch", "torch.from_dlpack(ys)", "zs.numpy()"),
    Out("Numba", "numba", "numba.njit(lambda xs: xs)(np.asarray(ys))"),
    Out("h5py", "h5py", 'h5py.File(file.with_suffix(".h5"), "w").create_dataset("ys", data=ys)',
        "zs[:]", COPIED),
    Out("Pillow", "PIL.Image", "PIL.Image.fromarray(np.asarray(image))", "np.asarray(zs)", COPIED),
)


def table() -> str:
    """The rows as the page shows them."""
    lines = [
        "| library | what it has | made ours by | memory | given back by a compiled function |",
        "|---|---|---|---|---|",
        *(f"| {row.library} | {row.what} | `{row.ours}` | {row.taken} | {row.passed} |"
          for row in IN),
        "",
        "| library | makes of `ys`, an array of ours | memory |",
        "|---|---|---|",
        *(f"| {row.library} | `{row.zs}` | {row.taken} |" for row in OUT),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(table(), end="")
