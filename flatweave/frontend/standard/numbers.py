"""Functions of numbers that are compositions, under the standard's names."""

from __future__ import annotations

from typing import Any

from flatweave.base.errors import DTypeError
from flatweave.base.source import user_location
from flatweave.frontend.call.operation import operation
from flatweave.frontend.elements.elementwise import abs, copysign, exp, log1p, maximum
from flatweave.frontend.elements.scalars import where
from flatweave.frontend.trace.tracers import as_tracer
from flatweave.frontend.values.array import Tracer, describe

LOG_2 = 0.6931471805599453


@operation(elementwise=True)
def logaddexp(x: Any, y: Any) -> Any:
    """`log(exp(x) + exp(y))` without overflow; element by element, broadcast."""
    a: Any = as_tracer(x, "an operand of logaddexp")
    b: Any = as_tracer(y, "an operand of logaddexp")
    apart = a - b
    most = maximum(a, b)
    # of two infinities of one sign the difference is NaN
    return where(a == b, most + LOG_2, most + log1p(exp(-abs(apart))))


@operation(elementwise=True)
def signbit(x: Any) -> Any:
    """Whether the sign is minus, that of -0.0 and NaN, too; element by element."""
    array: Any = _floats(x, "signbit")
    return copysign(1, array) < 0


def _floats(x: Any, who: str) -> Tracer:
    array = as_tracer(x, f"x of {who}")
    if not array.element.is_float:
        raise DTypeError(
            f"{who} is of floats, got {describe(array)}.",
            where=user_location(), remedy="Compare with 0: x < 0.",
        )  # fmt: skip
    return array


@operation(elementwise=True)
def real(x: Any) -> Any:
    """The real part: of real numbers they themselves."""
    return as_tracer(x, "x of real")


@operation(elementwise=True)
def conj(x: Any) -> Any:
    """The complex conjugate: of real numbers they themselves."""
    return as_tracer(x, "x of conj")
