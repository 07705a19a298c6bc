"""Calls of NumPy's functions that the array API standard lacks: name -> arguments and options."""

import numpy as np

RNG = np.random.default_rng(7)
NAN, INF = np.nan, np.inf
M = RNG.normal(size=(4, 5))
CUBE = np.round(RNG.normal(size=(3, 4, 5)) * 10)
V = np.array([3, -1, 4, 1, -5, 9, 2])
ONE = np.array([2.5])
HOLES = np.where(RNG.random((4, 6)) < 0.3, NAN, RNG.normal(size=(4, 6)))
HOLES[0], HOLES[:, 0] = 1.5, -2.0
HOLES[1, 1:] = NAN
SPECIAL = np.array([NAN, 1.0, -2.0, 0.0, INF, -INF, 3.5])
LABELS = np.array([3, 0, 3, 8, 1, 1, 3])
PAIRS = np.array([complex(a, b) for a in SPECIAL[3:6] for b in SPECIAL[:2]])
BYTES = np.uint8([200, 100, 3])
HALF = np.float16([2, 1, 2])
Z = np.array([1 + 2j, -1j, 1 - 1j])
XP, FP = np.array([-1.0, 0.0, 0.5, 2.0]), np.array([3.0, -1.0, 7.0, 0.5])
WHOLE = RNG.integers(-5, 6, (3, 4))
MORE = RNG.integers(-5, 6, (4, 2))
STACK = RNG.integers(-5, 6, (2, 3, 4))
AXES = ({}, {"axis": 0}, {"axis": (0, 2), "keepdims": True}, {"axis": -1})
EVERYWHERE = [((HOLES,), {}), ((HOLES,), {"axis": 0}), ((HOLES,), {"axis": 1, "keepdims": True}),
              ((V,), {})]  # fmt: skip
PLACES = [((HOLES,), {}), ((HOLES,), {"axis": 1}), ((V,), {})]


def of_one(*arrays):
    """Calls with one array."""
    return [((array,), {}) for array in arrays]


def of_two(*pairs):
    """Calls with two arrays."""
    return [(pair, {}) for pair in pairs]


PARTS = (0.3, np.array([0.0, 0.25, 1.0]))
METHODS = ("lower", "higher", "nearest", "midpoint", "hazen", "weibull", "median_unbiased",
           "normal_unbiased", "interpolated_inverted_cdf")  # fmt: skip
SIGNALS = [((a, v), {"mode": mode})
           for a, v in ((V, V[:3]), (V[:2], V), (V[:4], V[:4]), (M[0], M[1][:2]), (V, Z))
           for mode in ("full", "same", "valid")]  # fmt: skip
SETS = of_two((V, LABELS), (LABELS, V), (LABELS, LABELS[:0]), (SPECIAL, SPECIAL[:3]),
              (SPECIAL[:1], SPECIAL[:1]), (SPECIAL[:1], SPECIAL[:0]), (HALF, HALF + 1), (Z, Z[1:]))
WIDTHS = (0, 2, (1, 3), 11)

