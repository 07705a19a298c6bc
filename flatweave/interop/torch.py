"""`fw.torch.function(f)`: a function of ours in a program of PyTorch, with its gradient.

    layer = fw.torch.function(f)
    layer(x, w).sum().backward()          x.grad and w.grad by fw.vjp

Tensors are shared in both directions, not copied; those on a GPU of NVIDIA's are computed there.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from types import ModuleType
from typing import Any

import numpy as np

from flatweave.base.errors import Unsupported
from flatweave.frontend.functions.derivatives import need_function
from flatweave.frontend.values.array import Array
from flatweave.frontend.values.tree import unflatten
from flatweave.interop.gradients import Flat, arrays_of
from flatweave.jit import target

TARGETS = {"cpu": "", "cuda": "cuda"}
"""Of a kind of PyTorch's devices: our target; none where the caller's is kept."""


def function(f: Callable[..., Any]) -> TorchFunction:
    """`f` as a function of PyTorch's tensors, which autograd differentiates, by `fw.vjp`.

    Arguments are tensors, or structures of them; what is no array in them is a constant, and each
    new one compiles `f` anew. Where tensors are on a GPU of NVIDIA's, `f` runs there, too. Results
    are tensors on the same device, in the structure that `f` gives. Both share their memory with
    Flatweave's arrays; on a GPU complex and bf16 tensors are copied by way of the host. Gradients
    have gradients, too.

    Raises ArgumentError for what is no function, Unsupported for tensors on different devices, on
    devices that are no target, and where `f` gives a Ragged, ImportError without PyTorch.
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
        tensors = _tensors(torch, arrays)
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


def _tensors(torch: Any, arrays: Sequence[Any]) -> list[Any]:
    """Arguments as tensors over the same memory, on the device of those that are tensors."""
    devices = {x.device for x in arrays if isinstance(x, torch.Tensor)}
    if len(devices) > 1 or any(device.type not in TARGETS for device in devices):
        raise Unsupported.here(
            f"fw.torch.function of tensors on {' and '.join(sorted(map(str, devices)))}: it takes "
            "tensors on the CPU, or on one GPU of NVIDIA's.",
            "Move them with x.cpu() or x.cuda().",
        )
    found = (torch.from_dlpack(x) if isinstance(x, Array) else torch.as_tensor(x) for x in arrays)
    device = next(iter(devices), "cpu")
    return [x.to(device) for x in found]


def _on(device: Any) -> AbstractContextManager[None]:
    """While it is entered, functions run where tensors of a device are."""
    name = TARGETS[device.type]
    return target(f"{name}:{device.index}") if name else contextlib.nullcontext()


def _plain(torch: Any, tensor: Any) -> Any:
    """A tensor as an argument: numbers without a conjugation or a sign that is still to be applied,
    and on a GPU in row-major order."""
    plain = tensor.detach().resolve_conj().resolve_neg()
    if plain.device.type == "cpu":
        return plain
    if plain.is_complex() or plain.dtype == torch.bfloat16:
        return plain.cpu()
    return plain.contiguous()


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
            device = tensors[0].device if tensors else torch.device("cpu")
            with _on(device):
                values = flat(*(_plain(torch, x) for x in tensors))
            found = tuple(torch.from_dlpack(value).to(device) for value in values)
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
