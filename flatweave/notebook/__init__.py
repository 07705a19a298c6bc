"""Arrays and rows as a notebook shows them: facts, and a small picture.

    pixels    numbers as a picture of coloured pixels, and as PNG
    values    the HTML of an Array and of a Ragged

Colours of text and lines are those of the notebook, so that they fit light and dark ones. Nothing
here takes long: of large arrays some elements are looked at, and of those on a device none.
"""
