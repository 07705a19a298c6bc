"""What is installed, what runs here, what is kept on disk: for reports of faults, and for disks.

    python -m flatweave            versions, this CPU, devices, the caches
    python -m flatweave --clear    remove compiled code and what was measured
"""

from __future__ import annotations

import argparse
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata

from llvmlite import binding

from flatweave.base import VERSION
from flatweave.base.config import config
from flatweave.base.errors import UserError
from flatweave.base.pretty import counted, size, table
from flatweave.codegen.llvm import isa
from flatweave.runtime import tuned
from flatweave.runtime.cache import DiskCache, process_cache
from flatweave.runtime.devices import cuda, opencl
from flatweave.runtime.processor import processor
from flatweave.runtime.support import thread_count

PACKAGES = ("numpy", "llvmlite", "pyopencl", "cuda-bindings")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(
        prog="python -m flatweave", description="What is installed, and what runs here."
    )
    parser.add_argument(
        "--clear", action="store_true", help="remove compiled code and measurements from the disk"
    )
    options = parser.parse_args(arguments)
    if options.clear:
        for what, folder in kept():
            removed = counted(folder.clear(), "file")
            sys.stdout.write(f"{what}: {removed} removed from {folder.folder}\n")
        return 0
    sys.stdout.write(report() + "\n")
    return 0


def report() -> str:
    """A line for each fact."""
    on_disk = list(_disk())  # before devices are opened, for which kernels may be kept
    return table((), [*_versions(), *_cpu(), *_devices(), *on_disk])


def kept() -> list[tuple[str, DiskCache]]:
    """What is kept on disk, and where; nothing with the cache switched off."""
    if config.no_cache:
        return []
    return [("compiled code", process_cache()), ("measurements", tuned.folder())]


def _versions() -> Iterator[tuple[str, str]]:
    yield "flatweave", VERSION
    yield "Python", f"{platform.python_version()} on {platform.platform()}"
    for name in PACKAGES:
        try:
            yield name, metadata.version(name)
        except metadata.PackageNotFoundError:
            yield name, "not installed"
    yield "LLVM", ".".join(map(str, binding.llvm_version_info))


def _cpu() -> Iterator[tuple[str, str]]:
    vectors = isa.here()
    yield "cpu", f"{processor().name}, vectors of {vectors.register_bits} bits"
    yield "threads", str(thread_count())


def _devices() -> Iterator[tuple[str, str]]:
    kinds: tuple[tuple[str, Callable[[], list[str]]], ...] = (
        ("opencl", opencl.names), ("cuda", cuda.names),
    )  # fmt: skip
    for kind, names in kinds:
        try:
            for number, name in enumerate(names()):
                yield f"{kind}:{number}", name
        except UserError as reason:
            yield kind, f"none: {reason.message}"


def _disk() -> Iterator[tuple[str, str]]:
    for what, folder in kept():
        count, bytes_used = folder.usage()
        limit = f"of at most {size(folder.limit)}"
        yield what, f"{counted(count, 'file')}, {size(bytes_used)} {limit}, in {folder.folder}"
    if config.no_cache:
        yield "compiled code", "not kept (FLATWEAVE_NO_CACHE)"


if __name__ == "__main__":
    sys.exit(main())
