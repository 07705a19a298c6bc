"""Trees of arrays: tuples, lists, dicts, NamedTuples and dataclasses, flattened and rebuilt.

    leaves, tree = flatten({"a": (x, y), "b": None})      [x, y], {'a': (*, *), 'b': None}
    unflatten(tree, leaves)                               {"a": (x, y), "b": None}

A class of ours that derives from Node is flattened, too, and NumPy arrays whose elements are
records, a dict of their fields, or times (`datetimes.py`), as are columns of times of any library;
anything else is a leaf. Two trees are equal when values of one fit the other: dicts by their keys,
in any order, NamedTuples and dataclasses by their class.

Rebuilding runs no code of the user's: a NamedTuple or dataclass is made of its fields, without
`__new__`, `__init__` or `__post_init__`, which have seen them already. An OrderedDict and a
defaultdict stay what they are; any other mapping, tuple or list comes back as a plain one.
"""

from __future__ import annotations

import dataclasses
import functools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, ClassVar

import numpy as np

from flatweave.base.errors import ArgumentError
from flatweave.frontend.values.chunked import Chunked
from flatweave.runtime.lazy_import import opened


class Node:
    """A class whose values are flattened into some of their attributes, and rebuilt from them."""

    __slots__ = ()
    parts: ClassVar[tuple[str, ...]]  # the attributes' names
    irregular: ClassVar[bool] = True  # whether these do not go along one axis

    @classmethod
    def made(cls, *parts: Any) -> object:
        """The value with these parts, which nobody checks again."""
        raise NotImplementedError

    def _held(self) -> tuple[Any, ...]:
        """The parts of a value, to be read."""
        return tuple(getattr(self, name) for name in self.parts)

    @classmethod
    def spelled(cls, *texts: str) -> str:
        """A value with these parts as messages show it."""
        pairs = ", ".join(f"{name}={text}" for name, text in zip(cls.parts, texts, strict=True))
        return f"{cls.__name__}({pairs})"


class Elements(Node):
    """A Node of arrays of one shape, which goes along one axis."""

    __slots__ = ()
    irregular: ClassVar[bool] = False

    @classmethod
    def made(cls, *parts: Any) -> Any:
        """The value with these parts; where they are rows, these of values."""
        first = parts[0]
        if not is_irregular(first):
            return cls(*parts)
        values = cls.made(*(rows.values for rows in parts))
        return type(first).made(values, first.offsets)


def is_irregular(value: Any) -> bool:
    """Whether a value is a Node of rows that may differ in length: a Ragged."""
    return isinstance(value, Node) and value.irregular


def flat_values(rows: Any) -> Any:
    """The values of all rows, at whatever depth they are nested; an array as it is."""
    while is_irregular(rows):
        rows = rows.values
    return rows


def is_node(value: Any) -> bool:
    """Whether a value that users see as a whole is flattened."""
    return isinstance(value, Node)


def is_structure(value: Any) -> bool:
    """Whether a value is a tuple, dict, NamedTuple or dataclass; a list may be an array."""
    cls = type(value)
    return isinstance(value, tuple | Mapping) or (
        hasattr(cls, "__dataclass_fields__") and not is_node(value)
    )


class Tree:
    """The structure around some leaves; `names` are the keys or fields of the children."""

    __slots__ = (
        "_hash", "children", "cls", "factory", "irregular", "kind", "names", "order", "orders",
        "size",
    )  # fmt: skip

    def __init__(
        self,
        kind: str,
        cls: type | None = None,
        names: tuple[Any, ...] = (),
        children: tuple[Tree, ...] = (),
        order: tuple[int, ...] = (),
        factory: Callable[[], Any] | None = None,
    ) -> None:
        self.kind = kind
        self.cls = cls
        self.names = names
        self.children = children
        self.order = order  # of a dict: where each child stood when the user wrote it
        self.factory = factory  # of a defaultdict: what makes its missing values
        # the orders of all dicts inside: equal trees may differ in them, and a traversal of
        # their values sees that
        self.orders: tuple[int, ...] = order + tuple(i for c in children for i in c.orders)
        self.size: int = 1 if kind == "leaf" else sum(child.size for child in children)
        # whether a node is inside whose leaves do not go along one axis
        irregular = cls is not None and issubclass(cls, Node) and cls.irregular
        self.irregular: bool = irregular or any(child.irregular for child in children)
        self._hash = hash((kind, cls, names, children))

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        # made anew: in another process the same names have other hashes
        return Tree, (self.kind, self.cls, self.names, self.children, self.order, self.factory)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, Tree)
            and self._hash == other._hash
            and self.kind == other.kind
            and self.cls is other.cls
            and self.factory is other.factory
            and self.names == other.names
            and self.children == other.children
        )

    def __repr__(self) -> str:
        return spelled(self, ["*"] * self.size)


