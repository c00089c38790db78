"""Which exceptions end the process: those after which a turn may be written by half.

A defect ends its connection, or its turn, and all others go on. Not so one in what records a turn:
some of its records or rows would be missing, or half of one be there, and nobody could say which.
Nor a refusal of memory, which may come anywhere. Nothing of such a turn is to reach the store: the
next life begins as after a kill.
"""

from __future__ import annotations

from typing import Final

RECORDING: Final = ("gateway.audit.", "gateway.store.", "gateway.bridge.ledger")


def past_mending(error: BaseException) -> bool:
    """Whether memory was refused, or the exception has passed what records a turn."""
    if isinstance(error, MemoryError):
        return True
    traceback = error.__traceback__
    while traceback is not None:
        if str(traceback.tb_frame.f_globals.get("__name__")).startswith(RECORDING):
            return True
        traceback = traceback.tb_next
    return False
