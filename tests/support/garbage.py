"""What only the cycle collector could give back."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator

import pytest


@pytest.fixture
def by_hand() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


def garbage_of(do: Callable[[], object]) -> list[str]:
    """The gateway's objects that hold each other, and nobody else holds, when that is done.

    Of those alone that it has made: what other tests and the threads of their tools left may end as
    late as this. And of the gateway's only: what ends can leave more behind.
    """
    while gc.collect():
        pass
    gc.freeze()  # what there is by now is not looked at, neither here nor by any later test
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        do()
        gc.collect()
        ours = (o for o in gc.garbage if str(getattr(o, "__module__", "")).startswith("gateway."))
        return sorted(repr(o)[:200] for o in ours)
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