def fields_of(records: Any) -> dict[str, Any] | None:
    """The fields of an array of records, not copied; None for untyped memory."""
    names = records.dtype.names
    return {name: records[name] for name in names} if names else None


def times_of(times: Any) -> Any:
    """An array of NumPy of times, as integers and their unit."""
    return opened("flatweave.frontend.values.datetimes").times_of(times)


def is_time_column(value: Any) -> bool:
    """Whether a value is a column of times of another library, by what it says of its elements."""
    cls = type(value)
    if not hasattr(cls, "__array__") or hasattr(cls, "__array_namespace__"):
        return False  # a number, or an array: most leaves
    kind = getattr(value, "dtype", None)
    if isinstance(kind, np.dtype):
        return kind.kind in "mM"
    kind = getattr(value, "type", None) if kind is None else kind
    return kind is not None and str(kind).lower().startswith(TIMES)


TIMES = ("date", "timedelta", "timestamp", "duration")
# NumPy's kinds of elements that are more than a number
STRUCTURED: dict[str, Callable[[Any], Any]] = {"V": fields_of, "M": times_of, "m": times_of}
OF_ARRAYS = ("__array__", "dtype", "shape")  # a dataclass that has these is an array, as Zarr's
LEAF = Tree("leaf")
NONE = Tree("none")
IsLeaf = Callable[[Any], bool]


def flatten(value: Any, is_leaf: IsLeaf | None = None) -> tuple[list[Any], Tree]:
    """The leaves from left to right, and the tree around them."""
    leaves: list[Any] = []
    try:
        tree = _flatten(value, leaves, is_leaf)
    except RecursionError:
        raise ArgumentError.here(
            f"a {type(value).__name__} is nested without end, or too deeply to be flattened.",
            "See whether it holds itself; make it flatter.",
        ) from None  # fmt: skip
    return leaves, tree


def unflatten(tree: Tree, leaves: Iterable[Any]) -> Any:
    """A value of this structure around the leaves."""
    return _rebuild(tree, iter(leaves))


def map_leaves(fn: Callable[[Any], Any], value: Any, is_leaf: IsLeaf | None = None) -> Any:
    """The same tree around fn(leaf)."""
    leaves, tree = flatten(value, is_leaf)
    return unflatten(tree, [fn(leaf) for leaf in leaves])


def portions(trees: Sequence[Tree], leaves: Sequence[Any]) -> list[list[Any]]:
    """The leaves of several trees, one list for each tree."""
    rest = iter(leaves)
    return [list(islice(rest, tree.size)) for tree in trees]


def paths(tree: Tree, prefix: str = "") -> list[str]:
    """How Python reaches each leaf: `[0].x`, `['a']`; the prefix alone for a lone leaf."""
    if tree.kind == "leaf":
        return [prefix]
    found: list[str] = []
    for i, child in enumerate(tree.children):
        if tree.kind in ("tuple", "list"):
            step = f"[{i}]"
        elif tree.kind == "dict":
            step = f"[{tree.names[i]!r}]"
        else:
            step = f".{tree.names[i]}"
        found.extend(paths(child, prefix + step))
    return found


def spelled(tree: Tree, texts: Sequence[str]) -> str:
    """The structure as Python writes it, with a text for each leaf: `(f32, {'a': i64})`."""
    return _spelled(tree, iter(texts))


def _spelled(tree: Tree, texts: Iterator[str]) -> str:
    if tree.kind == "leaf":
        return next(texts)
    if tree.kind == "none":
        return "None"
    inner = [_spelled(child, texts) for child in tree.children]
    match tree.kind:
        case "tuple":
            return f"({', '.join(inner)}{',' if len(inner) == 1 else ''})"
        case "list":
            return f"[{', '.join(inner)}]"
    pairs = list(zip(tree.names, inner, strict=True))
    if tree.kind == "dict":
        return "{" + ", ".join(f"{name!r}: {text}" for name, text in pairs) + "}"
    assert tree.cls is not None
    if issubclass(tree.cls, Node):
        return tree.cls.spelled(*inner)
    return f"{tree.cls.__name__}({', '.join(f'{name}={text}' for name, text in pairs)})"


