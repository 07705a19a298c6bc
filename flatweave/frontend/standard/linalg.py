"""`fw.linalg`: the linear algebra of the array API standard, of matrices and stacks of them.

    fw.linalg.solve(a, b), fw.linalg.eigh(a), ..     LAPACK; many small matrices: programs in lanes
    fw.linalg.matmul(a, b)                           NumPy's BLAS, or a program

They take real and complex matrices, in jitted functions, too.
"""

from flatweave.frontend.standard.arrangement import matrix_transpose
from flatweave.frontend.standard.linear_systems import (
    cholesky,
    det,
    inv,
    matrix_power,
    slogdet,
    solve,
)
from flatweave.frontend.standard.norms import (
    cross,
    diagonal,
    matrix_norm,
    outer,
    trace,
    vector_norm,
)
from flatweave.frontend.standard.products import matmul, tensordot, vecdot
from flatweave.frontend.standard.spectra import (
    eig,
    eigh,
    eigvals,
    eigvalsh,
    matrix_rank,
    pinv,
    qr,
    svd,
    svdvals,
)

__all__ = [
    "cholesky", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "matmul",
    "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose", "outer", "pinv", "qr",
    "slogdet", "solve", "svd", "svdvals", "tensordot", "trace", "vecdot", "vector_norm",
]  # fmt: skip
