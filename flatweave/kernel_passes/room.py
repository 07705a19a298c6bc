"""Whether a block has room for all that a kernel keeps in shared memory, and the map if it has not.

    scan needs 65536 bytes of shared memory, and a block has 49152.
      bytes 0 to 32767: m, f32[8192], of scans.py:7: part = fk.force(xs)
      bytes 32768 to 65535: m_2, f32[8192], of scans.py:9: sums = fk.force(..)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flatweave.base.errors import Unsupported
from flatweave.kernel_ir.syntax import Shared
from flatweave.terms.syntax import Lambda, Let
from flatweave.terms.traverse import walk_lets

MOST_LINES = 12


def expect_room(name: str, body: Lambda, bytes_: int) -> None:
    """Refuse a kernel with more memory than a block has."""
    memory = [let for let in walk_lets(body) if isinstance(let.op, Shared)]
    size = sum(_bytes(let) for let in memory)
    if size > bytes_:
        raise Unsupported(
            f"{name} needs {size} bytes of shared memory, and a block has {bytes_}.",
            where=max(memory, key=_bytes).where,
            origins=tuple(_map(memory)),
            remedy="Force fewer elements at once: cut the array into smaller parts with split_up, "
            "or let each thread combine several before (seq_reduce). What is not read any more "
            "behind a barrier has given its place already.",
        )


def _bytes(let: Let) -> int:
    assert isinstance(let.op, Shared)
    return let.op.count * let.op.dtype.bytes


def _map(memory: Sequence[Let]) -> Iterator[str]:
    """Who has which bytes."""
    first = 0
    for let in memory[:MOST_LINES]:
        end = first + _bytes(let)
        assert isinstance(let.op, Shared)
        line = ""
        if let.where is not None and let.where.is_known:
            line = f", of {let.where.file}:{let.where.line}: {let.where.text.strip()}"
        held = f"{let.vars[0].name}, {let.op.dtype}[{let.op.count}]"
        yield f"bytes {first} to {end - 1}: {held}{line}"
        first = end
    if len(memory) > MOST_LINES:
        yield f"and {len(memory) - MOST_LINES} more"
