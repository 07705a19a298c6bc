"""What code generation asks of the CPU: vector bits, the instructions it may rely on, libmvec."""

from __future__ import annotations

import functools
import platform
from dataclasses import dataclass

from flatweave.codegen.llvm.isa.libmvec import host_libmvec
from flatweave.runtime.processor import processor

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
        """The CPU that code is compiled for here and now: this one, or what FLATWEAVE_CPU names."""
        return of(processor().features)


@functools.cache
def of(found: frozenset[str]) -> CpuFeatures:
    has_avx512 = found.issuperset(_AVX512)
    return CpuFeatures(
        vector_bits=512 if has_avx512 else 256 if "avx2" in found else 128,
        is_x86=platform.machine().lower() in ("x86_64", "amd64"),
        has_avx512=has_avx512,
        has_vbmi2=has_avx512 and "avx512vbmi2" in found,
        libmvec=host_libmvec(found),
    )
