"""Arrays that stay on a device until somebody looks at their elements.

    ys = jit(f, target="cuda")(xs)      at once, the kernels may still run
    g(ys)                               nothing is copied
    np.asarray(ys), print(ys), ys[0]    waits, raises what went wrong in f at its line, copies once
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from flatweave.array_ir.fault import Fault, fault_of
from flatweave.base.errors import UserError
from flatweave.base.plan import Plan, Status
from flatweave.frontend.values.array import HostArray, describe, host_array
from flatweave.frontend.values.exchange import CPU, Values, on_device
from flatweave.runtime.devices import exchange
from flatweave.runtime.devices.arrays import Resident


class Teller(Protocol):
    """What was called: it knows the user's error for a fault."""

    def user_error_of(self, fault: Fault) -> UserError:
        """The error at the user's line."""


class DeviceArray(HostArray):
    """An array in a device's memory; what the host does with its elements, it does with a copy."""

    __slots__ = ("resident",)

    def __init__(self, resident: Resident) -> None:
        self.resident = resident

    @property
    def _values(self) -> Values:  # type: ignore[override]
        return self.resident.values()

    def _become(self, other: Any) -> None:
        """Let this object stand for the value of another one on the device."""
        self.resident = other.resident

    @property
    def shape(self) -> tuple[int, ...]:
        return self.resident.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.resident.dtype

    @property
    def ndim(self) -> int:
        return self.resident.ndim

    @property
    def size(self) -> int:
        return self.resident.size

    @property
    def nbytes(self) -> int:
        return self.resident.nbytes

    @property
    def device(self) -> str:
        """Where it is, as a target is named: "cuda:0"."""
        found = self.resident.device
        return f"{found.kind}:{found.number}"

    def to_device(self, device: Any, /, *, stream: Any = None) -> DeviceArray | HostArray:
        """The array itself, or for "cpu" one on the host; ArgumentError for other devices."""
        if device == self.device:
            return self
        on_device(device, "to_device")
        return HostArray(self._values)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """What a notebook shows: it would ask for the text, too, for which elements are copied."""
        known = at_hand(self) is not None
        text = repr(self) if known else f"Array({describe(self)} on {self.device})"
        return {"text/plain": text, "text/html": self._repr_html_() or ""}

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return iter(HostArray(self._values))

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return exchange.interface(self.resident)

    def __dlpack__(
        self, *, stream: Any = None, max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None, copy: bool | None = None,
    ) -> object:
        here = self.__dlpack_device__()
        if here[0] == CPU or (dl_device is not None and dl_device[0] == CPU):
            if here[0] != CPU and copy is False:
                raise BufferError(f"an array on {self.device} is copied to the CPU")
            return super().__dlpack__(max_version=max_version, dl_device=dl_device, copy=copy)
        if dl_device not in (None, here):
            raise BufferError(f"{self.resident.device.name} gives arrays to itself and the CPU")
        return exchange.capsule(self.resident, max_version, copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        return exchange.dlpack_device(self.resident)


def at_hand(array: HostArray) -> Values | None:
    """The values where they are in the host's memory; None where they would be copied there."""
    return array.resident.copied if type(array) is DeviceArray else array.to_numpy()


def shaped(array: HostArray, shape: tuple[int, ...]) -> HostArray:
    """The same elements under another shape, where they are; raises ValueError."""
    if type(array) is HostArray:
        return HostArray(array._values.reshape(shape))
    if type(array) is DeviceArray:
        return DeviceArray(array.resident.reshape(*shape))
    return host_array(array.to_numpy().reshape(shape).view())


def device_array(resident: Resident, teller: Teller) -> DeviceArray:
    """A result that stays where it is; `teller` is what was called for it."""
    report = resident.report
    if report is not None and report.tell is None:

        def tell(status: Status, plan: Plan) -> UserError:
            return teller.user_error_of(fault_of(status, plan))

        report.tell = tell
    return DeviceArray(resident)
