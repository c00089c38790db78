"""A bucket, by the settings that Hadoop's `fs.s3a` has for it: pyarrow's file system for the same.

What is set here and not known here is refused, so that no worker reads otherwise than Spark does.
"""

from __future__ import annotations

import re
from typing import Any, Final

from gateway.accounting.locations.settings import S3A, Settings

CONNECT_S: Final = 10
ANSWER_S: Final = 60
REGION: Final = "us-east-1"  # for servers that have none
PROVIDERS: Final = "aws.credentials.provider"
NOT_KNOWN: Final = ("proxy.host", "assumed.role.arn")

_AMAZON: Final = re.compile(r"s3[.-](?:([a-z0-9-]+)\.)?amazonaws\.com(?:\.cn)?")
_KEYS: Final = frozenset({"SimpleAWSCredentialsProvider", "TemporaryAWSCredentialsProvider"})
_ANONYMOUS: Final = frozenset({"AnonymousAWSCredentialsProvider", "AnonymousCredentialsProvider"})
_FOUND: Final = frozenset(  # in the environment of each machine, as Amazon's library looks for them
    {
        *("EnvironmentVariableCredentialsProvider", "DefaultCredentialsProvider"),
        *("IAMInstanceCredentialsProvider", "InstanceProfileCredentialsProvider"),
        *("WebIdentityTokenFileCredentialsProvider", "ContainerCredentialsProvider"),
        *("WebIdentityTokenCredentialsProvider", "DefaultAWSCredentialsProviderChain"),
        *("ProfileCredentialsProvider", "ProfileAWSCredentialsProvider"),
    }
)


def filesystem(bucket: str, settings: Settings) -> Any:
    """Any: pyarrow has no types.

    Raises:
        ValueError: something is set that is not known here.
    """
    from pyarrow.fs import S3FileSystem

    return S3FileSystem(**arguments(bucket, settings))


def arguments(bucket: str, settings: Settings) -> dict[str, Any]:
    """What `S3FileSystem` is given. Raises ValueError as `filesystem`."""
    for name in NOT_KNOWN:
        if settings.of_bucket(bucket, name):
            raise ValueError(f"{S3A}{name} is not known here: {bucket} cannot be reached so")
    endpoint = settings.of_bucket(bucket, "endpoint").rstrip("/")
    scheme, behind, host = endpoint.rpartition("://")
    if not behind:
        scheme = "http" if _is(settings, bucket, "connection.ssl.enabled", "false") else "https"
    amazon = _AMAZON.fullmatch(host)
    region = settings.of_bucket(bucket, "endpoint.region") or (amazon[1] if amazon else "")
    given: dict[str, Any] = {
        "scheme": scheme,
        "connect_timeout": CONNECT_S,
        "request_timeout": ANSWER_S,
        **_credentials(bucket, settings),
    }
    if host and not (amazon and not amazon[1]):
        given["endpoint_override"] = host
        region = region or REGION
        if not _is(settings, bucket, "path.style.access", "true"):
            given["force_virtual_addressing"] = True
    if region:
        given["region"] = region
    return given


def _credentials(bucket: str, settings: Settings) -> dict[str, Any]:
    said = settings.of_bucket(bucket, PROVIDERS)
    providers = [each.strip().rpartition(".")[2] for each in said.split(",") if each.strip()]
    for each in providers:
        if each not in _KEYS | _ANONYMOUS | _FOUND:
            raise ValueError(f"{S3A}{PROVIDERS}: {each} is not known here")
    names = {"access_key": "access.key", "secret_key": "secret.key"}
    keys = {name: settings.of_bucket(bucket, key) for name, key in names.items()}
    if any(keys.values()) and (not providers or _KEYS.intersection(providers)):
        if not all(keys.values()):
            raise ValueError(f"{S3A}access.key and {S3A}secret.key go together")
        token = settings.of_bucket(bucket, "session.token")
        return keys | ({"session_token": token} if token else {})
    return {"anonymous": True} if providers and _ANONYMOUS.issuperset(providers) else {}


def _is(settings: Settings, bucket: str, name: str, value: str) -> bool:
    return settings.of_bucket(bucket, name).strip().lower() == value
