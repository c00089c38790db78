"""A host of its own at the other end of a link, whose peers can vanish without a word.

A network namespace of the kernel's, with one veth pair; only root can make one.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, TypeVar

HERE = "198.51.100.1"
THERE = "198.51.100.2"
_NEW_NETWORK = 0x40000000

T = TypeVar("T")


class FarHost:
    """That host; `OSError` where there cannot be one."""

    def __init__(self) -> None:
        self._name = f"far{os.getpid()}"
        self._near = f"fn{os.getpid()}"

    def __enter__(self) -> Self:
        name, near = self._name, self._near
        _ip("netns", "add", name)
        try:
            _ip("link", "add", near, "type", "veth", "peer", "name", "far", "netns", name)
            _ip("addr", "add", f"{HERE}/24", "dev", near)
            _ip("link", "set", near, "up")
            _ip("-n", name, "addr", "add", f"{THERE}/24", "dev", "far")
            _ip("-n", name, "link", "set", "far", "up")
        except OSError:
            _ip("netns", "del", name)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _ip("link", "del", self._near)
        _ip("netns", "del", self._name)

    def does(self, call: Callable[[], T]) -> T:
        """Make it there: the sockets that it opens stay there."""
        made: list[T] = []

        def there() -> None:
            with open(f"/run/netns/{self._name}") as namespace:
                if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), _NEW_NETWORK):
                    raise OSError(ctypes.get_errno(), "setns")
            made.append(call())

        thread = threading.Thread(target=there)  # which alone moves there
        thread.start()
        thread.join()
        return made[0]

    def vanish(self) -> None:
        """Nothing comes from it any more, and nothing goes there."""
        _ip("-n", self._name, "link", "set", "far", "down")


def _ip(*arguments: str) -> None:
    done: subprocess.CompletedProcess[Any] = subprocess.run(
        ["ip", *arguments], capture_output=True, check=False
    )
    if done.returncode:
        raise OSError(done.stderr.decode(errors="replace").strip())


def possible() -> bool:
    """Whether there can be one here."""
    name = f"try{os.getpid()}"
    try:
        _ip("netns", "add", name)
        _ip("netns", "del", name)
    except OSError:
        return False
    return True
