"""Functions of NumPy that the array API standard lacks: medians, sums without NaN, sets, samples.

They are compositions of the functions below them.
"""
