"""A password on standard input is text that ends, or there is none."""

import io
import sys

import click
import pytest

from gateway.cli.options import given_password


def test_a_line_leaves_what_comes_behind_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"secret\nbody")))
    assert given_password(line=True) == "secret\n"
    assert given_password() == "body"


def test_without_standard_input_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(click.UsageError, match="there is no standard input"):
        given_password()
