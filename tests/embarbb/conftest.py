"""The operations of EmbArBB are compositions: each is tried on `interp`, and on `cpu` as well where
there is time for it (`slow`)."""

from collections.abc import Iterator

import pytest

from flatweave.base.config import config


@pytest.fixture(params=["interp", pytest.param("cpu", marks=pytest.mark.slow)])
def target(request) -> Iterator[str]:
    """The name of each target, which is also in force."""
    with config.scoped(target=request.param):
        yield request.param
