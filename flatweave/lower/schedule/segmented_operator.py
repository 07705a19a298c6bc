"""Segmented operators on pairs: what a chain carries of a prefix that starts anew at flags.

    (f, a) (g, b) = (f or g, if g then b else a fn b)

Associative where `fn` is (Blelloch 1990); the flag says whether a segment starts in between.
"""

from __future__ import annotations

from flatweave.base.dtypes import bool_
from flatweave.terms.control import Apply
from flatweave.terms.syntax import Lambda, Let, Var


def segmented_operator(fn: Lambda) -> Lambda:
    """The operator on (flag, element) that forgets what came before a flag."""
    half = len(fn.results)
    f, g, either = Var("f", bool_), Var("g", bool_), Var("h", bool_)
    behind = fn.params[half:]
    results = tuple(Var("c", param.type) for param in behind)
    lets = [Let((either,), Apply("or", (f, g)))]
    for result, alone, both in zip(results, behind, fn.results, strict=True):
        lets.append(Let((result,), Apply("select", (g, alone, both))))
    return Lambda(
        (f, *fn.params[:half], g, *behind), (*fn.lets, *lets), (either, *results)
    )
