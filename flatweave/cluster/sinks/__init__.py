"""Where arrays in chunks are written to: each process writes the chunks that it has.

    sink.py                        what a format says: how it begins, writes rows, and ends
    npy.py, tables.py, zarr.py     one format each; tables.py has Parquet and Arrow
    disks.py                       disks that may be full
"""
