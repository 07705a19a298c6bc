"""Functions of NumPy that the array API standard lacks: medians, sums without NaN, sets, samples.

Everything here uses only public names of the package (`import flatweave as fw`). Each module is
imported when the first of its names is asked for.
"""
