"""The same programs on the processes of a Dask cluster."""

import math
import os
import signal
import sys
import threading

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from tests.cluster.programs import PROGRAMS, QUICK, agree

distributed = pytest.importorskip("distributed")
Cluster = pytest.importorskip("flatweave.cluster.dask_tasks").Cluster
OnDask = pytest.importorskip("flatweave.cluster.on_dask").OnDask


@pytest.fixture(scope="module")
def client():
    """Two processes, with one thread each; no dashboard."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.sampled
@pytest.mark.parametrize(
    "name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in PROGRAMS]
)
def test_values_are_those_of_one_machine(name, client):
    """Computed by whichever worker has time."""
    agree(name, OnDask(client), 19)


def test_what_is_large_is_cut_where_it_is(client, monkeypatch):
    """The indices that a chunk reads, the runs of a sort, copies of a histogram."""
    monkeypatch.setattr("flatweave.cluster.on_dask.REPLICATED", 0)
    monkeypatch.setattr("flatweave.cluster.on_dask.TASK_BYTES", 0)
    monkeypatch.setattr("flatweave.cluster.executor.AT_CLIENT", 0)
    for name in ("places of places", "sorted by key", "histogram", "three neighbours"):
        agree(name, OnDask(client), 19)


def test_many_parts_go_through_groups(client, monkeypatch):
    """Where that takes fewer tasks than a part for every two workers; with the same values."""
    place = OnDask(client)
    assert place.group(1000, 1000, 1 << 37) == 0  # for two workers
    monkeypatch.setattr(place, "_workers", lambda: ["worker"] * 1000)
    assert place.group(8, 8, 1 << 30) == 0
    assert place.group(4, 1000, 1 << 30) == 0  # as many tasks more between
    assert place.group(1000, 1000, 1 << 37) == 32
    monkeypatch.undo()
    monkeypatch.setattr(place, "group", lambda *_: 2)
    monkeypatch.setattr("flatweave.cluster.on_dask.REPLICATED", 0)
    for name in ("sorted by key", "scatter", "places of places"):
        agree(name, place, 11)


def test_parts_without_rows_are_no_tasks(client, monkeypatch):
    """In sorted data each chunk has one part; other results of a task are not sent."""
    place = OnDask(client)
    monkeypatch.setattr(place, "_workers", lambda: ["worker"] * 10)
    monkeypatch.setattr("flatweave.cluster.on_dask.TASK_BYTES", 100)
    asked = []
    monkeypatch.setattr(place, "_parts", lambda parts, _: asked.extend(parts) or parts)
    groups, ends = ["a", "b", "c"], [[0, 9, 9, 90], [0, 0, 90, 90], [0, 1, 2, 3]]
    whole = [(0, 9), (9, 90)], [(0, 90)], [(0, 3)]
    for apart in (False, True):
        found = place.cut(groups, ends, 8, apart)
        assert [[n for n, _ in mine] for mine in found] == [[9, 81], [90], [3]]
        rows = [[(a, b) for name, a, b in asked if name == each] for each in groups]
        assert rows == ([whole[0], [], []] if not apart else [*whole])
        asked.clear()


def test_results_stay_on_the_workers(client):
    """What goes on in chunks is never here; what is asked for alone is."""
    xs = fw.Chunked.cut(np.arange(1000), 300)
    with fw.on(client):
        kept = fw.jit(lambda x: x[x % 3 == 0])(xs)
        total = fw.jit(lambda x: fw.sum(x))(kept)

    asked, bring = [], OnDask.rows
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(OnDask, "rows", lambda place, x: asked.append(len(x)) or bring(place, x))
        assert np.array_equal(np.asarray(kept), np.arange(0, 1000, 3))

    assert asked == [4]
    assert int(total) == sum(range(0, 1000, 3))
    assert type(kept.pieces[0]).__name__ == "Remote"
    assert kept.load(99, 101).tolist() == [297, 300]
    with fw.on(client):
        highest = fw.jit(lambda x: fw.scan(fw.maximum, 0, x))(kept.rechunk(70))
    assert np.array_equal(np.asarray(highest), np.arange(0, 1000, 3))


def test_an_error_names_the_line_and_the_chunk(client):
    """As on one machine."""
    f = fw.jit(lambda xs, idx: fw.map(lambda i: xs[i], idx))
    with fw.on(client), pytest.raises(fw.IndexOutOfBounds, match="index 77") as found:
        f(fw.Chunked.cut(np.arange(10), 4), fw.Chunked.cut(np.array([1, 2, 3, 77]), 2))

    assert "(first found at element 3)" in str(found.value)
    assert "in chunk 1, rows 2 to 3" in str(found.value)
    assert "xs[i]" in str(found.value)


def test_workers_try_operators_as_the_client_does(client):
    """Where the client's switches ask for it; what fails is said at its line."""
    xs = fw.Chunked.cut(np.arange(10), 5)
    f = fw.jit(lambda xs: fw.reduce(lambda x, y: x - 2 * y, 0, xs))
    refused = pytest.raises(fw.OperatorError, match="not associative")
    with fw.on(client), config.scoped(debug=True), refused as found:
        f(xs)

    assert "x - 2 * y" in str(found.value)
    f = fw.jit(lambda xs: fw.reduce(lambda x, y: x - 2 * y, 0, xs, check=False))
    with fw.on(client):
        expected = f(xs)
        with config.scoped(debug=True):
            assert f(xs) == expected


