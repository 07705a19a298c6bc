"""What the stub begins with: aliases, protocols and generic classes that no signature says."""

HEAD = '''\
"""The types of the public names, written by `python -m tools.stub`."""

import builtins
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import (
    Any, Concatenate, Generic, Literal, ParamSpec, Protocol, TypeAlias, TypeVar, overload
)

import numpy as np
import numpy.typing as npt

from flatweave.base.dtypes import DType
from flatweave.frontend.values.foreign_arrays import SupportsArray, SupportsBuffer, SupportsDLPack
{imports}

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
S = TypeVar("S", covariant=True)

Number: TypeAlias = builtins.bool | int | float | builtins.complex | np.generic
Flat: TypeAlias = Array | npt.NDArray[Any] | Number
ArrayLike: TypeAlias = (
    Flat | list[Any] | tuple[Any, ...] | range | SupportsArray | SupportsDLPack | SupportsBuffer
)
Argument: TypeAlias = ArrayLike | Ragged | Chunked | Mapping[Any, Any] | None
DTypeLike: TypeAlias = DType | np.dtype[Any] | type | str
Axes: TypeAlias = int | Sequence[int]
Shape: TypeAlias = int | Array | Sequence[int | Array]

class Kind(type, DType):
    """What a dtype is: a value with DType's attributes, and a type in annotations of kernels."""

    def __call__(self, value: Any) -> Any: ...

class Unary(Protocol):
    __name__: str
    @overload
    def __call__(self, x: Ragged) -> Ragged: ...
    @overload
    def __call__(self, x: ArrayLike) -> Array: ...

class Binary(Protocol):
    __name__: str
    @overload
    def __call__(self, x: Ragged, y: ArrayLike | Ragged) -> Ragged: ...
    @overload
    def __call__(self, x: ArrayLike, y: Ragged) -> Ragged: ...
    @overload
    def __call__(self, x: ArrayLike, y: ArrayLike) -> Array: ...

class Ternary(Protocol):
    __name__: str
    def __call__(self, x: ArrayLike, y: ArrayLike, z: ArrayLike) -> Array: ...

class Called(Protocol[P, S]):
    """A function of arrays: called as it was written, or with what becomes one of ours."""

    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> S: ...
    @overload
    def __call__(self, *args: Argument, **kwargs: Argument) -> S: ...

class JittedMethod(Called[P, S], Protocol[P, S]):
    @overload
    def stages(self, *args: P.args, **kwargs: P.kwargs) -> Stages: ...
    @overload
    def stages(self, *args: Argument, **kwargs: Argument) -> Stages: ...

class Jitted(Generic[P, R]):
    __name__: str
    __wrapped__: Callable[P, R]
    traces: int
    target: str | None
    checks: builtins.bool
    deterministic: builtins.bool
    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...
    @overload
    def __call__(self, *args: Argument, **kwargs: Argument) -> R: ...
    @overload
    def stages(self, *args: P.args, **kwargs: P.kwargs) -> Stages: ...
    @overload
    def stages(self, *args: Argument, **kwargs: Argument) -> Stages: ...
    def forget(self) -> None: ...
    @overload
    def __get__(self, instance: None, owner: Any = None) -> Jitted[P, R]: ...
    @overload
    def __get__(
        self: Jitted[Concatenate[Any, Q], R], instance: object, owner: Any = None
    ) -> JittedMethod[Q, R]: ...

{jit}def vmap(f: Callable[P, R], in_axes: Any = 0, out_axes: Any = 0) -> Called[P, R]: ...
'''
