"""Where rows of arrays are read from: files and Dask collections, in the process that needs them.

A source knows how many rows there are and gives pieces of a `Chunked`, which read their rows when
they are asked for; it computes nothing.

    open.py               Chunked.open: paths, a format, columns, and where they are cut
    files.py              files by name, memory for what is read, rows of files as pieces
    formats.py            one reader a format; arrow_columns.py serves two of them
    dask_blocks.py        blocks of Dask collections
"""
