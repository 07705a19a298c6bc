"""Whether this machine runs code for the CPU that FLATWEAVE_CPU names; the exit status says it."""

import sys

from flatweave.base.errors import ArgumentError
from flatweave.runtime.processor import processor

try:
    processor()
except ArgumentError as refused:
    sys.exit(f"left out: {str(refused).splitlines()[0]}")
