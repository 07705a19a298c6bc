"""Where rows of arrays are read from: files, each in whichever process needs them.

    open.py       Chunked.open: paths, a format, columns, and where they are cut
    paths.py      files by name: a path, a list, a folder, a pattern, what fsspec knows
    memory.py     memory for what is read
    stored.py     rows of files as a piece of a Chunked; columns of the same rows are read at once
    blocks.py     blocks of Dask collections
    npy.py, parquet.py, ipc.py, zarr.py, text.py       one format each; arrow.py serves two of them
"""
