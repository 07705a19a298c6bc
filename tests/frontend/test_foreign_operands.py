"""Operands of other libraries: what they mean, units, labels, masks, laziness, is never lost."""

import operator

import numpy as np
import pytest

import flatweave as fw

X = np.array([1.0, 2.0, 3.0])
xs = fw.asarray(X)
ROWS = fw.ragged([[1.0, 2.0], [3.0]])
BINARY = {
    "add": "radd", "sub": "rsub", "mul": "rmul", "truediv": "rtruediv", "floordiv": "rfloordiv",
    "mod": "rmod", "pow": "rpow", "matmul": "rmatmul", "lt": "gt", "le": "ge", "gt": "lt",
    "ge": "le", "eq": "eq", "ne": "ne",
}  # fmt: skip


class Quantity(np.lib.mixins.NDArrayOperatorsMixin):
    """Numbers with a unit, of a library that implements NumPy's protocols."""

    def __init__(self, values, unit="m"):
        self.values, self.unit = values, unit

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype)

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        if not all(isinstance(x, Quantity | np.ndarray | np.generic | float) for x in inputs):
            return NotImplemented  # as Dask and Astropy: nothing is known of other arrays
        plain = [x.values if isinstance(x, Quantity) else x for x in inputs]
        return Quantity(getattr(ufunc, method)(*plain, **options))

    def __array_function__(self, func, types, args, named):
        return "theirs", func.__name__


class Unit:
    """xs new class, with operators and without NumPy's protocols."""

    def __rmul__(self, other):
        return "theirs", other

    def __mul__(self, other):
        return "theirs", other

    __radd__ = __add__ = __rmatmul__ = __rlshift__ = __gt__ = __eq__ = __rmul__
    __hash__ = None


class Uncertain:
    """xs number of a class that knows numbers and declines arrays."""

    def __mul__(self, other):
        return f"{other}+-" if isinstance(other, float) else NotImplemented

    __rmul__ = __mul__


class Refusing:
    """xs class that takes no part in universal functions."""

    __array_ufunc__ = None

    def __array__(self, dtype=None, copy=None):
        return X

    def __rmul__(self, other):
        return "theirs", other


class Plain:
    """What only gives its elements: another array of numbers."""

    __array_priority__ = 100

    def __array__(self, dtype=None, copy=None):
        return X

    def __rmul__(self, other):
        return "theirs", other


class Higher(Plain):
    """An array by protocol that asks to be the one who computes."""

    __array_priority__ = 1e6


class Measured(np.ndarray):
    """A subclass of NumPy's arrays that computes its universal functions itself."""

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        plain = [np.asarray(x) if isinstance(x, np.ndarray) else x for x in inputs]
        if not all(isinstance(x, np.ndarray | float) for x in plain):
            return NotImplemented
        return getattr(ufunc, method)(*plain, **options).view(Measured)


@pytest.mark.parametrize("name", BINARY)
def test_every_operator_leaves_units_to_their_library(name):
    """On either side, and with what NumPy's array gives."""
    op, q = getattr(operator, name), Quantity(X + 1)

    for found, expected in ((op(xs, q), op(X, X + 1)), (op(q, xs), op(X + 1, X))):
        assert isinstance(found, Quantity)
        np.testing.assert_array_equal(found.values, expected)


@pytest.mark.parametrize("ufunc", [np.multiply, np.add, np.hypot, np.logaddexp, np.less])
def test_universal_functions_leave_units_to_their_library(ufunc):
    """Also those that have no counterpart, with other methods and options."""
    q = Quantity(X + 1)

    assert isinstance(ufunc(xs, q), Quantity)
    assert isinstance(ufunc(q, xs), Quantity)
    assert isinstance(ufunc.outer(xs, q), Quantity)
    np.testing.assert_array_equal(ufunc(xs, q, where=True).values, ufunc(X, X + 1))


def test_functions_of_numpy_leave_units_to_their_library():
    """By `__array_function__`, which is called again with arrays of NumPy."""
    assert np.concatenate([xs, Quantity(X)]) == ("theirs", "concatenate")
    assert np.linalg.solve(fw.eye(3), Quantity(X)) == ("theirs", "solve")


