"""Bindings that last no longer than the session that made them (bind argument ``x-scope``).

A binding has a set of owners or, once anybody wanted it for good, none. It goes when its last
owner does. Such bindings are never stored: after a restart there is no session.
"""

from __future__ import annotations

from typing import final

from gateway.bridge.exchanges.exchange import Binding

BindingKey = tuple[str, str, str]  # exchange, queue, binding key


@final
class Scopes:
    """Scoped bindings by owner."""

    __slots__ = ("_owned",)

    def __init__(self) -> None:
        self._owned: dict[int, dict[BindingKey, Binding]] = {}

    def add(self, owner: int, exchange: str, binding: Binding) -> None:
        """`owner` wants a scoped binding, too."""
        owners = binding.owners
        if owners is not None:
            owners.add(owner)
            self._owned.setdefault(owner, {})[(exchange, binding.queue.name, binding.key)] = binding

    def forget(self, exchange: str, binding: Binding) -> None:
        """The binding is gone, or is for good from now on."""
        owners = binding.owners
        binding.owners = None
        key = (exchange, binding.queue.name, binding.key)
        for owner in owners or ():
            owned = self._owned.get(owner)  # `None`: it is gone (`end`)
            # A queue of the same name may have been bound so since this one was deleted.
            if owned is not None and owned.get(key) is binding:
                del owned[key]
                if not owned:
                    del self._owned[owner]

    def end(self, owner: int) -> dict[BindingKey, Binding]:
        """The bindings that a gone `owner` wanted; it is still among the owners of each."""
        return self._owned.pop(owner, {})
