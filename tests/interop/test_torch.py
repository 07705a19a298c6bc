"""fw.torch.function: values and gradients in programs of PyTorch."""

import numpy as np
import pytest

import flatweave as fw

torch = pytest.importorskip("torch")


def leaf(*values, dtype=torch.float64):
    """A tensor that wants a gradient."""
    return torch.tensor(values, dtype=dtype, requires_grad=True)


def running(x, w):
    """Sums of products, so that elements depend on each other."""
    return fw.cumsum(fw.sin(x) * w)


def test_gradients():
    """Those of PyTorch, of the first and the second order, by numbers and complex numbers."""
    x, w = leaf(1.0, 2.0, 3.0), leaf(2.0, 1.0, 0.5)
    layer = fw.torch.function(running)
    (layer(x, w) ** 2).sum().backward()
    y, v = leaf(1.0, 2.0, 3.0), leaf(2.0, 1.0, 0.5)
    (torch.cumsum(torch.sin(y) * v, 0) ** 2).sum().backward()

    torch.testing.assert_close(x.grad, y.grad)
    torch.testing.assert_close(w.grad, v.grad)
    z = leaf(1 + 2j, 0.5 - 1j, dtype=torch.complex128)
    for f, given in ((layer, (x, w)), (fw.torch.function(lambda z: z * z * fw.conj(z)), (z,))):
        assert torch.autograd.gradcheck(f, given)
        assert torch.autograd.gradgradcheck(f, given)


def test_structures():
    """Of arguments and results; integers have no gradient, and other values are constants."""
    def f(d, k, scale=1.0):
        return {"y": fw.sum(d["x"] * d["n"]) * scale * k, "at": fw.argmax(d["x"])}

    x = leaf(1.0, 3.0, 2.0)
    out = fw.torch.function(f)({"x": x, "n": torch.arange(3)}, 2, scale=10.0)
    out["y"].backward()

    assert out["at"].item() == 1 and not out["at"].requires_grad
    assert x.grad.tolist() == [0, 20, 40]


def test_dtypes_and_other_arrays():
    """A gradient has the dtype of its tensor; arrays of NumPy and of ours are constants."""
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        x = leaf(1.0, 2.0, dtype=dtype)
        fw.torch.function(lambda x, c: fw.sum(x * x))(x, np.ones(2)).backward()
        assert x.grad.dtype == dtype and x.grad.tolist() == [2, 4]
    x = leaf(1.0, 2.0)
    fw.torch.function(lambda x, c: fw.sum(x * c))(x, fw.iota(2)).backward()
    assert x.grad.tolist() == [0, 1]


def test_rows():
    """Rows are values and offsets of tensors."""
    values = leaf(1.0, 2.0, 3.0)
    offsets = torch.tensor([0, 2, 2, 3])
    layer = fw.torch.function(
        lambda values, offsets: fw.map(lambda row: fw.sum(row * row), fw.Ragged(values, offsets))
    )
    out = layer.apply(values, offsets)
    out.sum().backward()

    assert out.tolist() == [5, 0, 9]
    assert values.grad.tolist() == [2, 4, 6]
    with pytest.raises(fw.Unsupported, match=r"Return rows\.values"):
        fw.torch.function(lambda v, o: fw.Ragged(v, o))(values, offsets)


def test_strided_tensors_and_unused_results():
    """A view of a tensor; a result that the loss does not read."""
    x = torch.arange(12.0, dtype=torch.float64).reshape(3, 4).requires_grad_()
    first, second = fw.torch.function(lambda m: (fw.sum(m, axis=0), m * 2))(x.T)
    first.sum().backward()

    assert x.grad.tolist() == np.ones((3, 4)).tolist()
    assert second.shape == (4, 3)


def test_each_program_is_compiled_once():
    """However often the function is called."""
    calls = []

    def f(x):
        calls.append(1)
        return fw.sum(x * x)

    layer = fw.torch.function(f)
    for _ in range(3):
        x = leaf(1.0, 2.0)
        layer(x).backward()

    assert len(calls) == 2  # for the value and for the gradient


def test_no_function():
    """The message says how it is called."""
    with pytest.raises(fw.ArgumentError, match=r"fw\.torch\.function\(f\)"):
        fw.torch.function(3)
