"""Random tables of Arrow as values of ours, and back: equal, and over the same memory.

    python -m tests.interop.arrow_tables --tables 3000 --seed 1          a line for each difference
    python -m tests.interop.arrow_tables --tables 3000 --seed 1 --save   a page in bench/results

Columns have every type that a value of ours stands for, nested to two levels, with nulls at each of
them, in slices that begin anywhere, in no, one or several chunks, and with any bytes where elements
are missing. A table is made again from its seed.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import flatweave as fw
from bench import machine
from flatweave.library_columns import of_arrow

INTEGERS = (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(),
            pa.uint64())  # fmt: skip
NUMBERS = (*INTEGERS, pa.float16(), pa.float32(), pa.float64(), pa.bool_())
TEXTS = (pa.string(), pa.large_string(), pa.string_view())
BYTES = (pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(3))
TIMES = (*(pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")), pa.timestamp("us", "UTC"),
         *(pa.duration(unit) for unit in ("s", "ms", "us", "ns")), pa.date32(), pa.date64())
WORDS = ("", "a", "bc", "déjà vu", "日本", "more than twelve bytes", "\U0001f600", "0")
DAY = 86_400_000
Random = random.Random


def random_type(r: Random, depth: int = 2) -> pa.DataType:
    """A type of Arrow that a value of ours stands for."""
    if depth and r.random() < 0.45:
        inner = random_type(r, depth - 1)
        kind = r.randrange(7)
        if kind == 5:
            names = "xyz"[: r.choice((1, 2, 3))]
            return pa.struct([(name, random_type(r, depth - 1)) for name in names])
        if kind == 6:
            return pa.map_(pa.string(), inner)
        lists = (pa.list_, pa.large_list, pa.list_view, pa.large_list_view)
        return pa.list_(inner, r.choice((1, 2, 3))) if kind == 4 else lists[kind](inner)
    if r.random() < 0.15:
        codes = r.choice(INTEGERS[:4]) if depth == 2 else pa.int32()
        return pa.dictionary(codes, r.choice((*TEXTS[:2], pa.int32(), pa.float64())))
    if depth == 2 and r.random() < 0.1:  # pyarrow makes none inside others
        values = r.choice((*TEXTS[:2], pa.int32(), pa.float64(), pa.timestamp("s")))
        return pa.run_end_encoded(r.choice((pa.int16(), pa.int32(), pa.int64())), values)
    return r.choice((r.choice(NUMBERS), r.choice(NUMBERS), r.choice(TEXTS), r.choice(BYTES),
                     r.choice(TIMES), pa.null() if r.random() < 0.2 else pa.int64()))  # fmt: skip


def element(r: Random, kind: pa.DataType, nulls: float) -> Any:
    """A value of a type as Python has it."""
    if r.random() < nulls or pa.types.is_null(kind):
        return None
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return element(r, kind.value_type, 0)
    if pa.types.is_map(kind):
        keys = [r.choice(WORDS) for _ in range(r.choice((0, 1, 3)))]
        return [(key, element(r, kind.item_type, nulls)) for key in keys]
    if pa.types.is_struct(kind):
        return {field.name: element(r, field.type, nulls) for field in kind}
    if pa.types.is_fixed_size_list(kind):
        return [element(r, kind.value_type, nulls) for _ in range(kind.list_size)]
    if pa.types.is_nested(kind):
        return [element(r, kind.value_type, nulls) for _ in range(r.choice((0, 0, 1, 2, 5)))]
    return scalar(r, kind)


def scalar(r: Random, kind: pa.DataType) -> Any:
    """An element without parts."""
    if pa.types.is_boolean(kind):
        return r.random() < 0.5
    if pa.types.is_integer(kind):
        info = np.iinfo(kind.to_pandas_dtype())
        return r.choice((0, 1, int(info.min), int(info.max), r.randint(0, 100)))
    if pa.types.is_floating(kind):
        return kind.to_pandas_dtype()(r.choice((0.0, -0.0, 1.5, np.nan, np.inf, r.gauss(0, 100))))
    if pa.types.is_date64(kind):
        return r.randint(-1000, 1000) * DAY
    if pa.types.is_temporal(kind):
        return r.randint(-100_000, 100_000)
    if kind == pa.binary(3):
        return r.randbytes(3)
    is_text = kind in TEXTS
    return r.choice(WORDS) if is_text else r.randbytes(r.choice((0, 1, 5, 20)))


def array(r: Random, kind: pa.DataType, count: int) -> pa.Array:
    """So many elements, as a part of a longer array."""
    before, after = r.choice((0, 0, 1, 3, 9)), r.choice((0, 0, 2))
    nulls = r.choice((0.0, 0.0, 0.1, 0.5, 1.0))
    total = before + count + after
    found = built(r, kind, [element(r, kind, nulls) for _ in range(total)])
    if not pa.types.is_nested(kind) and not nulls and r.random() < 0.3:
        found = punched(r, found)
    return found[before : before + count]


def built(r: Random, kind: pa.DataType, values: list[Any]) -> pa.Array:
    """An array of values."""
    if pa.types.is_run_end_encoded(kind):
        plain = pa.array([v for v in values for _ in range(2)][: len(values)], kind.value_type)
        return pc.run_end_encode(plain, kind.run_end_type)
    if pa.types.is_dictionary(kind):
        plain = pa.array(values, kind.value_type)
        null_encoding = r.choice(("mask", "encode"))
        return pc.dictionary_encode(plain, null_encoding).cast(kind)
    return pa.array(values, kind)


def punched(r: Random, found: pa.Array) -> pa.Array:
    """The same with nulls, whose memory still holds something."""
    kind = found.type
    flat = kind in (*NUMBERS, *TEXTS, *BYTES, *TIMES)
    if not flat or not len(found) or found.null_count:
        return found
    valid = np.packbits([r.random() < 0.6 for _ in range(len(found))], bitorder="little")
    buffers = [pa.py_buffer(valid), *found.buffers()[1:]]
    return pa.Array.from_buffers(kind, len(found), buffers)


def column(r: Random, kind: pa.DataType, count: int) -> pa.ChunkedArray | pa.Array:
    """A column of a table: an array, or several."""
    if r.random() < 0.6:
        return array(r, kind, count)
    cuts = sorted(r.randint(0, count) for _ in range(r.choice((0, 1, 2, 3))))
    ends = [0, *cuts, count]
    return pa.chunked_array(
        [array(r, kind, end - begin) for begin, end in zip(ends, ends[1:], strict=False)], kind
    )


def table(seed: int) -> dict[str, pa.ChunkedArray | pa.Array]:
    """The columns of a table."""
    r = Random(seed)
    count = r.choice((0, 1, 2, 7, 8, 9, 40, 200))
    return {f"c{k}": column(r, random_type(r), count) for k in range(r.choice((1, 2, 3, 4)))}


def expected(kind: pa.DataType, value: Any) -> Any:
    """What an element is after both ways: bytes are numbers, zones UTC, and a list of a fixed size
    of numbers that is missing consists of missing numbers."""
    is_fixed = pa.types.is_fixed_size_list(kind)
    if value is None:
        is_axis = is_fixed and is_number(kind.value_type)
        return [expected(kind.value_type, None)] * kind.list_size if is_axis else None
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return expected(kind.value_type, value)
    if kind in BYTES:
        return list(value)
    if pa.types.is_map(kind):
        return [{"key": k, "value": expected(kind.item_type, v)} for k, v in value]
    if pa.types.is_struct(kind):
        return {field.name: expected(field.type, value[field.name]) for field in kind}
    if pa.types.is_nested(kind):
        return [expected(kind.value_type, part) for part in value]
    if pa.types.is_date64(kind):
        return pa.scalar(value, kind).cast(pa.timestamp("ms")).as_py()
    if pa.types.is_timestamp(kind) and kind.tz:
        return value.replace(tzinfo=None)
    return value


def is_number(kind: pa.DataType) -> bool:
    """Whether elements are numbers, or lists of a fixed size of numbers, which are an axis."""
    if pa.types.is_fixed_size_list(kind) or pa.types.is_dictionary(kind):
        return is_number(kind.value_type)
    if pa.types.is_run_end_encoded(kind):
        return is_number(kind.value_type)
    return kind in NUMBERS or pa.types.is_null(kind)


def back(value: Any) -> list[Any]:
    """The elements of a value of ours as Arrow gives them."""
    if isinstance(value, dict):
        parts = {name: back(part) for name, part in value.items()}
        return [dict(zip(parts, row, strict=True)) for row in zip(*parts.values(), strict=True)]
    found = pa.array(value)
    found.validate(full=True)
    return found.to_pylist()


def shares(value: Any, given: pa.Array) -> bool | None:
    """Whether a value is over the memory of an array; None where the docs promise nothing."""
    kind = given.type
    inner = value.values if isinstance(value, fw.Nullable) else value
    if not len(given):
        return None
    if kind in NUMBERS and kind != pa.bool_() and kind is not pa.null():
        return within(np.asarray(inner), given.buffers()[1])
    if kind in TIMES and kind.bit_width == 64 and inner is value:
        return within(np.asarray(inner.ticks), given.buffers()[1])
    if kind in (pa.string(), pa.large_string()) and inner is value:
        return within(np.asarray(inner.bytes.values), given.buffers()[2])
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    if is_list and inner is value and not isinstance(inner.values, fw.Nullable | dict):
        return shares(inner.values, given.flatten()) if len(given.flatten()) else None
    return None


def within(values: np.ndarray, buffer: pa.Buffer) -> bool | None:
    """Whether an array begins in a buffer."""
    if not values.size:
        return None
    return bool(buffer.address <= values.ctypes.data < buffer.address + buffer.size)


def tried(seed: int, counted: Counter[str]) -> list[str]:
    """What differs in a table: a line for each column."""
    wrong = []
    for name, given in table(seed).items():
        kind = given.type
        counted[type_name(kind)] += 1
        said = f"table {seed}, column {name}, {kind}"
        try:
            value = of_arrow(given)
            found = back(value)
        except Exception as failure:
            wrong.append(f"{said}: {type(failure).__name__}: {str(failure).splitlines()[0]}")
            continue
        want = [expected(kind, each) for each in given.to_pylist()]
        if repr(found) != repr(want):
            wrong.append(f"{said}: {found!r:.300} instead of {want!r:.300}")
        is_shared = shares(value, given) if isinstance(given, pa.Array) else None
        counted["columns over the memory of Arrow"] += is_shared is True
        if is_shared is False:
            wrong.append(f"{said}: copied")
    return wrong


def type_name(kind: pa.DataType) -> str:
    """The name of a type without its parameters."""
    return str(kind).partition("<")[0].partition("[")[0]


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--save", action="store_true", help="write a page to bench/results")
    options = parser.parse_args()
    counted, wrong, begun = Counter[str](), list[str](), time.process_time()
    for k in range(options.tables):
        wrong += (found := tried(options.seed * 1_000_000 + k, counted))
        sys.stdout.write("".join(f"{line}\n" for line in found))
    shared = counted.pop("columns over the memory of Arrow")
    total = sum(counted.values())
    said = f"{options.tables} tables, {total} columns, {len(wrong)} differ, {shared} share memory"
    sys.stdout.write(f"{said}\n")
    if options.save:
        command = f"python -m tests.interop.arrow_tables --tables {options.tables} --seed"
        lines = [
            "# Random tables of Arrow, there and back", "",
            f"    {command} {options.seed}", "",
            f"{machine.model()}; {time.strftime('%Y-%m-%d')}; pyarrow {pa.__version__};"
            f" {time.process_time() - begun:.0f} s of CPU time.", "", f"{said}.", "",
            *(f"    {line}" for line in wrong),
            "| type of column | columns |", "|---|---|",
            *(f"| {name} | {count} |" for name, count in sorted(counted.items())), "",
        ]  # fmt: skip
        sys.stdout.write(f"{machine.keep(chr(10).join(lines), 'arrow-tables')}\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
