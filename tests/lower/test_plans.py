"""Plans: what is chosen for a sweep, read without emitting anything; and that emission obeys."""

from functools import cache

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.errors import CompilerBug
from flatweave.base.records import replace
from flatweave.base.schedule import CHOSEN, PERMUTES, Schedule, schedule_of
from flatweave.lower.machine import CPU_AVX512, CUDA, LONG_ROW, OPENCL, ROW_OF_READS, cpu
from flatweave.lower.program import lower
from flatweave.lower.scatter.choose import VARIANTS
from flatweave.lower.scatter.plans import plan_of
from flatweave.lower.schedule.contraction import first_long
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.lower.schedule.plan import (
    Carry,
    Level,
    ScatterChoice,
    SweepPlan,
    When,
    parse_plans,
    print_plans,
)
from flatweave.lower.schedule.steps import (
    ALWAYS,
    Along,
    Axis,
    Bind,
    Cache,
    Guard,
    How,
    Memory,
    RFactor,
    Rows,
    Stream,
    Tail,
    Vectorize,
    Version,
)
from flatweave.lower.schedule.verify import verify_plan
from flatweave.ops import Sweep
from flatweave.terms.traverse import walk_lets

XS = np.arange(100.0)
IS = np.arange(100) % 7
FLAGS = IS == 0
ROWS = fw.ragged(np.arange(100.0), np.array([0, 30, 30, 100]))
MATRIX = np.ones((20, 5))


def affine(a, b):
    """Composition of x -> m x + c: associative, and the order matters."""
    return a[0] * b[0], a[1] * b[0] + b[1]


def distances(own, other):
    """For each element the sum of its distances to another row's."""
    return fw.map(lambda x: fw.sum(fw.abs(other - x)), own)


PROGRAMS = {
    "map": (lambda xs: xs * 2, XS),
    "sum": (lambda xs: fw.sum(xs), XS),
    "reduce_in_order": (lambda xs: fw.reduce(affine, (1.0, 0.0), (xs, xs)), XS),
    "scan": (lambda xs: fw.scan(fw.add, 0.0, xs), XS),
    "filter": (lambda xs: fw.filter(lambda x: x > 3, xs), XS),
    "filter_expensive": (lambda xs: fw.filter(lambda x: fw.sin(fw.exp(x)) > 0, xs), XS),
    "row_sums": (lambda m: fw.map(fw.sum, m), MATRIX),
    "transpose": (lambda m: fw.transpose(m) * 1.0, MATRIX),
    "ragged_sums": (lambda rows: fw.map(fw.sum, rows), ROWS),
    "ragged_map": (lambda rows: fw.map(lambda row: row - fw.sum(row), rows), ROWS),
    "ragged_products": (lambda a, b: fw.map(lambda x, y: fw.sum(x * y), a, b), ROWS, ROWS),
    "ragged_pairs": (lambda a, b: fw.map(distances, a, b), ROWS, ROWS),
    "ragged_roots": (
        lambda rows: fw.map(lambda row: (row - fw.sum(row)) / fw.sqrt(fw.sum(row)), rows), ROWS,
    ),
    "ragged_gathers": (lambda r, xs: fw.map(lambda x: fw.sum(xs[x.astype(int)]), r), ROWS, XS),
    "histogram": (lambda i: fw.histogram(7, i), IS),
    "scatter": (lambda xs, i: fw.scatter(xs, i, xs), XS, IS),
    "permute": (lambda xs, i: fw.permute(fw.add, xs, i, xs), XS, IS),
    "searches": (lambda xs: fw.searchsorted(xs, xs), XS),
    "polynomials": (
        lambda xs: fw.map(lambda x: fw.fori_loop(0, 9, lambda k, s: s * x + xs[k], 0.0), xs), XS,
    ),
    "segmented_reduce": (lambda xs: fw.segmented_reduce(fw.add, 0.0, xs > 3, xs), XS),
    "segments_by_flags": (lambda s, xs: fw.segmented_reduce(fw.add, 0.0, s, xs), FLAGS, XS),
}


