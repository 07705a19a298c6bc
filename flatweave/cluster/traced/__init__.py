"""What a trace goes through before it is divided: passes that are for chunks alone.

    prepare.py      all of them, in order
    segments.py     scans and reductions of segments become plain ones, over pairs
    columns.py      what goes down columns becomes operations on rows; folds.py for reductions
    sorts.py        keys that are made of values from outside are computed before
    nests.py        offsets of rows that a nest gives become a scan of lengths
"""