CASES = {
    "median": [((CUBE,), options) for options in AXES] + of_one(V, ONE, SPECIAL),
    "quantile": [((CUBE, q), options) for q in PARTS for options in AXES]
    + [((V, PARTS[1]), {"method": method}) for method in METHODS]
    + [((SPECIAL, 0.5), {}), ((V, 1), {}), ((V, 1), {"method": "weibull"}),
       ((np.float32(M), np.array([0, 1])), {"axis": 0})],
    "percentile": [((CUBE, 30), {"axis": 1}), ((V, np.array([10.0, 90.0])), {})],
    "ptp": [((CUBE,), options) for options in AXES],
    "average": [((M,), {}), ((M,), {"axis": 1}), ((M,), {"axis": 0, "weights": V[2:6] * 1.0}),
                ((M,), {"weights": M * M}), ((np.array([1.0, INF]),), {"weights": ONE[[0, 0]]}),
                ((BYTES,), {"weights": BYTES}), ((V,), {"weights": V > 0}),
                ((BYTES,), {"weights": np.float32([1, 2, 4])}),
                ((np.float32([1, 2]),), {"weights": np.float32([3, 4])}),
                ((Z,), {"weights": BYTES}), ((CUBE[:, 0, 0],), {"weights": Z}),
                ((CUBE,), {"axis": (0, 1), "weights": CUBE[:, :, 0] ** 2 + 1}),
                ((CUBE,), {"axis": (1, 0), "weights": CUBE[:, :, 0].T ** 2 + 1})],
    "cov": [((M,), {}), ((M,), {"rowvar": False}), ((M, M[::-1]), {"bias": True}), ((V,), {})],
    "corrcoef": [((M,), {}), ((V,), {}), ((M,), {"rowvar": False})],
    **dict.fromkeys(("nansum", "nanprod", "nanmean"), [*EVERYWHERE, ((HOLES + 1j,), {"axis": 0})]),
    **dict.fromkeys(("nanmin", "nanmax"), EVERYWHERE),
    **dict.fromkeys(("nanvar", "nanstd"),
                    [*EVERYWHERE, *[((HOLES,), {"axis": 0, "ddof": k}) for k in (1, 3, 4)],
                     ((HOLES * 1j + V[:6],), {})]),
    **dict.fromkeys(("nancumsum", "nancumprod"), [*PLACES, ((HOLES + 1j,), {"axis": 1})]),
    **dict.fromkeys(("nanargmin", "nanargmax"), PLACES),
    "nanmedian": EVERYWHERE,
    "nanquantile": [((HOLES, PARTS[1]), {"axis": 1}), ((HOLES, 0.7), {}), ((V, 0.7), {})],
    "nanpercentile": [((HOLES, 70), {"axis": 0})],
    "nan_to_num": [((SPECIAL,), {}), ((SPECIAL.astype(np.float32),), {"nan": 7, "posinf": 1}),
                   ((SPECIAL.astype(np.float16),), {}), ((PAIRS,), {}),
                   ((V,), {})],
    "unique": of_one(V, LABELS, WHOLE, SPECIAL, V[:0], HALF, Z)
    + [((LABELS,), {"return_index": True, "return_inverse": True, "return_counts": True})],
    "union1d": SETS, "intersect1d": SETS, "setdiff1d": SETS, "setxor1d": SETS,
    "isin": [*SETS, ((SPECIAL, SPECIAL[3:]), {"invert": True}), ((WHOLE, MORE), {}), ((V, 3), {})],
    **dict.fromkeys(("unique_all", "unique_counts", "unique_inverse"),
                    of_one(V, WHOLE, SPECIAL, V[:0], HALF, Z)),
    "unique_values": of_one(V[:0], ONE, V[3:4]),  # NumPy's do not ascend
    "bincount": [((LABELS,), {}), ((LABELS,), {"weights": V * 0.5}), ((LABELS[:0],), {}),
                 ((LABELS.astype(np.uint8),), {"minlength": 12}), ((V > 0,), {}),
                 ((LABELS,), {"weights": np.uint8([200] * 7)}), ((LABELS,), {"weights": V > 0}),
                 ((LABELS,), {"weights": np.float32([0.1] * 7)})],
    "digitize": [((V, edges), {"right": right}) for right in (False, True)
                 for edges in (np.array([-1.0, 2.0, 4.0]), np.array([4.0, 2.0, -1.0]),
                               np.array([]), np.array([3.0]), np.array([2.0, 2.0, 4.0]))]
    + [((SPECIAL, np.array([4.0, 0.0, -1.0])), {}), ((SPECIAL, np.array([2.0, 2.0])), {})],
    "argwhere": of_one(WHOLE, V - 3, Z, V[0], V[0] - 3), "flatnonzero": of_one(WHOLE, V - 3, Z),
    "interp": [((np.concatenate([SPECIAL, XP, [0.3, -9.0]]), XP, FP), options)
               for options in ({}, {"left": -7.0, "right": 5.0})]
    + [((0.25, XP, FP), {}), ((M, XP, FP), {}), ((V, ONE, ONE), {}),
       ((M, np.array([0.0, 0.0, 1.0]), XP[:3]), {}), ((V, XP[:3], Z), {}),
       ((V, XP[:3], Z), {"left": 2j, "right": 1.5})],
    "gradient": [((M,), {}), ((M, 2.0, 0.5), {}), ((M,), {"axis": 1, "edge_order": 2}), ((V,), {}),
                 ((M, XP), {"axis": 0}), ((M, XP), {"axis": 0, "edge_order": 2}),
                 ((M,), {"axis": (1, 0)}), ((M, 2.0, XP), {"axis": (1, 0)}),
                 ((M[0], np.uint8([250, 200, 100, 7, 3])), {"edge_order": 2}),
                 ((M[0], np.int8([-120, -100, 0, 100, 127])), {}), ((M, np.uint8(200)), {}),
                 ((np.float32(M), XP), {"axis": 0}), ((Z,), {"edge_order": 2}),
                 ((BYTES[::-1].copy(),), {})],
    "trapezoid": [((M,), {}), ((M,), {"dx": 0.5, "axis": 0}), ((M, XP), {"axis": 0}),
                  ((M, M * 2), {}), ((V,), {}), ((Z,), {}), ((Z, V[:3]), {})],
    "convolve": SIGNALS, "correlate": SIGNALS,
    "polyval": of_two((FP, M), (V, V), (np.array([1.5, 2.0]), V), (V[:0], V), (Z, 2.0), (V, Z),
                      (BYTES, 2), (np.float32(FP), 0.5)),
    "einsum": [((names, *arrays), {}) for names, *arrays in (
        ("ij,jk->ik", WHOLE, MORE), ("ij,jk", WHOLE, MORE), ("ii->i", WHOLE[:, :3]),
        ("ii", WHOLE[:, :3]), ("ij->ji", WHOLE), ("ij->", WHOLE), ("i,j->ij", V, V), ("i,i", V, V),
        ("bij,jk->bik", STACK, MORE), ("bij,bkj->bik", STACK, STACK), ("bij,bij->b", STACK, STACK),
        ("...ij,jk->...ik", STACK, MORE), ("...j,...j", STACK, V[:4]), ("ijk->kij", STACK),
        ("ij,kj,lj->ikl", WHOLE, MORE.T, WHOLE), ("ij,jk->k", WHOLE, MORE),
        ("bi,bi,bi->b", WHOLE, WHOLE, WHOLE), ("ij , ij -> ij", WHOLE, WHOLE),
        ("ij,jk->ik", WHOLE[:, :1], MORE), ("i,i->i", ONE, V), ("i,i", V, ONE),
        ("bij,bjk", STACK[:1], CUBE[:2, :, :3]), ("...i,...i->...", STACK, WHOLE[:1]),
        ("i,i", BYTES, BYTES), ("i->", BYTES), ("i,i", V > 0, V > 0),
    )] + [(("ij,jk", WHOLE, MORE), {"optimize": how}) for how in (True, "greedy")],
    "inner": of_two((V, V), (BYTES, 2), (0.5, np.float32(V)), (WHOLE, STACK), (M, 2.0)),
    "kron": of_two((WHOLE, MORE), (2, BYTES), (V, WHOLE), (WHOLE, V), (V, V)),
    "ravel": of_one(M, V, M + 1j), "atleast_1d": of_one(V, M) + [((V, 3, M), {})],
    "atleast_2d": of_one(V, M, M + 1j) + [((V, 3), {})],
    "swapaxes": [((CUBE, 0, 2), {}), ((M + 1j, -1, 0), {})],
    "diag": [((V,), {"k": k}) for k in (-2, 0, 1)] + [((M,), {"k": k}) for k in (-1, 0, 3)]
    + [((V[:0],), {"k": k}) for k in (0, 2)] + of_one(HALF, np.float16(M), V[:3] + 1j),
    "append": [((V, V[:2]), {}), ((M, M[:1]), {"axis": 0}), ((M, 3), {}), ((V, 1j), {})],
    **dict.fromkeys(("hstack", "vstack", "column_stack"),
                    [(([V, V],), {}), (([M, M, M],), {}), (([M, M + 1j],), {})]),
    "split": [((V[:6], 3), {}), ((V, [2, 5]), {}), ((M, 2), {"axis": 0}),
              ((M, [1, 3]), {"axis": 1}), ((HALF, 3), {}), ((V + 1j, [2]), {})],
    "pad": [((array, width), {"mode": mode}) for array in (V, V[:1], M) for width in WIDTHS
            for mode in ("constant", "edge", "reflect", "symmetric", "wrap")]
    + [((M, ((1, 2), (0, 3))), {"constant_values": 7}), ((V[:0], 2), {}), ((HALF, 2), {}),
       ((HALF, 2), {"mode": "edge"}), ((V[:3] + 1j, 2), {"constant_values": 2j}),
       ((V[:3] + 1j, 2), {"mode": "wrap"})],
    "fliplr": of_one(M), "flipud": of_one(M, V, M + 1j),
    "rot90": [((M,), {"k": k}) for k in range(-1, 4)] + [((CUBE,), {"axes": (2, 0)})],
    "isclose": [((SPECIAL, SPECIAL[::-1].copy()), {}), ((SPECIAL, SPECIAL), {"equal_nan": True}),
                ((M, M + 1e-9), {}), ((M + 1j, M + 1.1j), {}), ((M > 0, M > 1), {}),
                ((np.uint32([2**32 - 1, 5]), np.uint32([2**32 - 2, 5])), {}),
                ((np.int32([-(2**31)]), np.int32([2**31 - 1])), {})],
    "allclose": [((M, M + 1e-9), {}), ((SPECIAL, SPECIAL), {}), ((M, M + 1), {"rtol": 5.0})],
    "select": [(([V > 2, V < -2], [V, -V], 5), {}), (([M > 0], [M]), {}),
               (([HALF > 0], [HALF]), {}), (([V > 2], [V + 1j]), {}),
               (([V > 2, V < 0], [np.float32(V), 1.5], 0), {}),
               (([HALF > 1, HALF < 3], [0, HALF], 1), {}),
               (([HALF > 1], [np.complex64(Z)], 2j), {}), (([V > 2, V < 0], [1j, 2]), {})],
    **dict.fromkeys(("fmin", "fmax"), of_two((SPECIAL, SPECIAL[::-1].copy()), (V, 2))),
    "fmod": of_two((V, LABELS + 1), (-V * 1.5, 2.0), (SPECIAL, 2.0), (SPECIAL, -INF),
                   (np.array([-(2**63), 5]), np.array([-1.5, 2.5])),
                   *[(np.array([low, low, low, high]), np.array([-1, high, low, low]))
                     for low, high in ((np.int8(-128), np.int8(127)), (-(2**63), 2**63 - 1))]),
    "heaviside": of_two((SPECIAL, 0.5), (V, 2), (np.float32(SPECIAL), 0.5), (V, 0.5),
                        (np.float32(V), np.int16([0, 1] * 3 + [2]))),
    "sinc": of_one(SPECIAL[:4], V, M.astype(np.float32), Z),
    **dict.fromkeys(("degrees", "radians", "deg2rad", "rad2deg"),
                    of_one(SPECIAL, V, np.int16(V), np.uint16(BYTES))),
    "logspace": [((0, 3, 4), {}), ((-1, 2, 5), {"base": 2.0, "endpoint": False}), ((0, 1, 0), {})],
    "indices": [(((2, 3),), {}), (((0, 2),), {}), (((4,),), {"dtype": "int32"})],
    "tri": [((3,), {}), ((2, 4), {"k": 1}), ((4, 2), {"k": -2, "dtype": "int16"}), ((0,), {})],
    "block": [(([[M, M], [M, M]],), {}), (([V, V],), {}), ((CUBE,), {})],
    "dstack": [(([M, M],), {}), (([V, LABELS],), {}), (([CUBE, CUBE],), {})],
    "outer": of_two((V, LABELS), (M, V), (V[:0], V), (V, Z)),
    "trace": [((M,), {}), ((WHOLE,), {"offset": 1}), ((CUBE,), {"axis1": 1, "axis2": 2}),
              ((np.int8(WHOLE),), {})],
    "divmod": of_two((V, LABELS + 1), (V * 1.5, 2.0), (V, -3)),
    "array_equal": [((V, V), {}), ((V, LABELS), {}), ((V, V[:3]), {}), ((SPECIAL, SPECIAL), {}),
                    ((SPECIAL, SPECIAL), {"equal_nan": True})],
    **dict.fromkeys(("gcd", "lcm"), of_two((V, LABELS), (V, 6), (V[:0], V[:0]),
                                           (np.int8(V), np.int16(LABELS)), (BYTES, BYTES[::-1]))),
    "polyfit": [((np.arange(9.0), np.sin(np.arange(9.0)), 3), {}), ((V * 1.0, LABELS, 1), {})],
}  # fmt: skip
