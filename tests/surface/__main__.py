"""NumPy's functions and ours with the same random arguments, many of them.

    python -m tests.surface --calls 20000 --seed 1       all agree, or a program for each difference
    python -m tests.surface --only pad,unique            of some functions
    python -m tests.surface --target cpu                 as machine code, seven inputs a program
    python -m tests.surface --calls 20000 --save         a page in bench/results

Exits with 1 where a difference has no explanation.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed

from bench import machine
from tests.surface.run import Tally, run
from tests.surface.table import TABLE


def parser() -> argparse.ArgumentParser:
    """What the command takes."""
    made = argparse.ArgumentParser(prog="python -m tests.surface", description=__doc__)
    add = made.add_argument
    add("--calls", type=int, default=2000, help="how many calls")
    add("--seed", type=int, default=0, help="of all of them")
    add("--target", default="interp", help="what runs them: interp, cpu")
    add("--workers", type=int, default=2, help="processes")
    add("--only", default="", help="names of functions, with commas")
    add("--save", action="store_true", help="write a page to bench/results")
    return made


def page(tally: Tally, options: argparse.Namespace, seconds: float) -> str:
    """What a run found."""
    said = " ".join(word for word in sys.argv[1:] if word != "--save")
    lines = [
        f"# {tally.calls} calls of NumPy's functions, ours next to NumPy's", "",
        f"    python -m tests.surface {said}", "",
        f"{machine.model()}; {time.strftime('%Y-%m-%d')}; target {options.target};"
        f" {seconds:.0f} s. {tally.raised} calls raise in both.", "",
        f"Unexplained differences: {len(tally.differences) or 'none'}.",
        *(f"\n```python\n# {text}\n```" for text in tally.differences), "",
        "| how it is called | calls |", "|---|---|", *table(tally.ways), "",
        "| calls | differ as explained |", "|---|---|",
        *(f"| {count} | {text} |" for text, count in tally.explained.most_common()), "",
        "| function | calls |", "|---|---|", *table(tally.names), "",
    ]  # fmt: skip
    return "\n".join(lines)


def table(counts: Counter[str]) -> list[str]:
    """Lines of a table."""
    return [f"| `{name}` | {count} |" for name, count in sorted(counts.items())]


def main() -> int:
    """Run the command."""
    options = parser().parse_args()
    names = options.only.split(",") if options.only else list(TABLE)
    begun = time.monotonic()
    tally = Tally()
    what = (options.calls, options.seed, options.target, names)
    with ProcessPoolExecutor(options.workers) as pool:
        parts = [pool.submit(run, *what, part, options.workers) for part in range(options.workers)]
        for done in as_completed(parts):
            sys.stdout.write("".join(f"{each}\n\n" for each in done.result().differences))
            sys.stdout.flush()
            tally.merge(done.result())
    text = page(tally, options, time.monotonic() - begun)
    if options.save:
        sys.stdout.write(f"{machine.keep(text, 'surface')}\n")
    explained = sum(tally.explained.values())
    sys.stdout.write(
        f"{tally.calls} calls, {len(tally.differences)} differ, {explained} as explained\n"
    )
    return bool(tally.differences)


if __name__ == "__main__":
    sys.exit(main())
