"""What Java may have, and what is said where that was too little."""

import argparse

import pytest

from gateway.accounting import __main__ as program
from gateway.accounting.memory import GIB, memory, too_little, usual

HEAP = (
    "Py4JJavaError: An error occurred\n: java.lang.OutOfMemoryError: Java heap space\n\tat Java\n"
)


@pytest.mark.parametrize(("text", "taken"), [("512m", "512m"), ("2G", "2g"), ("1024M", "1024m")])
def test_a_size_is_as_java_has_it(text, taken):
    assert memory(text) == taken


@pytest.mark.parametrize("text", ["", "2", "2gb", "0g", "-1g", "1.5g", "much", "9" * 5000 + "g"])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(argparse.ArgumentTypeError, match="is no size as 512m or 4g"):
        memory(text)


@pytest.mark.parametrize(
    ("octets", "there_is", "told"),
    [
        (0, 8 * GIB, "1g"),
        (4 * GIB - 1, 8 * GIB, "1g"),
        (4 * GIB, 8 * GIB, "2g"),
        (10 * GIB, 8 * GIB, "3g"),
        (100 * GIB, 8 * GIB, "4g"),
        (100 * GIB, GIB, "1g"),
    ],
)
def test_java_has_more_for_a_larger_log_and_half_of_what_there_is_at_most(octets, there_is, told):
    assert usual(octets, there_is) == told


def test_a_container_has_what_its_limit_says(monkeypatch, tmp_path):
    limit = tmp_path / "memory.max"
    monkeypatch.setattr("gateway.accounting.memory.LIMIT", limit)
    limit.write_text(f"{4 * GIB}\n")
    assert usual(100 * GIB) == "2g"
    limit.write_text("max\n")
    assert int(usual(10_000 * GIB)[:-1]) > 2


def test_less_than_spark_starts_with_is_refused_before_it_is_started(capsys):
    with pytest.raises(SystemExit) as ended:
        program.main(["compare", "log", "--against", "log", "--out", "out", "--memory=511m"])
    assert ended.value.code == 2
    assert "'511m' is too little: 512m at least" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("said", "ended", "given", "told"),
    [
        (HEAP, None, "1g", "Java had not enough memory with 1g: give it more with --memory"),
        (HEAP, None, None, "Java had not enough memory: give it more with --memory"),
        ("the answer is empty", 52, "2g", "Java had not enough memory with 2g"),
        ("the answer is empty", -9, None, "Java was killed, as by a system without memory"),
        ("the answer is empty", 137, None, "Java was killed"),
        ("the answer is empty", 1, None, "Java has ended, with exit code 1"),
    ],
)
def test_a_failure_for_want_of_memory_names_what_gives_more(said, ended, given, told):
    found = too_little(said, ended, given)
    assert found is not None
    assert found.startswith(told)
    assert "\n" not in found


@pytest.mark.parametrize(
    "said",
    [
        "Caused by: java.lang.OutOfMemoryError: GC overhead limit exceeded\n\tat Java",
        "org.apache.spark.memory.SparkOutOfMemoryError: [AGGREGATE_OUT_OF_MEMORY] No enough memory "
        "for aggregation SQLSTATE: 82001",
        "[UNABLE_TO_ACQUIRE_MEMORY] Unable to acquire 65536 bytes of memory, got 0. SQLSTATE: 0",
        "org.apache.spark.SparkException: Not enough memory to build and broadcast the table to "
        "all worker nodes. As a workaround, you can either disable broadcast by ...",
        "There is not enough memory to build hash map.",
        "[POINTER_ARRAY_OUT_OF_MEMORY] Not enough memory to grow pointer array SQLSTATE: 82002",
    ],
)
def test_want_of_memory_is_known_by_whatever_words_spark_has_for_it(said):
    told = too_little(f"An error occurred while calling o7.collect.\n: {said}", None, "512m")
    assert told == "Java had not enough memory with 512m: give it more with --memory"


def test_another_failure_is_none_for_want_of_memory():
    assert too_little("No space left on device", None, "1g") is None
