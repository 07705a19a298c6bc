"""The other end of elsewhere.py: `python -m bench.serve ROW PEER SIZE`.

It makes the row's inputs and calls the peer once; then once more for each line it reads, the name
of a clock, and answers with the seconds.
"""

from __future__ import annotations

import sys
import time

from bench.rows import ROWS
from bench.tools import Tools

CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


def main() -> None:
    """Serve calls until there are no more lines."""
    name, peer, size = sys.argv[1:]
    row = ROWS[name]
    call = row.peers(Tools(), *row.inputs(int(size)))[peer]
    call()
    for line in sys.stdin:
        clock = CLOCKS[line.strip()]
        start = clock()
        call()
        print(clock() - start, flush=True)


if __name__ == "__main__":
    main()
