"""How Spark is started: what it is told, and where others would see that."""

import os
import shlex
import subprocess
import sys
from types import SimpleNamespace

import pytest
from py4j.clientserver import ClientServerConnection
from pyspark import SparkContext
from pyspark.sql import functions as F  # noqa: N812
from support.buckets import bucket

from gateway.accounting.locations.settings import NONE, SUBMITTED, SettingsError, settings_of
from gateway.accounting.session import (
    ARGUMENTS,
    check_reach,
    java_ended,
    memory_for,
    spark_session,
    told_to_java,
)

SECRET = "spark.hadoop.fs.s3a.secret.key"


def test_java_is_told_where_settings_stand_and_not_what_they_are(tmp_path, monkeypatch):
    file = tmp_path / "spark's.conf"
    file.write_text(f"{SECRET} hidden\n")
    monkeypatch.setenv(ARGUMENTS, "--conf a=b pyspark-shell")
    with told_to_java(settings_of(file, {})):
        told = shlex.split(os.environ[ARGUMENTS])
    assert told == ["--properties-file", str(file), "--conf", "a=b", "pyspark-shell"]
    assert os.environ[ARGUMENTS] == "--conf a=b pyspark-shell"


INTERRUPTED = """
import logging, sys
from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.accumulators import AccumulatorTCPServer, AccumulatorUnixServer
from gateway.accounting import session
session.keep_quiet()
try:
    raise KeyboardInterrupt
except KeyboardInterrupt:
    logging.exception("KeyboardInterrupt while sending command.")  # as py4j does
    for server in (AccumulatorTCPServer, AccumulatorUnixServer):
        server.handle_error(object.__new__(server), None, ("127.0.0.1", 1))  # as socketserver does
class Gone:
    def stop(self):
        raise Py4JError("Java has ended")
context = object.__new__(SparkContext)
context._jsc = Gone()
context.stop()
assert context._jsc is None
"""


def test_of_a_job_that_is_interrupted_no_traceback_is_on_the_terminal():
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, check=True
    )
    assert done.stdout + done.stderr == ""


def test_without_settings_java_is_told_nothing(monkeypatch):
    monkeypatch.delenv(ARGUMENTS, raising=False)
    with told_to_java(NONE):
        assert ARGUMENTS not in os.environ


def test_java_that_runs_already_cannot_be_given_other_memory(tmp_path, monkeypatch):
    monkeypatch.setenv(SUBMITTED, "4711")
    session = spark_session("tests", "local[1]", tmp_path, memory="2g")
    with (
        pytest.raises(SettingsError, match=r"--memory is --driver-memory of spark-submit"),
        session,
    ):
        pass


def test_java_has_what_the_log_wants_unless_somebody_says_otherwise(tmp_path, monkeypatch):
    monkeypatch.delenv(SUBMITTED, raising=False)
    file = tmp_path / "spark.conf"
    file.write_text("spark.driver.memory 2g\n")
    assert memory_for(1000, "local[2]", NONE, None) == "1g"
    assert memory_for(1000, "local[2]", NONE, "512m") == "512m"
    assert memory_for(1000, "local[2]", settings_of(file, {}), None) is None
    assert memory_for(1000, "k8s://cluster", NONE, None) is None
    monkeypatch.setenv(SUBMITTED, "4711")
    assert memory_for(1000, "local[2]", NONE, None) is None


def test_java_is_told_where_steps_are_made_and_does_not_look_for_it(spark):
    spark.range(1).collect()
    context = spark.sparkContext
    site = context._jsc.sc().getCallSite()
    assert site.longForm() == "tests"
    assert site.shortForm() == context.getLocalProperty("callSite.short")


def test_how_java_has_ended_is_known(monkeypatch):
    monkeypatch.setattr(SparkContext, "_gateway", None)
    assert java_ended(OSError()) is None
    with subprocess.Popen(["sh", "-c", "exit 52"]) as process:
        process.wait()
        monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(proc=process))
        assert java_ended(ConnectionRefusedError()) == 52
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
        monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(proc=process))
        assert java_ended(OSError()) is None


def test_where_spark_cannot_write_is_told_with_what_it_needs(spark, tmp_path):
    check_reach(spark, tmp_path, None)
    with pytest.raises(SettingsError) as raised:
        check_reach(spark, tmp_path, bucket(tmp_path) / "out")
    told = str(raised.value)
    assert told.startswith("Spark cannot reach s3a://bucket/out: it needs ")
    assert "org.apache.hadoop:hadoop-aws:3." in told


def test_what_a_function_is_java_is_asked_once(spark, monkeypatch):
    asked: list[str] = []
    send = ClientServerConnection.send_command

    def heard(connection: ClientServerConnection, command: str, *others: object) -> str:
        asked.append(command)
        return send(connection, command, *others)

    monkeypatch.setattr(ClientServerConnection, "send_command", heard)
    for _ in range(2):
        asked.clear()
        F.upper(F.coalesce("a", F.lit("b")))
    assert [each for each in asked if each.startswith("c\n")]  # called, and no more
    assert [each for each in asked if each.startswith("r\n")] == []
