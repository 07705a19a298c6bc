"""Functions of NumPy beyond the standard: values, shapes and dtypes are NumPy's."""

import warnings

import numpy as np
import pytest

import flatweave as fw
from flatweave.frontend import ALIASES, PUBLIC
from tests.numerics.cases import CASES

BEYOND = {
    name for module, names in PUBLIC.items() if module.startswith("numpy_functions.")
    for name in names.split()
}


def leaves(found):
    """The arrays of a result."""
    return list(found) if isinstance(found, list | tuple) else [found]


def wanted(name, args, options):
    """What NumPy gives."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return leaves(getattr(np, name)(*args, **options))


def check(name, found, args, options):
    for ours, theirs in zip(leaves(found), wanted(name, args, options), strict=True):
        values, theirs = np.asarray(ours), np.asarray(theirs)
        called = f"{name} {options} of {args}"
        assert (values.dtype, values.shape) == (theirs.dtype, theirs.shape), called
        np.testing.assert_allclose(values, theirs, rtol=1e-6 if values.dtype == np.float32
                                   else 1e-12, atol=1e-12, err_msg=called)  # fmt: skip


def test_every_function_has_cases():
    """And is a public name."""
    assert CASES.keys() == BEYOND | {"deg2rad", "rad2deg"}
    assert all(getattr(fw, name) is getattr(fw, of) for name, of in ALIASES.items())


@pytest.mark.parametrize("name", CASES)
def test_outside_of_a_compiled_function(name):
    """Each call separately, of NumPy arrays."""
    with fw.target("interp"):
        for args, options in CASES[name]:
            check(name, getattr(fw, name)(*args, **options), args, options)


def arrays_in(value):
    """What a program takes as an argument, by identity; numbers and words say what it is."""
    if isinstance(value, np.ndarray):
        return {str(id(value)): value}
    parts = value if isinstance(value, list | tuple) else []
    return {key: array for part in parts for key, array in arrays_in(part).items()}


def traced(value, arrays):
    """A value with the traced arrays in place of NumPy's."""
    if isinstance(value, list | tuple):
        return type(value)(traced(part, arrays) for part in value)
    return arrays[str(id(value))] if isinstance(value, np.ndarray) else value


@pytest.mark.parametrize("on", ["interp", pytest.param("cpu", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", CASES)
def test_in_a_compiled_function(name, on):
    """All calls in one program, by NumPy's own name: it asks the arrays, which are ours."""
    cases = CASES[name]

    def program(arrays):
        called = []
        for args, options in cases:
            named = dict(traced(list(options.items()), arrays))
            called.append(leaves(getattr(np, name)(*traced(args, arrays), **named)))
        return called

    given = arrays_in([(args, *options.values()) for args, options in cases])
    for found, (args, options) in zip(fw.jit(program, target=on)(given), cases, strict=True):
        check(name, found, args, options)


def test_everyday_functions_as_machine_code():
    """One program of several."""
    x, y = np.round(np.linspace(-3, 9, 200) ** 2), np.linspace(1, 2, 200)

    def program(xp, x, y):
        middle = xp.median(x)
        return (middle, xp.percentile(y, 75), xp.unique(x, return_counts=True)[1],
                xp.interp(x / 40, y, x), xp.convolve(y, y[:4], "same"), xp.pad(x, 2, mode="edge"),
                xp.einsum("i,j->ij", x, y).sum(), xp.nanmean(xp.where(x > middle, xp.nan, x)))

    found = fw.jit(lambda x, y: program(fw, x, y), target="cpu")(x, y)
    for ours, theirs in zip(found, program(np, x, y), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_arrays_are_copies():
    """Who writes to what an array was made of writes to something else."""
    xs = np.array([1.0, 2.0])
    ours = fw.array(xs)
    xs[0] = 9

    assert ours.tolist() == [1.0, 2.0]
    assert fw.array([1, 2], np.float32).dtype == np.float32
    assert fw.array(ours) is not ours
    assert np.shares_memory(fw.array(ours), ours)
    assert fw.jit(lambda x: fw.array([x, x * 2]))(3).tolist() == [3, 6]
