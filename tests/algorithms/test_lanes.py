"""One step of a segmented scan, in steps of one warp: the same prefixes as of any threads."""

import pytest

from flatweave.algorithms.lanes import segmented_scan_step
from flatweave.base.dtypes import bool_
from flatweave.kernel_ir.hierarchy import fold, store_each
from flatweave.kernel_ir.syntax import Lane, Lanes
from flatweave.kernel_passes.distribute import BlockShape
from flatweave.terms.build import index
from flatweave.terms.syntax import constant
from tests.algorithms.programs import AFFINE, MEANINGS, Case, arguments
from tests.kernel_ir.machines import on_cpu, simulated

SIZES = (0, 1, 8, 33, 100)


def _write(width, exclusive, branches):
    """Steps of a warp over all elements; lanes after the end have a false flag."""

    def write(b, xs, flags, ys, units):
        region = b.inner()

        def step(c, k, carry):
            base = c.mul(k, index(width))
            i = c.emit(Lane(base))[0] if width > 1 else base
            active = c.apply("lt", i, xs.extent)
            flag, *pair = c.choose(
                active,
                lambda d: (*flags.at(d, i), *xs.at(d, i)),
                lambda d: (constant(False, bool_), *AFFINE.neutral),
            )  # fmt: skip
            found, after = segmented_scan_step(
                c, AFFINE, carry, flag, tuple(pair), width, exclusive=exclusive, branches=branches
            )
            with c.when(active) as d:
                store_each(d, ys, i, found)
            return after

        steps = region.apply("floordiv", region.add(xs.extent, index(width - 1)), index(width))
        fold(region, index(0), steps, AFFINE.neutral, step)
        b.emit(Lanes(width, region.close([], [])))

    return write


@pytest.mark.sampled
@pytest.mark.parametrize("branches", [False, True])
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("width", [1, 8])
def test_prefixes_start_anew_at_flags(width, exclusive, branches):
    """With warps that may diverge and without, in the simulator and as machine code."""
    meaning = MEANINGS["segmented_exclusive" if exclusive else "segmented_scan"][0]
    made = Case(_write(width, exclusive, branches), meaning)
    shape = BlockShape(1, width, simt=False)
    for n in SIZES:
        made.agree(simulated(made.unit(0), arguments(n)), arguments(n))
        results = [(dtype, n + 1) for dtype in made.outs]
        made.agree(on_cpu(made.unit(0), shape, arguments(n), results), arguments(n))
