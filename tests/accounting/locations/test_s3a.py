"""What Hadoop's settings of a bucket come to for pyarrow."""

import pytest

from gateway.accounting.locations.s3a import arguments
from gateway.accounting.locations.settings import Settings

KEYS = {"access.key": "me", "secret.key": "hidden"}
HADOOP = "org.apache.hadoop.fs.s3a."
AMAZON = "software.amazon.awssdk.auth.credentials."


def come_to(given: dict[str, str]) -> dict:
    told = {f"spark.hadoop.fs.s3a.{name}": value for name, value in given.items()}
    return arguments("logs", Settings(told))


def test_a_server_of_ones_own_has_its_address_and_any_region():
    found = come_to({"endpoint": "http://127.0.0.1:9000/", "path.style.access": "true", **KEYS})
    assert (found["scheme"], found["endpoint_override"]) == ("http", "127.0.0.1:9000")
    assert found["region"] == "us-east-1"
    assert (found["access_key"], found["secret_key"]) == ("me", "hidden")
    assert "force_virtual_addressing" not in found


def test_without_paths_of_buckets_these_are_names_of_hosts_as_hadoop_has_it():
    assert come_to({"endpoint": "minio.example:9000"})["force_virtual_addressing"]


@pytest.mark.parametrize(
    ("given", "scheme"),
    [
        ({"endpoint": "minio.example"}, "https"),
        ({"endpoint": "minio.example", "connection.ssl.enabled": "false"}, "http"),
        ({"endpoint": "https://minio.example", "connection.ssl.enabled": "false"}, "https"),
        ({}, "https"),
    ],
)
def test_tls_is_what_the_address_says_or_else_the_setting(given, scheme):
    assert come_to(given)["scheme"] == scheme


def test_an_address_of_amazon_says_its_region_and_that_of_all_regions_is_none():
    there = come_to({"endpoint": "s3.eu-west-1.amazonaws.com"})
    assert (there["region"], there["endpoint_override"]) == (
        "eu-west-1",
        "s3.eu-west-1.amazonaws.com",
    )
    assert not {"endpoint_override", "region"} & set(come_to({"endpoint": "s3.amazonaws.com"}))
    assert come_to({"endpoint.region": "eu-central-1"})["region"] == "eu-central-1"


def test_a_session_has_a_token():
    assert come_to({**KEYS, "session.token": "t"})["session_token"] == "t"


@pytest.mark.parametrize(
    ("provider", "wanted"),
    [
        (f"{HADOOP}SimpleAWSCredentialsProvider", {"access_key": "me", "secret_key": "hidden"}),
        (f"{HADOOP}AnonymousAWSCredentialsProvider", {"anonymous": True}),
        (f"{AMAZON}EnvironmentVariableCredentialsProvider", {}),
    ],
)
def test_who_gives_credentials_is_who_is_asked(provider, wanted):
    found = come_to({**KEYS, "aws.credentials.provider": provider})
    names = {"access_key", "secret_key", "anonymous"}
    assert {name: found[name] for name in names & set(found)} == wanted


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"aws.credentials.provider": "com.example.Vault"}, "Vault is not known here"),
        ({"proxy.host": "proxy"}, "fs.s3a.proxy.host is not known here"),
        ({"access.key": "me"}, "go together"),
    ],
)
def test_what_workers_would_do_otherwise_than_spark_is_refused(given, problem):
    with pytest.raises(ValueError, match=problem):
        come_to(given)
