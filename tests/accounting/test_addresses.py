"""Addresses on command lines: what has no meaning is refused there."""

import argparse

import pytest

from gateway.accounting.addresses import address, address_here


def test_a_path_and_a_uri_are_taken_as_they_stand():
    for text in ("a/b", "file:///a/b", "s3a://bucket/a", "hdfs://name/a"):
        assert address(text) == text
    assert address_here("file:///a/b") == "file:///a/b"


@pytest.mark.parametrize("text", ["gopher://a/b", "s3a://key@bucket/a", "s3a:///a"])
def test_what_means_nothing_is_refused(text):
    with pytest.raises(argparse.ArgumentTypeError):
        address(text)


def test_where_nothing_is_put_in_its_place_at_once_no_book_is_put():
    with pytest.raises(argparse.ArgumentTypeError, match="only a file system of this machine can"):
        address_here("s3a://bucket/books")
