"""Generates the chart's `values.schema.json`: its own values, and the configuration's schema.

The chart's values are described here; `config` is whatever the gateway's configuration allows, so
that a value which the gateway would refuse is refused before anything is installed.
"""

from __future__ import annotations

import json
from typing import Any, Final

from gateway.config import schema

Schema = dict[str, Any]

TEXT: Final[Schema] = {"type": "string"}
FLAG: Final[Schema] = {"type": "boolean"}
PORT: Final[Schema] = {"type": "integer", "minimum": 1, "maximum": 65535}
SECONDS: Final[Schema] = {"type": "integer", "minimum": 1}
FOLLOWED: Final[Schema] = {"type": "integer", "minimum": 1, "maximum": 99_999}
DEADLINE: Final[Schema] = {"type": "integer", "minimum": 60}
COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
RUNS: Final[Schema] = {"type": "integer", "minimum": 1, "maximum": 999_999_999}
# Shapes that Kubernetes defines, and checks.
FREE: Final[Schema] = {"type": "object"}
FREE_LIST: Final[Schema] = {"type": "array", "items": {"type": "object"}}
TEXTS: Final[Schema] = {"type": "object", "additionalProperties": {"type": "string"}}
# Of a job, quoted for its shell.
ARGUMENTS: Final[Schema] = {"type": "array", "items": {"type": "string", "pattern": "^[^']*$"}}


def mapping(**properties: Schema) -> Schema:
    """An object with these keys and no others."""
    return {"type": "object", "additionalProperties": False, "properties": properties}


IMAGE: Final = mapping(
    repository=TEXT, tag=TEXT, pullPolicy={"enum": ["Always", "IfNotPresent", "Never"]}
)


# Of a job that runs by its schedule, whichever it is.
SCHEDULED: Final[Schema] = {
    "enabled": FLAG,
    "schedule": TEXT,
    "keep": RUNS,
    "arguments": ARGUMENTS,
    "activeDeadlineSeconds": DEADLINE,
    "resources": FREE,
    "successfulJobsHistoryLimit": COUNT,
    "failedJobsHistoryLimit": COUNT,
}


def values() -> Schema:
    """The schema of the chart's values."""
    configuration = schema()
    shared = configuration.pop("$defs")
    configuration.pop("$schema")
    shared["GssapiSettings"]["required"].remove("keytab")  # which the chart fills in
    made = mapping(
        nameOverride=TEXT,
        fullnameOverride=TEXT,
        image=IMAGE,
        imagePullSecrets=FREE_LIST,
        config=configuration,
        restartOnChange=FLAG,
        users=mapping(existingSecret=TEXT, key=TEXT),
        access=mapping(existingConfigMap=TEXT, key=TEXT, qpidd=FLAG),
        anonymous=FLAG,
        tls=mapping(existingSecret=TEXT, verifyClients=FLAG),
        kerberos=mapping(existingSecret=TEXT, key=TEXT),
        upstreams=mapping(existingSecret=TEXT),
        admin=mapping(existingSecret=TEXT, key=TEXT, metricsKey=TEXT),
        audit=mapping(
            signingKey=mapping(existingSecret=TEXT, key=TEXT),
            trustedKeys=mapping(existingConfigMap=TEXT, key=TEXT),
            books=mapping(enabled=FLAG, existingConfigMap=TEXT, key=TEXT),
        ),
        service=mapping(
            type={"enum": ["ClusterIP", "NodePort", "LoadBalancer"]},
            amqpPort=PORT,
            amqpsPort=PORT,
            adminPort=PORT,
            annotations=TEXTS,
        ),
        persistence=mapping(
            size=TEXT, storageClass=TEXT, accessModes={"type": "array", "items": TEXT}
        ),
        terminationGracePeriodSeconds=SECONDS,
        resources=FREE,
        probes=mapping(startup=FREE, liveness=FREE, readiness=FREE),
        serviceAccount=mapping(create=FLAG, name=TEXT, annotations=TEXTS),
        podAnnotations=TEXTS,
        podLabels=TEXTS,
        nodeSelector=TEXTS,
        tolerations=FREE_LIST,
        affinity=FREE,
        extraEnv=FREE_LIST,
        serviceMonitor=mapping(enabled=FLAG, interval=TEXT, labels=TEXTS, tlsConfig=FREE),
        prometheusRule=mapping(enabled=FLAG, labels=TEXTS),
        reconcile=mapping(
            **SCHEDULED,
            image=IMAGE,
            master=TEXT,
            follow=mapping(enabled=FLAG, seconds=FOLLOWED, terminationGracePeriodSeconds=SECONDS),
        ),
        auditClose=mapping(**SCHEDULED, signingKey=mapping(existingSecret=TEXT, key=TEXT)),
    )
    made["properties"]["global"] = FREE  # what a parent chart hands to every subchart
    return {"$schema": "http://json-schema.org/draft-07/schema#", **made, "$defs": shared}


def files() -> dict[str, str]:
    """The generated files: path relative to ``gateway/`` -> text."""
    return {"../helm/values.schema.json": json.dumps(values(), indent=2) + "\n"}
