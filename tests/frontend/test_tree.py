"""Trees are flattened and rebuilt without loss."""

from collections import namedtuple
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from flatweave.frontend.values.tree import (
    LEAF,
    flatten,
    map_leaves,
    paths,
    portions,
    spelled,
    unflatten,
)

Pair = namedtuple("Pair", "a b")


@dataclass(frozen=True)
class Box:
    x: object
    y: object = None
    made: object = field(default=0, init=False)


values = st.recursive(
    st.none() | st.integers(),
    lambda inner: st.lists(inner, max_size=3)
    | st.tuples(inner, inner)
    | st.dictionaries(st.text(max_size=2), inner, max_size=3)
    | st.builds(Pair, inner, inner)
    | st.builds(Box, inner),
    max_leaves=8,
)


@given(values)
def test_taking_apart_and_rebuilding_is_the_identity(value):
    """Whatever the structure."""
    leaves, tree = flatten(value)

    assert unflatten(tree, leaves) == value
    assert tree.size == len(leaves)
    assert len(paths(tree)) == len(leaves)


@given(values)
def test_equal_values_have_equal_trees(value):
    """And equal hashes, so that they can be part of a key."""
    first, second = flatten(value)[1], flatten(map_leaves(lambda leaf: -leaf, value))[1]

    assert first == second
    assert hash(first) == hash(second)


def test_trees_that_differ():
    """The kind, the class, the names and the children all count."""
    different = [(1, 2), [1, 2], {"a": 1, "b": 2}, Pair(1, 2), Box(1, 2), {"a": 1, "c": 2},
                 (1, (2,)), (1, None), 1, None, ()]  # fmt: skip
    trees = [flatten(value)[1] for value in different]

    assert len(set(trees)) == len(trees)


def test_dicts_are_equal_in_any_order():
    """The leaves come in the order of the keys; rebuilt, each is in its own order."""
    leaves, tree = flatten({"b": 1, "a": 2})
    other_leaves, other = flatten({"a": 2, "b": 1})

    assert leaves == other_leaves == [2, 1]
    assert tree == other
    assert list(unflatten(tree, leaves)) == ["b", "a"]


def test_paths_are_python():
    """As the user would write them."""
    tree = flatten({"p": Pair(1, [2, 3]), "q": (4,)})[1]

    assert paths(tree, "s") == ["s['p'].a", "s['p'].b[0]", "s['p'].b[1]", "s['q'][0]"]


def test_trees_are_spelled_as_python():
    """With a text for each leaf."""
    tree = flatten({"p": Pair(1, None), "q": ([1],)})[1]

    assert repr(tree) == "{'p': Pair(a=*, b=None), 'q': ([*],)}"
    assert spelled(tree, ["f32", "i64"]) == "{'p': Pair(a=f32, b=None), 'q': ([i64],)}"


def test_portions():
    """The leaves of several trees, each tree's by themselves."""
    trees = [flatten(value)[1] for value in ((1, 2), None, 3)]

    assert portions(trees, [1, 2, 3]) == [[1, 2], [], [3]]


def test_some_values_are_leaves_by_choice():
    """A list of numbers may stand for an array."""
    leaves, tree = flatten([1, 2], lambda value: isinstance(value, list))

    assert leaves == [[1, 2]]
    assert tree is LEAF
