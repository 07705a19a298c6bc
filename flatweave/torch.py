"""`fw.torch.function(f)`: a function of ours in a program of PyTorch, with its gradient.

    layer = fw.torch.function(f)
    layer(x, w).sum().backward()          x.grad and w.grad by fw.vjp

Tensors on the CPU are shared in both directions, not copied.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from flatweave.base.errors import Unsupported
from flatweave.cotangents import Flat, arrays_of
from flatweave.frontend.functions.derivatives import need_function
from flatweave.frontend.values.array import Array
from flatweave.frontend.values.tree import unflatten


def function(f: Callable[..., Any]) -> TorchFunction:
    """`f` as a function of PyTorch's tensors, which autograd differentiates, by `fw.vjp`.

    Arguments are tensors on the CPU, or structures of them; what is no array in them is a constant,
    and each new one compiles `f` anew. Results are tensors in the structure that `f` gives. Both
    share their memory with Flatweave's arrays. Gradients have gradients, too.

    Raises ArgumentError for what is no function, Unsupported for tensors on a device and where `f`
    gives a Ragged, ImportError without PyTorch.
    """
    need_function(f, "torch.function(f)")
    return TorchFunction(f)


class TorchFunction:
    """A function of tensors; `apply` is another name for a call, as of autograd's functions."""

    def __init__(self, f: Callable[..., Any]) -> None:
        functools.update_wrapper(self, f, updated=())
        self.f = f
        self._flat: dict[Any, Flat] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        torch = _torch()
        arrays, rebuild, rest = arrays_of((args, kwargs), functools.partial(_is_array, torch))
        tensors = [_as_tensor(torch, array) for array in arrays]
        moving = tuple(k for k, x in enumerate(tensors) if x.is_floating_point() or x.is_complex())
        flat = self._flat.get((rest, moving))
        if flat is None:

            def of_arrays(*values: Any) -> Any:
                positional, named = rebuild(values)
                return self.f(*positional, **named)

            flat = self._flat[rest, moving] = Flat(of_arrays, moving)
        results = _bridge().apply(flat, *tensors)
        return unflatten(flat.out, results)

    apply = __call__


def _torch() -> ModuleType:
    import torch  # optional dependency

    found: ModuleType = torch
    return found


def _is_array(torch: Any, value: Any) -> bool:
    return isinstance(value, torch.Tensor | np.ndarray | Array)


def _as_tensor(torch: Any, array: Any) -> Any:
    """An argument as a tensor, over the same memory."""
    if isinstance(array, Array):
        return torch.from_dlpack(array)
    tensor = torch.as_tensor(array)
    if tensor.device.type != "cpu":
        raise Unsupported.here(
            f"fw.torch.function of a tensor on {tensor.device}: it takes tensors on the CPU.",
            "Move it with x.cpu().",
        )
    return tensor


@functools.cache
def _bridge() -> Any:
    """The function of autograd that calls a Flat; its gradient is another call."""
    torch: Any = _torch()

    class Bridge(torch.autograd.Function):  # type: ignore[misc]
        """forward: the results; backward: the cotangents, conjugated as PyTorch has gradients."""

        @staticmethod
        def forward(ctx: Any, flat: Flat, *tensors: Any) -> Any:
            ctx.flat = flat
            ctx.save_for_backward(*tensors)
            plain = (x.detach().resolve_conj().resolve_neg() for x in tensors)
            found = tuple(map(torch.from_dlpack, flat(*plain)))
            ctx.mark_non_differentiable(
                *(x for k, x in enumerate(found) if k not in flat.floats)
            )
            return found

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            flat, tensors = ctx.flat, ctx.saved_tensors
            given = [torch.conj_physical(cotangents[k]) for k in flat.floats]
            gradients = [None] * len(tensors)
            found = Bridge.apply(flat.back, *tensors, *given) if given and flat.moving else ()
            for k, gradient in zip(flat.moving, found):
                gradients[k] = torch.conj_physical(gradient)
            return (None, *gradients)

    return Bridge