def test_functions_go_to_the_workers(client, monkeypatch):
    """Callbacks of any kind, and steps of libraries; another function of the same name is
    another one. Errors name the line that calls it."""
    squares = np.arange(1.0, 17).reshape(4, 2, 2) ** 2
    xs = fw.Chunked.cut(squares, 2)

    def called(f):
        kind = fw.ShapeDtypeStruct((2, 2), fw.f64)
        return fw.map(lambda m: fw.pure_callback(f, kind, m, vmap_method="sequential"), xs)

    def scaled(factor):  # as in a notebook, where a cell is run again
        exec(f"def f(m): return m * {factor}", names := {"__name__": "__main__"})
        monkeypatch.setattr(sys.modules["__main__"], "f", names["f"], raising=False)
        return names["f"]

    with fw.on(client):
        for mine, numpy in ((fw.linalg.inv, np.linalg.inv), (fw.fft.fft, np.fft.fft)):
            assert np.allclose(np.asarray(mine(xs)), numpy(squares))
        for f in (np.negative, lambda m: m + 7, scaled(2), scaled(3)):
            assert np.array_equal(np.asarray(called(f)), f(squares)), f
        with pytest.raises(fw.ShapeError, match="test_dask.py.*pure_callback"):
            np.asarray(called(the_wrong_shape))
        with pytest.raises(ZeroDivisionError) as raised:
            np.asarray(called(lambda m: 1 // 0))
        lock = threading.Lock()
        with pytest.raises(fw.ArgumentError, match="cannot be sent to the workers"):
            np.asarray(called(lambda m: m if lock else -m))
    assert "test_dask.py" in raised.value.__notes__[0]


def the_wrong_shape(m):
    """Gives another shape than is declared."""
    return m[0]


def test_files_are_read_by_the_workers(client, tmp_path):
    """Two columns of the same rows; nothing of them is read here."""
    np.save(tmp_path / "a.npy", np.arange(50))
    np.save(tmp_path / "b.npy", np.arange(50, 80))
    xs = fw.Chunked.open(tmp_path, 30)
    with fw.on(client):
        total = fw.jit(lambda x, y: fw.sum(x * y))(xs, xs)
        os.unlink(tmp_path / "b.npy")
        with pytest.raises(FileNotFoundError, match=r"b\.npy"):
            fw.jit(lambda x: fw.sum(x * 2))(xs)

    assert int(total) == sum(k * k for k in range(80))


def test_nulls_that_workers_find_name_the_line(client):
    """The user's, as on one machine: a worker has none."""
    array, delayed = pytest.importorskip("pyarrow").array, pytest.importorskip("dask").delayed
    xs = fw.Chunked.from_dask([delayed(array)([1.0, 2.0]), delayed(array)([None, 3.0])])
    with fw.on(client), pytest.raises(fw.ArgumentError, match=r"1 null[^$]*fw\.sum\(xs \* 2\)"):
        print(fw.sum(xs * 2))


def test_collections_stay_on_the_workers(client):
    """Blocks of unknown lengths, columns, futures; what comes back is an array of Dask's."""
    arrays = pytest.importorskip("dask.array")
    blocks = arrays.arange(100, chunks=30)
    parts = [client.submit(np.arange, k, pure=False) for k in (3, 0, 4)]
    with fw.on(client):
        kept = fw.Chunked.from_dask(blocks[blocks % 7 == 0])
        squares = fw.jit(lambda x: x * x)(kept)
        total = fw.jit(lambda x: fw.sum(x))(fw.Chunked.from_dask(parts))

    assert type(squares.pieces[0]).__name__ == "Remote"
    assert np.array_equal(squares.to_dask().compute(), np.arange(0, 100, 7) ** 2)
    assert int(total) == 9


def test_collections_are_computed_by_the_workers(client):
    """As they are given to a function: nothing but the result comes to this process."""
    arrays = pytest.importorskip("dask.array")
    blocks = arrays.map_blocks(
        lambda: np.full(5, os.getpid(), np.int64), chunks=((5, 5, 5),), dtype=np.int64
    )
    with fw.on(client):
        workers = set(np.asarray(fw.jit(lambda x: x)(blocks)).tolist())
        total = fw.sum(arrays.arange(1000, chunks=100) * 2)
        wrong = arrays.from_delayed(arrays.arange(3).to_delayed()[0], (5,), np.int64)
        with pytest.raises(fw.ArgumentError, match=r"has 3 rows, .* says 5\."):
            np.asarray(fw.map(lambda x: x + 1, wrong))

    assert os.getpid() not in workers and len(workers) <= 2
    assert int(total) == 999_000


def test_what_workers_run_is_said(client):
    """Their kernels' times are the dashboard's; how many chunks a step had is known here."""
    xs, f = fw.Chunked.cut(np.arange(100.0), 30), fw.jit(lambda x: fw.sum(x * 2))
    with fw.on(client):
        with fw.profile() as profile:
            f(xs)
        said = str(fw.explain(f, xs))

    for text in (str(profile), said):
        assert "_0: 4 chunks on workers of a cluster, whose times Dask's dashboard shows" in text
    assert "reduces to a value" in said and "did not run" not in said


def test_workers_write_what_they_have(client, tmp_path):
    """Into one file, and what has not been computed on the cluster as well."""
    with fw.on(client):
        fw.jit(lambda x: x[x % 3 == 0])(fw.Chunked.cut(np.arange(100), 30)).save(
            tmp_path / "kept.npy"
        )
        fw.Chunked.cut(np.arange(10.0), 4).save(tmp_path / "given.npy")

    assert np.array_equal(np.load(tmp_path / "kept.npy"), np.arange(0, 100, 3))
    assert np.array_equal(np.load(tmp_path / "given.npy"), np.arange(10.0))


def test_workers_count_read_and_write_lists(client, tmp_path):
    """Rows of different lengths in files; selected rows, and results computed from them."""
    pq = pytest.importorskip("pyarrow.parquet")
    texts = ["word " * (k % 5) + str(k) for k in range(40)]
    table = __import__("pyarrow").table({"text": texts})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=7)
    with fw.on(client):
        rows = fw.Chunked.open(tmp_path / "t.parquet", 7, column="text")
        kept = fw.jit(lambda rows: rows[rows.lengths > 9])(rows)
        first = fw.jit(lambda rows: fw.map(lambda row: row[0], rows))(kept)
        kept.save(tmp_path / "kept.parquet", column="text", beside={"first": first})

    wanted = [list(text.encode()) for text in texts if len(text) > 9]
    found = pq.read_table(tmp_path / "kept.parquet").to_pydict()
    assert found == {"text": wanted, "first": [row[0] for row in wanted]}


def test_an_error_of_a_step_before_names_its_own_line_and_chunk(client):
    """The client waits for what a later step makes of it."""

    def f(xs, places):
        squares = fw.map(lambda i: xs[i] * xs[i], places)
        return fw.sum(squares[1:] * squares[:-1])

    with fw.on(client), pytest.raises(fw.IndexOutOfBounds, match="index 77") as found:
        fw.jit(f)(fw.Chunked.cut(np.arange(10), 4), fw.Chunked.cut(np.array([1, 2, 3, 4, 77]), 2))

    assert "(first found at element 4)" in str(found.value)
    assert "in chunk 2, rows 4 to 4" in str(found.value)
    assert "xs[i] * xs[i]" in str(found.value)


def test_workers_with_other_versions_are_refused(client, monkeypatch):
    """Before they understand something else."""
    monkeypatch.setattr("flatweave.cluster.dask_worker.VERSIONS", ("0.0.9", 0))
    with fw.on(client), pytest.raises(fw.DeviceError, match=r"this process has 0\.0\.9") as found:
        fw.jit(lambda x: fw.sum(x) + 1)(fw.Chunked.cut(np.arange(10), 4))

    assert f"a worker has flatweave {fw.__version__}, with programs of form" in str(found.value)


def test_a_worker_that_is_killed_costs_time_alone(client):
    """Its chunks are computed again, by other workers or by its successor."""
    xs = fw.Chunked.cut(np.arange(1000), 100)
    with fw.on(client):
        squares = fw.jit(lambda x: x * x)(xs)
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        total = fw.jit(lambda x: fw.sum(x))(squares)

    assert int(total) == sum(k * k for k in range(1000))


def test_bars_are_those_of_dask(client):
    """They only show: values are what they are."""
    xs = fw.Chunked.cut(np.arange(1000), 300)
    with fw.on(client, progress=True):
        assert int(fw.jit(lambda x: fw.sum(x * x))(xs)) == sum(k * k for k in range(1000))


def test_small_chunks_are_together_in_tasks(client, monkeypatch):
    """With the same values; an error names its own chunk, and what is in one task stays there."""
    sent, submitted = [], OnDask._submitted

    def counting(self, function, *columns, **named):
        sent.append((function.__name__, len(columns[0])))
        return submitted(self, function, *columns, **named)

    monkeypatch.setattr(OnDask, "_submitted", counting)
    monkeypatch.setattr(OnDask, "_cluster", lambda self: Cluster(2, math.inf))
    xs = np.arange(960) * 37 % 101
    with fw.on(client):
        kept = fw.jit(lambda x: x[x % 3 == 0])(fw.Chunked.cut(xs, 40))
        sums = fw.jit(lambda x: fw.cumsum(x))(kept)
        with pytest.raises(fw.IndexOutOfBounds) as found:
            fw.jit(lambda x: fw.map(lambda k: fw.iota(90)[k], x))(fw.Chunked.cut(xs, 40))
        assert np.array_equal(np.asarray(sums), np.cumsum(xs[xs % 3 == 0]))

    assert [count for name, count in sent[:30] if name in ("run", "some")] == [8] * 4
    first = int(np.argmax(xs >= 90))
    assert f"(first found at element {first})" in str(found.value)
    assert f"in chunk {first // 40}, rows {first // 40 * 40} to" in str(found.value)
