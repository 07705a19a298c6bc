"""The host values that records of the lowering hold: what a kernel written later may need."""

from __future__ import annotations

from collections.abc import Iterator

from flatweave.base.dtypes import DType
from flatweave.base.records import fields, is_record
from flatweave.terms.syntax import Atom, Const, Lambda, Var


def held(thing: object) -> Iterator[Atom]:
    """The variables among the parts of a tuple, list or record, and of theirs."""
    match thing:
        case Var():
            yield thing
        case Const() | Lambda() | DType():
            return
        case tuple() | list():
            for part in thing:
                yield from held(part)
        case _ if is_record(thing):
            for field in fields(thing):
                yield from held(getattr(thing, field.name))
