"""Inner products of vectors and products of matrices.

    dot(a, b)     generate [n, m] (i j => reduce add 0 (generate [l] (k => mul a[i, k] b[k, j])))
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flatweave.frontend.arrays.axes import reduced_by
from flatweave.frontend.arrays.products_at_once import by_numpy, of_tensors
from flatweave.frontend.call.operation import operation
from flatweave.frontend.elements.broadcast import generated, read, zipped
from flatweave.frontend.elements.scalars import apply
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.tracers import as_tracer
from flatweave.frontend.values.array import Tracer
from flatweave.terms.syntax import Atom, constant


@operation(host=by_numpy(np.dot, of_tensors))
def dot(x: Any, y: Any) -> Any:
    """The inner product of vectors; of matrices, and of a matrix with a vector, their product; of
    arrays of more axes the sums over the last axis of `x` and the last but one of `y`.

    Scalars multiply. Raises ShapeError when the extents that meet differ.

    Types: `x: t[.., k], y: t[.., k, n] -> t[.., .., n]`; of a vector y `t[..]`.

        >>> fw.dot([1, 2, 3], [4, 5, 6])
        Array(32, dtype=int64)
    """
    a, b = as_tracer(x, "the left of dot"), as_tracer(y, "the right of dot")
    if not a.ndim or not b.ndim:
        return zipped(lambda v, w: apply("mul", v, w), [a, b], "dot")[0]
    meets = max(b.ndim - 2, 0)  # this axis of b
    inner = extents.same(
        a.extents[-1],
        b.extents[meets],
        "dot needs extents that meet to be equal, got {0} and {1}.",
        [extents.origin_line(a, "left", "{0}", -1), extents.origin_line(b, "right", "{1}", meets)],
        "Transpose one of them with .T, or cut both to one length.",
    )

    def one(*at: Atom) -> Tracer:
        left, right = at[: a.ndim - 1], at[a.ndim - 1 :]
        outer, column = right[:meets], right[meets:]
        products = generated(
            (inner,), lambda k: apply("mul", read(a, (*left, k)), read(b, (*outer, k, *column)))
        )[0]
        ne = constant(0, products.element)
        return reduced_by("add", ne, products)

    rest = b.extents[:meets] + b.extents[meets + 1 :]
    return generated((*a.extents[:-1], *rest), one)[0]