def _flatten(value: Any, leaves: list[Any], is_leaf: IsLeaf | None) -> Tree:
    cls: Any = type(value)
    if is_leaf is not None and is_leaf(value):
        leaves.append(value)
        return LEAF
    if value is None:
        return NONE
    if isinstance(value, tuple) and hasattr(cls, "_fields"):
        return Tree("named", cls, cls._fields, _children(value, leaves, is_leaf))
    if isinstance(value, Node):
        return Tree("node", cls, cls.parts, _children(
            (getattr(value, name) for name in cls.parts), leaves, is_leaf
        ))  # fmt: skip
    names = _field_names(cls)
    if names is not None:
        parts = (getattr(value, name) for name in names)
        return Tree("dataclass", cls, names, _children(parts, leaves, is_leaf))
    if isinstance(value, tuple | list):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return Tree(kind, None, (), _children(value, leaves, is_leaf))
    if isinstance(value, Mapping):
        return _flatten_dict(value, leaves, is_leaf)
    if isinstance(value, np.ndarray | np.generic | Chunked) and value.dtype.kind in STRUCTURED:
        parts = STRUCTURED[value.dtype.kind](value)
        if parts is not None:
            return _flatten(parts, leaves, is_leaf)
    elif is_time_column(value):
        parts = opened("flatweave.tables.nullable").times_in(value)
        if parts is not None:
            return _flatten(parts, leaves, is_leaf)
    leaves.append(value)
    return LEAF


def parts_of(value: Any, key: list[Any]) -> Iterable[Any] | None:
    """What a structure holds, in the order in which it is flattened; what describes the structure
    is added to a key. None for a leaf, and for a structure that takes longer to look at."""
    cls = type(value)
    if cls is tuple or cls is list or (issubclass(cls, tuple) and hasattr(cls, "_fields")):
        key += (cls, len(value))
        return value  # type: ignore[no-any-return]
    found = node_parts(value, key)
    if found is not None:
        return found
    if cls is dict and all(type(name) is str for name in value):
        key.append(tuple(value))
        return [value[name] for name in sorted(value)]
    key.append(None)
    return () if value is None else None


def no_parts(value: Any, key: list[Any]) -> None:
    """The same where only arrays and numbers are looked at."""


def node_parts(value: Any, key: list[Any]) -> Iterable[Any] | None:
    """The same of a value that users see as a whole, of a dataclass, and None for any other."""
    cls: Any = type(value)
    names = None if issubclass(cls, Node) else _field_names(cls)
    if names is not None:
        key.append(cls)
        return [getattr(value, name) for name in names]
    if not issubclass(cls, Node):
        return None
    key.append(cls)
    return value._held()  # type: ignore[no-any-return]


@functools.lru_cache(maxsize=4096)
def _field_names(cls: Any) -> tuple[str, ...] | None:
    """The names of a dataclass's fields; None for other classes, and for other libraries' arrays.
    """
    if not hasattr(cls, "__dataclass_fields__") or _is_array(cls):
        return None
    return tuple(field.name for field in dataclasses.fields(cls))


def _is_array(cls: type) -> bool:
    """Whether a dataclass is an array of another library, which has no say in what functions do."""
    return all(hasattr(cls, name) for name in OF_ARRAYS) and not hasattr(
        cls, "__flatweave_function__"
    )


def _children(
    parts: Iterable[Any], leaves: list[Any], is_leaf: IsLeaf | None
) -> tuple[Tree, ...]:
    return tuple(_flatten(part, leaves, is_leaf) for part in parts)


def _flatten_dict(value: Mapping[Any, Any], leaves: list[Any], is_leaf: IsLeaf | None) -> Tree:
    """A dict by its keys in sorted order, so that equal keys make equal trees."""
    written = list(value)
    keys = sorted(written, key=lambda key: (
        type(key).__name__, key if isinstance(key, str | int | float) else repr(key)
    ))  # fmt: skip
    order = tuple(keys.index(key) for key in written)
    children = _children((value[key] for key in keys), leaves, is_leaf)
    cls = next((cls for cls in (OrderedDict, defaultdict) if isinstance(value, cls)), None)
    factory = value.default_factory if isinstance(value, defaultdict) else None
    return Tree("dict", cls, tuple(keys), children, order, factory)


def _rebuild(tree: Tree, leaves: Iterator[Any]) -> Any:
    if tree.kind == "leaf":
        return next(leaves)
    if tree.kind == "none":
        return None
    parts = [_rebuild(child, leaves) for child in tree.children]
    match tree.kind:
        case "tuple":
            return tuple(parts)
        case "list":
            return parts
        case "dict":
            return _rebuilt_dict(tree, parts)
    assert tree.cls is not None
    if tree.kind == "named":
        return tuple.__new__(tree.cls, parts)
    if issubclass(tree.cls, Node):
        return tree.cls.made(*parts)
    made = object.__new__(tree.cls)
    for name, part in zip(tree.names, parts, strict=True):
        object.__setattr__(made, name, part)
    return made


def _rebuilt_dict(tree: Tree, parts: Sequence[Any]) -> Mapping[Any, Any]:
    """The dict in the order it was written in."""
    pairs = {tree.names[i]: parts[i] for i in tree.order}
    if tree.cls is defaultdict:
        return defaultdict(tree.factory, pairs)
    return OrderedDict(pairs) if tree.cls is OrderedDict else pairs