def test_subclasses_of_numpys_arrays_stay_what_they_are():
    """Those that say how they compute; masks and matrices, too."""
    q = X.view(Measured)
    masked = np.ma.masked_array(X, [False, True, False])

    for found in (xs * q, q * xs, np.multiply(xs, q), np.multiply(q, xs), xs + q, xs < q):
        assert type(found) is Measured
    for found in (xs * masked, masked * xs, xs + masked, xs < masked):
        assert found.mask.tolist() == [False, True, False]
    found = xs * np.eye(3).view(np.matrix)
    assert type(found) is np.matrix and found.shape == (1, 3)
    with pytest.raises(fw.ArgumentError, match="masked"):
        np.add(xs, masked)
    assert isinstance(xs * X.view(np.recarray), fw.Array)


def test_a_class_with_operators_is_asked_as_python_asks_it():
    """With our array itself; a traced one and a Ragged, too."""
    unit = Unit()

    for found in (xs * unit, unit * xs, xs + unit, unit + xs, xs @ unit, xs << unit, xs < unit):
        assert found == ("theirs", xs) or found[1] is xs
    assert (xs == unit)[1] is xs
    assert (ROWS * unit)[1] is ROWS
    traced = []
    fw.jit(lambda x: [traced.append(x * unit), x][1])(xs)
    assert traced[0][0] == "theirs"


def test_a_class_that_declines_arrays_is_given_their_elements():
    """As with an array of NumPy: what results is an array of objects."""
    expected = ["1.0+-", "2.0+-", "3.0+-"]

    assert (xs * Uncertain()).tolist() == expected
    assert (Uncertain() * xs).tolist() == expected
    with pytest.raises(TypeError, match="unsupported operand"):
        fw.jit(lambda x: x * Uncertain())(xs)


def test_an_operator_that_a_class_lacks_is_an_error_of_ours():
    """With what the operand is, and what to do."""
    for call in (lambda: xs * object(), lambda: xs - Unit(), lambda: Unit() - xs):
        with pytest.raises(fw.ArgumentError, match="which is not an array or a number"):
            call()


def test_numpys_ways_to_refuse():
    """`__array_ufunc__ = None`, and a higher priority."""
    assert (xs * Refusing())[0] == "theirs"
    assert (xs * Higher())[0] == "theirs"
    with pytest.raises(TypeError):
        np.multiply(xs, Refusing())


def test_what_only_gives_its_elements_is_taken():
    """As before: numbers in another library's memory, or in a list."""
    for other in (Plain(), X.tolist(), memoryview(X), np.float64(2), X):
        assert isinstance(xs * other, fw.Array)
        assert isinstance(fw.jit(lambda x, other=other: x * other)(xs), fw.Array)


def test_inside_a_program_an_operand_of_another_library_is_an_error():
    """Its unit cannot be part of a compiled program, and is not dropped either."""
    for other in (Quantity(X), X.view(Measured), Refusing()):
        with pytest.raises(fw.NotTraceableError, match="Take its elements"):
            fw.jit(lambda x, other=other: x + other)(xs)
    with pytest.raises(fw.NotTraceableError, match="class Quantity .* not a Ragged"):
        ROWS * Quantity(np.array([1.0, 2.0]))
    assert fw.jit(lambda x: (x * Refusing())[1])(xs).tolist() == X.tolist()


def test_labels_of_pandas():
    """Index and columns stay, and so does the alignment that pandas does by them."""
    pd = pytest.importorskip("pandas")
    series = pd.Series(X, index=list("abc"))

    for found in (xs * series, series * xs, np.multiply(xs, series), xs + series, xs == series):
        assert isinstance(found, pd.Series) and list(found.index) == list("abc")
    frame = pd.DataFrame({"u": X, "v": X, "w": X})
    assert list((xs * frame).columns) == ["u", "v", "w"]


def test_labels_of_xarray():
    """Dimensions and coordinates."""
    xr = pytest.importorskip("xarray")
    array = xr.DataArray(X, dims="x", coords={"x": [10, 20, 30]})

    for found in (xs * array, array * xs, np.add(xs, array), np.add(array, xs)):
        assert isinstance(found, xr.DataArray) and found.x.values.tolist() == [10, 20, 30]


def test_arrays_of_dask_stay_lazy():
    """In operators, in universal functions, and in NumPy's other functions."""
    da = pytest.importorskip("dask.array")
    lazy = da.from_array(X, chunks=2)

    for found in (xs * lazy, lazy * xs, np.multiply(xs, lazy), np.concatenate([xs, lazy])):
        assert isinstance(found, da.Array)
    np.testing.assert_array_equal((xs * lazy).compute(scheduler="synchronous"), X * X)