@cache
def swept(name):
    """The program as it is lowered, whatever the target."""
    fn, *args = PROGRAMS[name]
    return fw.jit(fn, target="cuda").stages(*args).executable.program


def sweeps(name):
    """The sweeps of a program."""
    return [let.op for let in walk_lets(swept(name).fn) if isinstance(let.op, Sweep)]


def plan(name, machine=CPU_AVX512, wishes=CHOSEN) -> SweepPlan:
    """The plan of the last sweep of a program."""
    return plan_of(SweepFacts(sweeps(name)[-1]), machine, wishes)


@pytest.mark.sampled
@pytest.mark.parametrize("machine", [CPU_AVX512, OPENCL, CUDA], ids=lambda m: m.name)
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_plan_keeps_the_rules_and_is_read_back(name, machine):
    """What is printed is the whole plan."""
    plans = lower(swept(name), machine).sweeps

    assert plans
    assert parse_plans(print_plans(plans)) == dict(plans)


def test_what_is_stored_streams_where_it_fills_the_caches():
    """Two kernels, and the size from which on the first one runs; a sum has one kernel."""
    streaming, plain = plan("map").versions

    assert streaming.guard == Guard(elements=CPU_AVX512.streaming_from // 8)
    assert streaming.steps == (*plain.steps, Stream())
    assert plain.guard == ALWAYS
    assert len(plan("sum").versions) == len(plan("map", CUDA).versions) == 1


@pytest.mark.parametrize("program, from_, bytes_", [
    (lambda z: fw.full(z.shape[0], 1.0), "filling", 8),
    (lambda z: fw.full(z.shape[0], 1j), "filling", 16),
    (lambda z: fw.conj(z), "streaming", 16),
])  # fmt: skip
def test_what_is_filled_streams_later(program, from_, bytes_):
    """A sweep that reads less than it stores; of a pair both parts are read."""
    f = fw.jit(program)
    text = f.stages(np.ones(4, complex)).text["plan"]

    least = getattr(CPU_AVX512, f"{from_}_from") // bytes_
    assert f"guard elements={least}" in text


def test_long_rows_have_kernels_of_their_own():
    """Rows one by one where they are long on average; a call compiles the version it runs."""
    rows, plain = plan("ragged_sums").versions
    narrow = plan("ragged_sums", cpu(256, 16)).versions[0]

    assert (rows.name, rows.rows.along, rows.guard.mean) == ("rows", Along.ROW, 3)
    assert narrow.guard == Guard(mean=1)
    assert plan("ragged_map").versions[0].guard.mean == LONG_ROW
    assert (plain.rows.along, plain.guard) == (Along.POSITIONS, ALWAYS)
    names = [version.name for version in plan("ragged_map").versions]
    assert names == ["streaming-rows", "fill", "plain"]
    assert len(plan("ragged_sums", CUDA).versions) == 1


def test_rows_are_read_along_where_positions_are_not():
    """The second operand of a product advances with the row; what is gathered does neither."""
    means = {
        "ragged_products": ROW_OF_READS, "ragged_gathers": LONG_ROW,
        "ragged_roots": first_long(CPU_AVX512),
    }  # fmt: skip
    for name, mean in means.items():
        rows = next(v for v in plan(name).versions if v.name == "rows")

        assert (rows.rows.along, rows.guard) == (Along.ROW, Guard(mean=mean))


def test_lanes_go_along_rows_of_loops():
    """Where they go along the loops elsewhere, too; the last step of a row is masked."""
    rows, *others = plan("ragged_pairs").versions

    assert (rows.rows.along, rows.guard) == (Along.ROW, Guard(mean=ROW_OF_READS))
    assert (rows.lanes.axis, rows.lanes.tail) == (Axis.SPACE, Tail.SHIFT_OR_MASK)
    assert others[-1].lanes.axis is Axis.FOLD
    assert not any(other.rows.along is Along.ROW for other in others)


def test_searches_have_many_lanes():
    """Each read of a search waits for the one before; other loops fill registers."""
    for machine in (cpu(128, 16), cpu(256, 16), CPU_AVX512):
        assert plan("searches", machine).plain.lanes.width == 32
        assert plan("polynomials", machine).plain.lanes.width < 32


def test_lanes_lie_along_memory():
    """Along positions, along the last axis, or along the fold of one element."""
    assert plan("map").plain.lanes.axis is Axis.SPACE
    assert plan("transpose").plain.lanes.axis is Axis.LAST
    assert plan("row_sums").plain.lanes.axis is Axis.FOLD
    assert plan("row_sums", CUDA).plain.lanes.axis is Axis.FOLD


def test_operators_that_do_not_commute_keep_their_order():
    """A lane has a contiguous run where tiles are transposed; else steps are combined in order."""
    assert plan("sum").plain.combines.hows == (How.LANEWISE,)
    assert plan("reduce_in_order").plain.combines.hows == (How.BLOCKED,)
    assert plan("reduce_in_order", CUDA).plain.combines.hows == (How.ORDERED,)


def test_scans_are_carried_as_the_machine_can():
    """A block waits for an earlier one only where that one is sure to run."""
    assert [level.carry for level in plan("scan").levels] == [Carry.LOOK_BACK]
    assert [level.carry for level in plan("scan", CUDA).levels] == [Carry.WORDS]
    assert [level.carry for level in plan("filter").levels] == [Carry.WORDS]
    assert [level.carry for level in plan("scan", OPENCL).levels] == [Carry.TWO_PASS]


def test_predicates_are_evaluated_once():
    """Where a block may wait for the one before, a warp at a time: not on a GPU."""
    assert plan("filter").plain.step(Cache) == Cache(Memory.SCRATCH)
    assert plan("filter_expensive").plain.step(Cache) == Cache(Memory.SCRATCH)
    assert plan("filter_expensive", CUDA).plain.step(Cache) is None


def test_closed_segments_are_counted():
    """Each block passes on how many segments it closes."""
    (level,) = plan("segmented_reduce").levels

    assert level.factors[0].hows == (How.COUNTED,)


def test_flags_are_counted_in_steps_that_fill_a_register():
    """They are bytes, next to values of eight bytes; lengths about steps and above a block."""
    (level,) = plan("segments_by_flags").levels
    assert level.factors == (RFactor((How.COUNTED,), 64),)

    draw = np.random.default_rng(3)
    by_flags = fw.jit(lambda s, xs: fw.segmented_reduce(fw.add, 0, s, xs), target="cpu")
    for size in (1, 2, 31, 32, 33, 63, 64, 65, 129, 9031, 9033, 40_001):
        starts, xs = draw.random(size) < 0.3, draw.integers(0, 9, size)
        starts[0] = True
        assert np.array_equal(by_flags(starts, xs), np.add.reduceat(xs, np.flatnonzero(starts)))


def test_ragged_sums_fold_rows_whose_heads_are_flagged():
    """Where a warp goes its own way."""
    assert plan("ragged_sums").plain.rows.folded
    assert plan("ragged_sums").plain.rows.flagged
    assert plan("ragged_sums", CUDA).plain.rows.folded
    assert not plan("ragged_sums", OPENCL).plain.rows.folded


def test_scattering_tries_what_pays():
    """The last way has no condition; a wish leaves one way."""
    assert [way.name for way in plan("histogram").scatter] == ["private", "partition", "owner"]
    assert [way.name for way in plan("permute").scatter] == ["private", "partition", "owner"]
    assert [way.name for way in plan("scatter").scatter] == ["partition", "owner"]
    assert [way.name for way in plan("histogram", CUDA).scatter] == ["shared-atomic"]
    assert [way.name for way in plan("permute", CUDA).scatter] == ["shared", "sorted"]
    in_any_order = Schedule(deterministic=False)
    assert [way.name for way in plan("permute", CUDA, in_any_order).scatter] == ["atomic"]
    wished = plan("histogram", wishes=Schedule(permute="cas"))
    assert [way.name for way in wished.scatter] == ["cas"]


def test_every_variant_of_scatter_is_known_by_its_name():
    """Users may ask for variants; then no other is tried."""
    names = [variant.name for variant in VARIANTS]

    assert len(set(names)) == len(names)
    assert [name for name in names if name not in PERMUTES] == ["strided"]
    assert set(PERMUTES) < set(names)
    for name in ("owner", "private", "sorted", "atomic", "cas"):
        assert plan("histogram", wishes=Schedule(permute=name)).scatter == (
            ScatterChoice(name, When.ALWAYS),
        )
    assert plan("histogram", wishes=Schedule(permute="partition")).scatter == (
        ScatterChoice("partition", When.FITS), ScatterChoice("owner", When.ALWAYS),
    )  # fmt: skip


def test_a_plan_that_names_no_variant_is_refused():
    """Where it is obeyed."""
    program = swept("histogram")
    ((name, chosen),) = [each for each in lower(program, CPU_AVX512).sweeps.items()
                         if each[1].scatter]  # fmt: skip
    wrong = replace(chosen, scatter=(ScatterChoice("sideways", When.ALWAYS),))

    with pytest.raises(CompilerBug, match="'sideways', which divides no scatter"):
        lower(program, CPU_AVX512, plans={name: wrong})


FORCED = {
    "store=plain": ("ragged_map", ["fill", "plain"]),
    "rows=rows": ("ragged_map", ["streaming-rows", "rows"]),
    "rows=positions": ("ragged_map", ["streaming", "plain"]),
    "store=plain,rows=rows": ("ragged_map", ["rows"]),
    "store=streaming,rows=positions": ("ragged_map", ["streaming"]),
    "store=streaming": ("map", ["streaming"]),
}


@pytest.mark.parametrize("wishes", FORCED)
def test_a_wish_leaves_the_variants_that_grant_it(wishes):
    """What it decides is no longer a condition."""
    name, wanted = FORCED[wishes]

    assert [v.name for v in plan(name, wishes=schedule_of(wishes)).versions] == wanted


def test_a_filter_is_evaluated_as_wished():
    """Whatever its body costs; a sweep with no such choice is as it was."""
    assert plan("filter", wishes=schedule_of("filter=once")).plain.step(Cache) is not None
    twice = plan("filter_expensive", wishes=schedule_of("filter=twice")).versions
    once = plan("filter_expensive").versions
    assert [v.steps for v in twice] == [
        tuple(step for step in once[-1].steps if not isinstance(step, Cache))
    ]
    assert plan("scan", wishes=schedule_of("filter=once,rows=rows")) == plan("scan")


PLAIN = Version("plain", steps=(Vectorize(Axis.SPACE, 32),))
WRONG = {
    "no word for its flags": {"versions": (PLAIN.but(Vectorize(Axis.SPACE, 128)),)},
    "not whole steps": {"bind": Bind(32, 1000)},
    "levels of scans": {"levels": ()},
    "and nothing else": {"levels": (Level(Carry.LOOK_BACK, (RFactor((How.ORDERED,), 8),)),)},
    "has a guard": {"versions": (replace(PLAIN, guard=Guard(7)),)},
    "no guard precedes the last": {"versions": (PLAIN, replace(PLAIN, name="b"))},
    "two versions have one name": {"versions": (replace(PLAIN, guard=Guard(9)), PLAIN)},
    "evaluates once only where": {"versions": (PLAIN.but(Cache(Memory.SCRATCH)),)},
    "rows that are not there": {"versions": (PLAIN.but(Rows(Along.ROW)),)},
    "which axis its lanes follow": {"versions": (Version("plain"),)},
    "two steps of one kind": {"versions": (replace(PLAIN, steps=PLAIN.steps * 2),)},
}


@pytest.mark.parametrize("said", WRONG)
def test_a_plan_that_breaks_a_rule_is_refused(said):
    """Each rule has a sentence."""
    facts = SweepFacts(sweeps("scan")[-1])
    wrong = replace(plan_of(facts, CPU_AVX512, CHOSEN), **WRONG[said])

    with pytest.raises(CompilerBug, match=said):
        verify_plan(wrong, facts, CPU_AVX512)


def test_blocks_wait_only_where_they_may():
    """A plan for a machine without forward progress cannot look back."""
    facts = SweepFacts(sweeps("scan")[-1])

    with pytest.raises(CompilerBug, match="must not wait"):
        verify_plan(plan_of(facts, CPU_AVX512, CHOSEN), facts, OPENCL)


def test_emission_obeys_a_given_plan():
    """A plan that was read back, with other blocks: each is as large as it says."""
    program = swept("map")
    ((name, chosen),) = lower(program, CPU_AVX512).sweeps.items()
    smaller = replace(chosen, bind=Bind(64, 64))
    lowered = lower(program, CPU_AVX512, plans=parse_plans(print_plans({name: smaller})))

    assert dict(lowered.sweeps) == {name: smaller}
    widths = {let.op.width for k in lowered.unit.complete().kernels for let in walk_lets(k.body)
              if let.op.name == "lanes"}  # fmt: skip
    assert widths == {1, chosen.plain.width}


@pytest.mark.parametrize("text", ["bind least=3", "sweep a\n    sinks x=1", "sweep a colour=red"])
def test_what_is_no_plan_is_not_read(text):
    """The message says what is not there."""
    with pytest.raises(CompilerBug):
        parse_plans(text)


NOTES = {
    "map": "results go through the caches, as there are fewer than 524,288",
    "ragged_sums": "rows are taken one by one, as they have ",
    "histogram": "each thread adds into a copy of the destination, since copies are small next to"
    " the elements",
    "sum": None,
}


@pytest.mark.parametrize("name", NOTES)
def test_notes_say_why_a_variant_ran(name):
    """In the user's words, with the line; nothing before a call, and where there is no choice."""
    fn, *args = PROGRAMS[name]
    function = fw.jit(fn, target="cpu")
    before = function.stages(*args).notes
    function(*args)
    said = [note for note in function.stages(*args).notes if note not in before]

    if NOTES[name] is None:
        assert not said
    else:
        assert any(NOTES[name] in note and "test_plans.py:" in note for note in said), said


def test_stages_show_the_plan():
    """`plan` is a stage like the others."""
    text = fw.jit(PROGRAMS["filter"][0]).stages(XS).text["plan"]

    assert "cache at=scratch" in text
    assert "version name=streaming" in text


def test_folds_that_read_across_rows_have_lanes_along_the_sweep():
    """One element of a column for all lanes, and not a gather down the column."""
    def counts(groups, m):
        return fw.generate((4, 5, 40), lambda i, j, s: fw.sum(fw.map(
            lambda g, row: fw.where(g == i, row[j] * s, 0.0), groups, m
        )))  # fmt: skip

    rng = np.random.default_rng(0)
    groups, m = rng.integers(0, 4, 300), rng.normal(size=(300, 5))
    found = fw.jit(counts)
    sums = np.array([[m[groups == i, j].sum() for j in range(5)] for i in range(4)])

    assert "axis=fold" not in found.stages(groups, m).text["plan"]
    wanted = sums[..., None] * np.arange(40)
    np.testing.assert_allclose(found(groups, m), wanted, rtol=1e-12, atol=1e-12)
