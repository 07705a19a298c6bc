"""Multiples of the golden ratio spread numbers that lie close together over all of a word."""

from __future__ import annotations

from flatweave.base.dtypes import u64
from flatweave.terms.build import Builder
from flatweave.terms.syntax import Atom, Const

GOLDEN = 0x9E3779B97F4A7C15
"""2^64 over the golden ratio: multiples of neighbours lie far apart, and are spread evenly."""


def spread(b: Builder, number: Atom) -> Atom:
    """A u64 times the golden ratio; its upper bits are a hash (Knuth, volume 3, section 6.4)."""
    return b.mul(number, Const(GOLDEN, u64))
