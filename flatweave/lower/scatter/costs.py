"""What an element costs each way of leaving the same bits, in tenths of a nanosecond.

    alone       one thread reads elements and writes them where they are computed
                  WRITE, and for each component that misses a cache
                  FIRST, + SECOND beyond the core's own, + SHARED beyond the one that cores share
    owners      LOOK more than to read: each thread looks at all; the writes are divided, and so is
                what their own caches hold
    partition   MOVE + MOVE_MORE for each component, divided: counted, laid down, and fetched again

The caches are the machine's. Where all places are equally likely, what misses them follows from
the bytes of the destination; a sample says which part of the elements that is true of
(`sample.py`). These ways leave the same bits, so that threads and data may choose among them; how
many private copies there are follows from sizes alone.

Measured on a Xeon (Sapphire Rapids; 2 MiB of second cache), f64, 2^22 elements, ns for each one:

    destination in MiB           0.5    2     4     8     16    32    128
    alone, equally likely        2.3   4.3   5.4   7.2   12.8  23.1  28.4
    alone, sorted                3.2   2.6   2.7   2.9   3.2   4.4   12.9
    owners, 2 threads            2.8   3.3   3.8   5.0   9.1   9.9   14.6
    partition, 1 thread          7.1   7.7   8.0   8.3   9.0  12.3   30.3
    partition, 2 threads         4.8   4.5   4.8   5.0   6.7   7.2   14.4
"""

from __future__ import annotations

from flatweave.base.records import record
from flatweave.lower.scatter.sample import WHOLE
from flatweave.lower.scatter.scattering import Scattering, bytes_of
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom

WRITE, FIRST, SECOND, SHARED = 13, 20, 22, 120
LOOK = 15
MOVE, MOVE_MORE = 38, 40
FEW = 1 << 14
"""Up to so many elements are not worth sorting."""


@record
class Costs:
    """Costs of all places, as if each had one element; of those that are `missed`, in full."""

    missed: Atom
    all: Atom
    looked: Atom
    threads: Atom
    moved: Atom

    @staticmethod
    def of(host: Builder, s: Scattering, far: Atom) -> Costs:
        """By sizes and threads, where `far` of WHOLE elements go where no other went near."""
        own, shared = _caches(s)
        components = len(s.dtypes)
        second = _beyond(host, s.extent, host.mul(s.threads, index(own)))
        third = _beyond(host, s.extent, index(shared))
        missed: Atom = index(0)
        for places, cost in ((s.extent, FIRST), (second, SECOND), (third, SHARED)):
            missed = host.add(missed, host.mul(places, index(cost * components)))
        looked = host.mul(s.threads, index(LOOK))
        moved = host.sub(index(MOVE + MOVE_MORE * components), looked)
        all_ = host.mul(s.extent, index(WHOLE))
        return Costs(host.mul(missed, far), all_, looked, s.threads, moved)

    def partition_pays(self, host: Builder) -> Atom:
        """Whether what misses costs more than to sort elements by tile."""
        return host.apply("gt", self.missed, host.mul(self.all, self.moved))

    def one_is_faster(self, host: Builder) -> Atom:
        """Whether one thread writes all elements sooner than all threads look at them: always, if
        there is but one."""
        written = host.add(host.mul(self.all, index(WRITE)), self.missed)
        others = host.mul(written, host.sub(self.threads, index(1)))
        return host.apply("lt", others, host.mul(self.all, self.looked))


def is_large(host: Builder, s: Scattering) -> Atom:
    """Whether a destination leaves a core's own cache, and its elements are many."""
    large = host.apply("gt", s.extent, index(_caches(s)[0]))
    return host.apply("and", large, host.apply("gt", s.total, index(FEW)))


def _caches(s: Scattering) -> tuple[int, int]:
    """How many places a core's own cache holds, and the one that all share."""
    own, shared = (size // bytes_of(s.dtypes) for size in s.lowering.machine.caches)
    return own, shared


def _beyond(host: Builder, extent: Atom, cached: Atom) -> Atom:
    """How many places lie outside of a cache that holds so many."""
    return host.apply("maximum", host.sub(extent, cached), index(0))
