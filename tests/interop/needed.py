"""What a test does when a peer that it needs is not installed."""

import os

import pytest
from interop import installed


def needed(peer: str) -> None:
    """Skip the test, saying how to install the peer; with CI_INTEROP=1 fail it."""
    lacking = installed.missing(peer)
    if lacking is None:
        return
    without(f"{lacking}; install it: tests/interop/install {peer}")


def without(text: str) -> None:
    """Skip the test, which lacks something; with CI_INTEROP=1 fail it."""
    if os.environ.get("CI_INTEROP") == "1":
        pytest.fail(text)
    pytest.skip(text)
