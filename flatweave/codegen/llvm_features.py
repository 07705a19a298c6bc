"""What code generation asks of the CPU: vector bits, the instructions it may rely on, libmvec."""

from __future__ import annotations

import functools
import platform
from dataclasses import dataclass

from llvmlite import binding

from flatweave.codegen.libmvec import host_libmvec

_AVX512 = ("avx512f", "avx512dq", "avx512bw", "avx512vl")


@dataclass(frozen=True, slots=True)
class CpuFeatures:
    """A CPU as code generation sees it; the default is any CPU that LLVM knows."""

    vector_bits: int = 128
    is_x86: bool = False
    has_avx512: bool = False
    has_vbmi2: bool = False
    libmvec: frozenset[str] = frozenset()

    @staticmethod
    def host() -> CpuFeatures:
        """The CPU this runs on."""
        return _host()


@functools.cache
def _host() -> CpuFeatures:
    found = dict(binding.get_host_cpu_features())
    has_avx512 = all(found.get(name, False) for name in _AVX512)
    return CpuFeatures(
        vector_bits=512 if has_avx512 else 256 if found.get("avx2", False) else 128,
        is_x86=platform.machine().lower() in ("x86_64", "amd64"),
        has_avx512=has_avx512,
        has_vbmi2=has_avx512 and found.get("avx512vbmi2", False),
        libmvec=host_libmvec(found),
    )
