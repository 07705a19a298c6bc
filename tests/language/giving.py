"""Shared parts of the tests of donated arrays."""

import numpy as np

import flatweave as fw


def address(array):
    """Where the elements of an array are."""
    return np.asarray(array).ctypes.data


def gives(found, expected):
    """The elements that lists say, in a tuple of arrays or a list of them where it is one."""
    if isinstance(found, tuple | list):
        for one, wanted in zip(found, expected, strict=True):
            gives(one, wanted)
    else:
        np.testing.assert_array_equal(np.asarray(found), expected)


def ours(values):
    """An array whose memory nobody else holds."""
    return fw.asarray(values, copy=True)
