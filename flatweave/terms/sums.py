"""Sums of integers: terms, how often each is added, and a constant.

    2 i - n + 3          terms {i: 2, n: -1}, more 3

Integers that wrap do so alike on both sides of a law of sums: it holds modulo 2^64.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Generic, TypeVar

Term = TypeVar("Term", bound=Hashable)


class Sum(Generic[Term]):
    """Terms, how often each is added, and a constant; equal sums have the same."""

    __slots__ = ("_key", "more", "terms")

    def __init__(self, terms: Mapping[Term, int], more: int = 0) -> None:
        self.terms = {term: count for term, count in terms.items() if count}
        self.more = more
        self._key: tuple[object, ...] | None = None

    def plus(self, other: Sum[Term], times: int = 1) -> Sum[Term]:
        """This sum and a multiple of another."""
        terms = self.terms
        if other.terms:
            terms = dict(terms)
            for term, count in other.terms.items():
                if total := terms.get(term, 0) + times * count:
                    terms[term] = total
                else:
                    terms.pop(term, None)
        found: Sum[Term] = Sum({}, self.more + times * other.more)
        found.terms = terms
        return found

    @property
    def key(self) -> tuple[object, ...]:
        """What two equal sums have in common."""
        if self._key is None:
            self._key = (frozenset(self.terms.items()), self.more)
        return self._key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sum) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)
