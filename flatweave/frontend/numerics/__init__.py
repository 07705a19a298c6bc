"""Functions of NumPy that the array API standard lacks: medians, sums without NaN, sets, samples.

They are compositions of the functions below them, and are imported when the first of them is asked
for (`runtime/lazy_import.py`).
"""

from flatweave.frontend.numerics.arranging import (
    append,
    atleast_1d,
    atleast_2d,
    column_stack,
    diag,
    fliplr,
    flipud,
    hstack,
    ravel,
    rot90,
    split,
    swapaxes,
    vstack,
)
from flatweave.frontend.numerics.comparing import (
    allclose,
    degrees,
    fmax,
    fmin,
    fmod,
    heaviside,
    isclose,
    polyval,
    radians,
    select,
    sinc,
)
from flatweave.frontend.numerics.counting_and_sets import (
    argwhere,
    bincount,
    digitize,
    flatnonzero,
    intersect1d,
    setdiff1d,
    setxor1d,
    union1d,
    unique,
)
from flatweave.frontend.numerics.interpolation_and_convolution import (
    convolve,
    correlate,
    gradient,
    interp,
    trapezoid,
)
from flatweave.frontend.numerics.nan_functions import (
    nan_to_num,
    nanargmax,
    nanargmin,
    nancumprod,
    nancumsum,
    nanmax,
    nanmean,
    nanmedian,
    nanmin,
    nanpercentile,
    nanprod,
    nanquantile,
    nanstd,
    nansum,
    nanvar,
)
from flatweave.frontend.numerics.padding import pad
from flatweave.frontend.numerics.products import einsum, inner, kron
from flatweave.frontend.numerics.statistics import (
    average,
    corrcoef,
    cov,
    median,
    percentile,
    ptp,
    quantile,
)

deg2rad, rad2deg = radians, degrees

__all__ = [
    "allclose", "append", "argwhere", "atleast_1d", "atleast_2d", "average", "bincount",
    "column_stack", "convolve", "corrcoef", "correlate", "cov", "deg2rad", "degrees", "diag",
    "digitize", "einsum", "flatnonzero", "fliplr", "flipud", "fmax", "fmin", "fmod", "gradient",
    "heaviside", "hstack", "inner", "interp", "intersect1d", "isclose", "kron", "median",
    "nan_to_num", "nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmean",
    "nanmedian", "nanmin", "nanpercentile", "nanprod", "nanquantile", "nanstd", "nansum", "nanvar",
    "pad", "percentile", "polyval", "ptp", "quantile", "rad2deg", "radians", "ravel", "rot90",
    "select", "setdiff1d", "setxor1d", "sinc", "split", "swapaxes", "trapezoid", "union1d",
    "unique", "vstack",
]  # fmt: skip
