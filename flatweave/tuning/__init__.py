"""fw.tune: which version of a nest is faster at which sizes, measured on the user's inputs.

Here versions are measured and thresholds fitted; `runtime/tuned.py` keeps them.
"""
