"""Records: made, compared, changed into others, refused."""

import dataclasses
import pickle
from typing import ClassVar

import pytest

from flatweave.base.records import REQUIRED, aside, fields, is_record, record, replace


@record
class Node:
    """Fields with and without defaults, and attributes that are not fields."""

    name: str
    width: int = 1
    deep: bool = False
    kind: ClassVar[str] = "node"
    found: list[int] | None = aside()

    def twice(self) -> int:
        return 2 * self.width


@record
class Leaf(Node):
    """One more field, and another default."""

    width: int = 4
    parent: Node | None = None


@record(eq=True)
class Point:
    x: float
    y: float = 0.0


@record(eq=True)
class Single:
    value: object


@record(frozen=False)
class Counter:
    count: int = 0


@record
class Nothing:
    """A record of no fields."""


def values(node: object) -> tuple[object, ...]:
    return tuple(getattr(node, field.name) for field in fields(node))


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (Node("a"), ("a", 1, False)),
        (Node("a", 2), ("a", 2, False)),
        (Node("a", 2, True), ("a", 2, True)),
        (Node("a", deep=True), ("a", 1, True)),
        (Node(deep=True, name="a"), ("a", 1, True)),
        (Leaf("a"), ("a", 4, False, None)),
        (Leaf("a", 1, True, None), ("a", 1, True, None)),
        (Nothing(), ()),
    ],
)
def test_fields_are_given_by_position_and_by_name(made, expected):
    """Those of the class it is made from come first."""
    assert values(made) == expected


@pytest.mark.parametrize(
    ("args", "named"),
    [
        ((), {}),
        ((), {"width": 1}),
        (("a", 1, True, 2), {}),
        (("a",), {"name": "b"}),
        (("a",), {"kind": "b"}),
        (("a",), {"found": []}),
    ],
    ids=["missing", "missing, by name", "too many", "twice", "no field", "kept aside"],
)
def test_what_does_not_fit_is_refused(args, named):
    """With the fields that there are, and what was given."""
    with pytest.raises(TypeError, match="Node takes name, width, deep; given are"):
        Node(*args, **named)


def test_a_default_comes_last():
    """Else values by position would go to other fields than they seem to."""
    with pytest.raises(TypeError, match="Wrong: a field without a default follows"):

        @record
        class Wrong:
            first: int = 0
            second: int


def test_fields_say_their_names_annotations_and_defaults():
    """For printing and parsing; a class variable is not a field, nor is a cached value."""
    found = [(field.name, field.type, field.default) for field in fields(Leaf)]

    assert found == [
        ("name", str, REQUIRED), ("width", int, 4), ("deep", bool, False),
        ("parent", Node | None, None),
    ]  # fmt: skip
    assert is_record(Nothing())
    assert not is_record(Node)
    assert not is_record(3)


def test_a_record_is_itself_alone_unless_it_is_said_to_be_compared():
    """By its class and its fields then."""
    assert Node("a") != Node("a")
    assert Point(1.0) == Point(1.0, 0.0)
    assert Point(1.0) != Point(1.0, 2.0)
    assert Point(1.0) != (1.0, 0.0)
    assert hash(Point(1.0)) == hash(Point(1, 0))
    assert {Single(3): "found"}[Single(3)] == "found"
    assert Single(3) != Single((3,))


def test_a_record_cannot_be_changed_unless_it_is_said_to_be():
    """Neither its fields nor anything else."""
    node, counter = Node("a"), Counter()
    for name in ("width", "other"):
        with pytest.raises(AttributeError):
            setattr(node, name, 3)
    with pytest.raises(AttributeError):
        del node.width
    counter.count += 1

    assert node.width == 1
    assert counter.count == 1
    assert not hasattr(node, "__dict__")


def test_replace_keeps_the_class_and_the_other_fields():
    """What is kept aside is not copied: it was found out about the other one."""
    leaf = Leaf("a", 3)
    object.__setattr__(leaf, "found", [1])
    other = replace(leaf, name="b")

    assert type(other) is Leaf
    assert values(other) == ("b", 3, False, None)
    assert (leaf.found, other.found) == ([1], None)
    assert other.twice() == 6
    with pytest.raises(TypeError):
        replace(leaf, found=[])


def test_records_print_match_and_pickle_as_dataclasses_do():
    """Which they are in all but how they are made."""
    match Point(1.0, 2.0):
        case Point(x, y):
            assert (x, y) == (1.0, 2.0)

    made = dataclasses.make_dataclass("Point", ["x", ("y", float, 0.0)], frozen=True)
    assert repr(Point(1.0)) == repr(made(1.0))
    assert pickle.loads(pickle.dumps(Point(1.0, 2.0))) == Point(1.0, 2.0)
    assert Point.__qualname__ == "Point"
    assert Point.__module__ == __name__
