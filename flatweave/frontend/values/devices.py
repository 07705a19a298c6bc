"""Where arrays are: in the memory of the host, whatever target computes with them.

    fw.zeros(3).device            "cpu"
    fw.zeros(3, device="gpu")     ArgumentError
"""

from __future__ import annotations

from typing import Any

from flatweave.base.errors import ArgumentError
from flatweave.base.source import user_location

HOST = "cpu"
DEVICES = (HOST,)


def on_device(device: Any, who: str) -> None:
    """Refuse every device but that which arrays are on; None is any."""
    if device is not None and device != HOST:
        raise ArgumentError(
            f"{who} on the device {device!r}: arrays are in the memory of the host, {HOST!r}.",
            where=user_location(),
            remedy="Leave it out; a target computes elsewhere: with fw.target(\"cuda\"): ..",
        )
