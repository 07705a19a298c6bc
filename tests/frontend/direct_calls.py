"""What machine code makes of calls, for tests."""

from flatweave.frontend.call.direct import in_python
from flatweave.frontend.call.operation import OPERATIONS


def warm(f, *args):
    """The callable of machine code for these arguments, and after it for others."""
    for _ in range(3):
        f(*args)
    direct = f._direct if hasattr(f, "_direct") else OPERATIONS[f].direct
    assert direct.call is not in_python
    return direct.call
