"""The table of README.md: python -m bench.readme bench/results/NAME.json writes it.

NAME.json is what `make bench` keeps (`python bench/run.py --save`), NAME.md the page next to it.
`SHOWN` are the rows of the table. A test compares README.md with the file that its table names.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from bench.needs import ONE, OURS
from bench.rows import ROWS
from bench.table import duration, missing

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
BLOCK = re.compile(r"(?<=<!-- numbers: begin -->\n).*?(?=<!-- numbers: end -->)", re.DOTALL)
LEVELS = {"avx512": "AVX-512", "avx2": "AVX2"}
SHOWN = {
    "sort_by_key": "sort by key, 2^24 u32",
    "segment_sum": "greatest sum of a segment, 2^26 f32",
    "row_sums_10_rows": "sums of rows of 10, 2^26 f32",
    "filter": "filter, half of 2^26 i32 kept",
    "sort_f32": "sort, 2^24 f32",
    "recurrence": "linear recurrence, 10^7 pairs of f64",
    "stencil_5": "5-point stencil, 4096 x 4096 f32",
    "spmv_5": "sparse matrix times vector, 5 % of 10^4 x 10^4, f32, a `Ragged`",
    "spmv_plain_5": "the same, plain CSR arrays",
    "histogram_65536": "histogram of 2^26 i32, 65,536 bins",
    "deposit": "4 corners of 4 * 10^6 particles added into a grid, f64",
    "runs_uint8_4000": "`numpy.repeat`, runs of 4,000 bytes",
}
HEAD = """\
| work | Flatweave, {threads} | 1 thread | best other | its threads | times as fast |
|---|---:|---:|---:|---:|---:|
"""


def threads(count: int) -> str:
    """1 thread, 2 threads."""
    return f"{count} thread{'s' * (count != 1)}"


def line(result: dict[str, Any], most: int) -> str:
    """A row of the table."""
    seconds, row = result["seconds"], ROWS[result["name"]]
    peers = {name: time for name, time in seconds.items() if not name.startswith(OURS)}
    best = min(peers, key=peers.__getitem__)
    cells = (
        SHOWN[row.name],
        duration(seconds[OURS]),
        duration(seconds[ONE]) if ONE in seconds else "",
        f"{best} {duration(peers[best])}",
        str(row.threads_of(best, most)),
        f"{peers[best] / seconds[OURS]:.1f}",
    )
    return f"| {' | '.join(cells)} |\n"


def block(path: Path) -> str:
    """What is between the marks of README.md, of a file of results."""
    kept = json.loads(path.read_text(encoding="utf-8"))
    machine, most = kept["machine"], kept["machine"]["threads"]
    results = {result["name"]: result for result in kept["rows"] if result["name"] in SHOWN}
    absent = missing([results[name] for name in SHOWN if name in results])
    page = path.with_suffix(".md").relative_to(ROOT).as_posix()
    about = (
        f"{machine['processor']}, {machine['cores']} cores, {LEVELS[machine['level']]} code,"
        f" {machine['date'][:10]}: some rows of [{path.stem}]({page}), medians of interleaved"
        " rounds. The best other is the\nfastest of NumPy, Numba, SciPy and C (GCC,"
        " `-O3 -march=native -ffast-math`, with OpenMP where it has more than one thread).\n"
    )
    rows = "".join(line(results[name], most) for name in SHOWN if name in results)
    notes = "".join(f"- {said}\n" for said in absent)
    left_out = f"\nMissing in these rows, so not compared:\n\n{notes}" if notes else ""
    return f"{about}\n{HEAD.format(threads=threads(most))}{rows}{left_out}"


def main() -> None:
    """Write the table of a file of results into README.md."""
    path = Path(sys.argv[1]).resolve()
    text = README.read_text(encoding="utf-8")
    README.write_text(BLOCK.sub(lambda _: block(path), text), encoding="utf-8")


if __name__ == "__main__":
    main()
