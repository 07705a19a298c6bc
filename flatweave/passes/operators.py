"""What an operator's body tells: whether its operands commute, and whether it is exact."""

from __future__ import annotations

from flatweave.base.dtypes import DType
from flatweave.scalar.ops import TABLE
from flatweave.terms.control import Apply
from flatweave.terms.syntax import Lambda


def component_functions(fn: Lambda) -> list[str] | None:
    """The scalar function of each component when `fn` combines its components one by one."""
    half = len(fn.results)
    made = {let.vars[0]: let.op for let in fn.lets if let.vars}
    names = []
    for k, result in enumerate(fn.results):
        op = made.get(result)  # type: ignore[arg-type]
        if not isinstance(op, Apply) or set(op.args) != {fn.params[k], fn.params[half + k]}:
            return None
        names.append(op.fn)
    return names


def is_commutative(fn: Lambda) -> bool:
    """Whether elements may be combined in another order than the program's."""
    names = component_functions(fn)
    return names is not None and all(TABLE[name].commutative for name in names)


def is_exact(fn: Lambda) -> bool:
    """Whether any grouping gives the same bits."""
    names = component_functions(fn)
    if names is None or not is_commutative(fn):
        return False
    rounding = ("add", "mul", "minimum", "maximum")  # of equal zeros, extremes keep the second
    types = [result.type for result in fn.results]
    return not any(
        name in rounding and isinstance(type_, DType) and type_.is_float
        for name, type_ in zip(names, types, strict=True)
    )
