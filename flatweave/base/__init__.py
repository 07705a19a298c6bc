"""The base of every stage, which knows nothing of arrays: errors, lines, switches, text.

A module belongs here if it imports nothing of Flatweave but its neighbours, and if more than one
folder above needs it.
"""
