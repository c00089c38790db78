"""Spark's settings: where they are found, and that nobody is told them."""

import pickle

import pytest

from gateway.accounting.locations.settings import (
    Settings,
    SettingsError,
    properties,
    settings_of,
)

TEXT = """
# a comment
! another
spark.hadoop.fs.s3a.endpoint   http://127.0.0.1:9000
spark.hadoop.fs.s3a.access.key=me
spark.hadoop.fs.s3a.secret.key: a/b+c==
spark.hadoop.fs.s3a.bucket.logs.endpoint \\
    https://other
spark.app.name C:\\\\jobs\\t1\\u0021
spark.nothing
"""


def test_a_file_is_read_as_java_reads_properties():
    assert properties(TEXT) == {
        "spark.hadoop.fs.s3a.endpoint": "http://127.0.0.1:9000",
        "spark.hadoop.fs.s3a.access.key": "me",
        "spark.hadoop.fs.s3a.secret.key": "a/b+c==",
        "spark.hadoop.fs.s3a.bucket.logs.endpoint": "https://other",
        "spark.app.name": "C:\\jobs\t1!",
        "spark.nothing": "",
    }


def test_what_one_bucket_has_goes_before_what_all_have():
    settings = Settings(properties(TEXT))
    assert settings.of_bucket("logs", "endpoint") == "https://other"
    assert settings.of_bucket("others", "endpoint") == "http://127.0.0.1:9000"
    assert settings.of_bucket("others", "session.token") == ""


def test_nobody_is_shown_a_secret():
    settings = Settings(properties(TEXT))
    assert repr(settings) == "Settings(...)"
    assert settings.without_secrets("key a/b+c== of me is wrong") == "key ... of ... is wrong"
    assert pickle.loads(pickle.dumps(settings)).of_bucket("logs", "secret.key") == "a/b+c=="


def test_a_file_that_is_named_is_given_to_spark_too_and_goes_before_what_is_usual(tmp_path):
    file = tmp_path / "spark.conf"
    file.write_text(TEXT)
    found = settings_of(file, {"SPARK_CONF_DIR": str(tmp_path)})
    assert (found.file, "spark.app.name" in found.names) == (file, True)


@pytest.mark.parametrize("variable", ["SPARK_CONF_DIR", "SPARK_HOME"])
def test_a_file_that_spark_reads_by_itself_is_read_here_alone(tmp_path, variable):
    directory = tmp_path if variable == "SPARK_CONF_DIR" else tmp_path / "conf"
    directory.mkdir(exist_ok=True)
    (directory / "spark-defaults.conf").write_text(TEXT)
    found = settings_of(None, {variable: str(tmp_path)})
    assert found.of_bucket("x", "access.key") == "me"
    assert (found.file, found.names) == (None, frozenset())


def test_without_a_file_nothing_is_set(tmp_path):
    assert settings_of(None, {"SPARK_HOME": str(tmp_path)}).of_bucket("x", "endpoint") == ""


def test_who_submits_a_program_gives_the_file_to_who_takes_it(tmp_path):
    with pytest.raises(SettingsError, match="is for spark-submit"):
        settings_of(tmp_path / "spark.conf", {"PYSPARK_GATEWAY_PORT": "1"})


def test_a_file_that_cannot_be_read_is_told(tmp_path):
    with pytest.raises(FileNotFoundError):
        settings_of(tmp_path / "none", {})
    (tmp_path / "bad").write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match="is no UTF-8"):
        settings_of(tmp_path / "bad", {})
