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


def test_tensors_on_different_devices():
    """Those on one device are computed there; others are refused, by their names."""
    layer = fw.torch.function(lambda x, y: x + y)
    with pytest.raises(fw.Unsupported, match="tensors on cpu and meta"):
        layer(torch.ones(2), torch.ones(2, device="meta"))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("dtype", [
    torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64,
])  # fmt: skip
def test_tensors_on_a_gpu(dtype):
    """Results and gradients are there, too; views, and arrays of the host as constants."""
    layer = fw.torch.function(lambda x, n, c: (fw.cumsum(x * x * c, axis=0), fw.sum(n)))
    wide = torch.arange(1, 7).reshape(3, 2).to(dtype)
    given = [wide.to(where).requires_grad_() for where in ("cpu", "cuda")]
    found = [layer(x.T, torch.arange(5, device=x.device), np.float32(2)) for x in given]
    for values, count in found:
        values.abs().sum().backward()
        assert count.item() == 10

    assert found[1][0].is_cuda and found[1][1].is_cuda and given[1].grad.is_cuda
    torch.testing.assert_close(found[1][0].cpu(), found[0][0])
    torch.testing.assert_close(given[1].grad.cpu(), given[0].grad)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_rows_on_a_gpu():
    """Trained there for some steps, as on the CPU."""
    def loss(values, offsets, w):
        rows = fw.ragged(values, offsets=offsets)
        return fw.sum(fw.map(lambda row: fw.sum(fw.exp(row * w)), rows))

    def trained(where):
        w = torch.tensor(0.5, device=where, dtype=torch.float64, requires_grad=True)
        values = torch.linspace(-1, 1, 1000, dtype=torch.float64, device=where)
        offsets = torch.tensor([0, 300, 300, 1000], device=where)
        layer, steps = fw.torch.function(loss), torch.optim.SGD([w], lr=1e-3)
        for _ in range(3):
            steps.zero_grad()
            layer(values, offsets, w).backward()
            steps.step()
        return w.detach().cpu()

    torch.testing.assert_close(trained("cuda"), trained("cpu"))


def test_no_function():
    """The message says how it is called."""
    with pytest.raises(fw.ArgumentError, match=r"fw\.torch\.function\(f\)"):
        fw.torch.function(3)
