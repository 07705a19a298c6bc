"""A fake cuBLAS: the calls that `cuda_libraries.py` makes, on the memory of a fake GPU.

    library = declared(FakeCublas(cu))
    library.products            what was multiplied: the function, m, n, k, and both operations

It is as strict as the header: functions must be declared with its types, arguments are converted by
them, a handle has one stream and a workspace that is allocated, leading dimensions hold a column,
and a product runs when its stream comes to it.
"""

import ctypes

import numpy as np

P, N, L, S = ctypes.c_void_p, ctypes.c_int, ctypes.c_int64, ctypes.c_size_t
GEMM = (P, N, N, L, L, L, P, P, L, P, L, P, P, L)
STACKS = (P, N, N, L, L, L, P, P, L, L, P, L, L, P, P, L, L, L)
HEADER = {
    "cublasCreate_v2": (P,),
    "cublasSetStream_v2": (P, P),
    "cublasSetWorkspace_v2": (P, P, S),
    "cublasSetMathMode": (P, N),
    **{f"cublas{letter}gemm_v2_64": GEMM for letter in "SDCZ"},
    **{f"cublas{letter}gemmStridedBatched_64": STACKS for letter in "SDCZ"},
}
DTYPES = {"S": np.float32, "D": np.float64, "C": np.complex64, "Z": np.complex128}
SUCCESS, NOT_INITIALIZED, INVALID_VALUE = 0, 1, 7
OPERATIONS = {0: lambda x: x, 1: np.transpose, 2: lambda x: x.T.conj()}


class Function:
    """A function of the library: it must be declared before it is called."""

    def __init__(self, name, run):
        self.name, self.run, self.argtypes, self.restype = name, run, None, None

    def __call__(self, *args):
        assert self.argtypes == HEADER[self.name], f"{self.name} is declared with other types"
        assert self.restype is ctypes.c_int
        assert len(args) == len(self.argtypes)
        given = [
            kind(arg.value if isinstance(arg, P) else arg).value
            for kind, arg in zip(self.argtypes, args, strict=True)
        ]
        return self.run(*given)


class FakeCublas:
    """Stands for the library that `ctypes` loads."""

    def __init__(self, cu, refuses=False):
        self.cu, self.refuses = cu, refuses
        self.handles, self.products = {}, []
        for name in HEADER:
            run = getattr(self, name, None) or self._gemm(name)
            setattr(self, name, Function(name, run))

    def cublasCreate_v2(self, handle):
        if self.refuses:
            return NOT_INITIALIZED
        assert self.cu.current.context is not None
        number = 0xB1A5 + len(self.handles)
        self.handles[number] = {"context": self.cu.current.context}
        P.from_address(handle).value = number
        return SUCCESS

    def cublasSetStream_v2(self, handle, stream):
        self.handles[handle] |= {"stream": self.cu.stream_at[stream], "workspace": None}
        return SUCCESS

    def cublasSetWorkspace_v2(self, handle, at, size):
        assert at % 256 == 0 and len(self.cu.live[at]) >= size
        self.handles[handle]["workspace"] = at
        return SUCCESS

    def cublasSetMathMode(self, handle, mode):
        assert mode == 0  # f32 is not rounded to TF32
        self.handles[handle]["mode"] = mode
        return SUCCESS

    def _gemm(self, name):
        dtype = np.dtype(DTYPES[name[len("cublas")]])

        def number(at):
            return np.ctypeslib.as_array((ctypes.c_byte * dtype.itemsize).from_address(at)).view(
                dtype
            )[0]

        def gemm(handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc):
            return stacks(
                handle, op_a, op_b, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0, 1
            )

        def stacks(
            handle, op_a, op_b, m, n, k, alpha, a, lda, next_a, b, ldb, next_b, beta, c, ldc,
            next_c, count,
        ):
            state = self.handles.get(handle)
            if state is None:
                return NOT_INITIALIZED
            assert state["workspace"] in self.cu.live and "mode" in state
            assert self.cu.current.context == state["context"]
            shape_a, shape_b = (k, m) if op_a else (m, k), (n, k) if op_b else (k, n)
            if min(m, n, k) < 0 or lda < max(1, shape_a[0]) or ldb < max(1, shape_b[0]):
                return INVALID_VALUE
            if ldc < max(1, m):
                return INVALID_VALUE
            assert (number(alpha), number(beta)) == (1, 0)
            assert next_c >= ldc * n or count == 1
            self.products.append((name, m, n, k, op_a, op_b))

            def matrix(at, rows, columns, leading):
                """Column by column."""
                values = self.cu.view(at, dtype, leading * columns)
                return values.reshape(columns, leading)[:, :rows].T

            def work():
                size = dtype.itemsize
                for t in range(count):
                    left = OPERATIONS[op_a](matrix(a + t * next_a * size, *shape_a, lda))
                    right = OPERATIONS[op_b](matrix(b + t * next_b * size, *shape_b, ldb))
                    with np.errstate(all="ignore"):
                        matrix(c + t * next_c * size, m, n, ldc)[...] = left @ right

            state["stream"].add(work)
            return SUCCESS

        return gemm if "_v2" in name else stacks
