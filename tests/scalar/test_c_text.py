"""C spellings of the table, compiled by the C++ compiler at hand, against the NumPy meaning."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

from flatweave.base.dtypes import DTYPES, bool_, f32, f64, u16
from flatweave.scalar.function import C_PRELUDE, c_cast, evaluate_cast
from flatweave.scalar.ops import TABLE, evaluate, result_dtype
from tests.codegen.element_loops import same_bits, samples

COMPILER = shutil.which("g++") or shutil.which("clang++")
COUNT = 1024
CASES = [(name, d) for name, row in TABLE.items() for d in DTYPES if d.kind in row.kinds]
HEAD = f"""
#include <stdint.h>
#include <cmath>
using namespace std;
template <class T> static inline T rsqrt(T x) {{ return 1 / sqrt(x); }}
static inline uint32_t FW_BITS32(float x) {{ uint32_t b; __builtin_memcpy(&b, &x, 4); return b; }}
static inline uint64_t FW_BITS64(double x) {{ uint64_t b; __builtin_memcpy(&b, &x, 8); return b; }}
static inline float FW_F32(uint32_t b) {{ float x; __builtin_memcpy(&x, &b, 4); return x; }}
static inline double FW_F64(uint64_t b) {{ double x; __builtin_memcpy(&x, &b, 8); return x; }}
{C_PRELUDE}
"""


def operands_of(name, dtype):
    """The dtypes of a row's operands."""
    return [bool_, dtype, dtype] if name == "select" else [dtype] * TABLE[name].arity


def loop(name, text, operands, result):
    """A C function that applies a spelling to arrays."""
    arguments = ", ".join(f"const {d.c}* p{i}" for i, d in enumerate(operands))
    value = text.template.format(*(f"p{i}[i]" for i in range(len(operands))))
    return (
        f'extern "C" void {name}(long n, {arguments}, {result.c}* out) '
        f"{{ for (long i = 0; i < n; i++) out[i] = {value}; }}\n"
    )


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """All rows and conversions, compiled into one library."""
    if COMPILER is None:
        pytest.skip("there is no C++ compiler here")
    sources, functions = {}, []
    for name, dtype in CASES:
        operands = operands_of(name, dtype)
        text = TABLE[name].c(dtype)
        sources.update(dict.fromkeys(text.helpers))
        functions.append(loop(f"{name}__{dtype}", text, operands, result_dtype(name, operands)))
    for source in DTYPES:
        for target in DTYPES:
            text = c_cast(source, target)
            sources.update(dict.fromkeys(text.helpers))
            functions.append(loop(f"cast__{source}__{target}", text, [source], target))
    folder = tmp_path_factory.mktemp("c_text")
    (folder / "rows.cpp").write_text(HEAD + "".join(sources) + "".join(functions))
    command = [COMPILER, "-O1", "-fno-builtin", "-ffp-contract=off", "-shared", "-fPIC",
               "-o", "rows.so", "rows.cpp", "-lm"]  # fmt: skip
    subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return ctypes.CDLL(str(folder / "rows.so"))


def call(library, name, arrays, result):
    """One loop's results."""
    out = np.empty(arrays[0].size, result.numpy)
    pointers = [ctypes.c_void_p(x.ctypes.data) for x in (*arrays, out)]
    getattr(library, name)(ctypes.c_long(out.size), *pointers)
    return out


@pytest.mark.parametrize(("name", "dtype"), CASES, ids=str)
def test_a_spelling_means_what_numpy_says(library, name, dtype):
    """Exact rows give the same bits, elementary functions agree to a few ulp."""
    operands = operands_of(name, dtype)
    arrays = [samples(operand, COUNT, seed) for seed, operand in enumerate(operands)]
    result = result_dtype(name, operands)

    expected = evaluate(name, *arrays)
    found = call(library, f"{name}__{dtype}", arrays, result)

    if TABLE[name].ulps and dtype.is_float:
        tolerance = 8 * np.finfo(dtype.numpy).eps
        tiny = float(np.finfo(dtype.numpy).tiny)
        assert np.allclose(found, expected, rtol=tolerance, atol=tiny, equal_nan=True)
        return
    wrong = ~same_bits(found, expected)
    assert not wrong.any(), ([a[wrong][:3] for a in arrays], found[wrong][:3], expected[wrong][:3])


@pytest.mark.parametrize("source", DTYPES, ids=str)
def test_a_conversion_means_what_numpy_says(library, source):
    """Floats that do not fit become the nearest integer."""
    array = samples(source, COUNT, 5)
    for target in DTYPES:
        expected = evaluate_cast(array, target)
        found = call(library, f"cast__{source}__{target}", [array], target)
        wrong = ~same_bits(found, expected)
        assert not wrong.any(), (target, array[wrong][:3], found[wrong][:3], expected[wrong][:3])


def test_every_number_of_16_bits_is_converted(library):
    """To an f32 and back, and numbers between two to the nearest one."""
    short = np.arange(2**16, dtype=np.uint16)
    for name in ("f16", "bf16"):
        wide = evaluate(f"of_{name}", short)
        assert call(library, f"of_{name}__u16", [short], f32).tobytes() == wide.tobytes()
        floats = np.concatenate([wide, np.nextafter(wide, np.float32(0)), wide * np.float32(0.75)])
        for dtype in (f32, f64):
            array = floats.astype(dtype.numpy)
            found = call(library, f"to_{name}__{dtype}", [array], u16)
            assert found.tobytes() == evaluate(f"to_{name}", array).tobytes()
