"""Devices with separate memory: CUDA's GPUs and all devices of OpenCL.

`device.py` says what all kinds share, and each kind has a driver; `programs.py` runs a program
whose host steps are Python, and `arrays.py` holds results that stay where they were computed.
"""

from flatweave.runtime.lazy_import import lazy_modules

__getattr__ = lazy_modules(__name__)
