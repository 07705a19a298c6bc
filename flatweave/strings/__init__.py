"""Strings: columns of UTF-8 text, as bytes and offsets, and what is computed of them.

Everything here uses only public names of the package (`import flatweave as fw`), and is imported
when the first of its names is asked for (`runtime/lazy_import.py`).

    strings.py       lists and columns of other libraries become Strings, and back
    searching.py     where a pattern is: find, count, split; positions that users count, and which
                     bytes are UTF-8
    to_numbers.py    decimal texts become numbers; from_numbers.py is the reverse
    functions.py     what functions of fw do with Strings; numbers that are ordered as the strings
                     are: sorts, keys of groups and joins
"""

from flatweave.strings import functions as functions
from flatweave.strings.from_numbers import strings_of
from flatweave.strings.strings import Strings

__all__ = ["Strings", "strings_of"]
