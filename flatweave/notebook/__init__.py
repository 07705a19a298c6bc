"""Arrays and rows as a notebook shows them: facts, and a small picture.

Colours of text and lines are those of the notebook, so that they fit light and dark ones. Nothing
here takes long: of large arrays some elements are looked at, and of those on a device none.
"""
