"""The base of every stage, which knows nothing of arrays; which Flatweave this is."""

# -- version --------------------------------------------------------------------------------------
#
# Which Flatweave this is, for processes that send each other programs.


VERSION = "0.1.0"
FORMAT = 1
"""Of the text of programs, and of how workers are asked: one more when those of before would not
understand it, or understand something else."""
