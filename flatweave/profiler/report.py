"""What `fw.profile` and `fw.explain` are asked to show, behind the door: it needs the compiler."""

from flatweave.profiler.rows import call_rows, kernel_rows
from flatweave.profiler.table import table
from flatweave.profiler.trace import write_trace
from flatweave.profiler.words import explanation

__all__ = ["call_rows", "explanation", "kernel_rows", "table", "write_trace"]
