"""Devices with memory of their own: CUDA's GPUs and whatever OpenCL reaches.

`device.py` says what all kinds share, and each kind has a driver; `programs.py` runs a program
whose host steps are Python, and `arrays.py` holds results that stay where they were computed.
"""
