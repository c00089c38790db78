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
POSITIVE: Final[Schema] = {"type": "integer", "minimum": 1}
SECONDS: Final = POSITIVE
FOLLOWED: Final[Schema] = {"type": "integer", "minimum": 1, "maximum": 99_999}
DEADLINE: Final[Schema] = {"type": "integer", "minimum": 60}
MANY: Final[Schema] = {"type": ["integer", "string"]}
COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
RUNS: Final[Schema] = {"type": "integer", "minimum": 1, "maximum": 999_999_999}
# Shapes that Kubernetes defines, and checks.
FREE: Final[Schema] = {"type": "object"}
FREE_LIST: Final[Schema] = {"type": "array", "items": {"type": "object"}}
LIST: Final[Schema] = {"type": "array", "items": {"type": "string"}}
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

# Of cert-manager.
CERTIFICATE: Final[Schema] = {"create": FLAG, "issuerRef": TEXTS, "spec": FREE}
SCRAPED: Final[Schema] = {
    "enabled": FLAG,
    "interval": TEXT,
    "scrapeTimeout": TEXT,
    "metricRelabelings": FREE_LIST,
}
MONITOR: Final = mapping(
    **SCRAPED,
    labels=TEXTS,
    annotations=TEXTS,
    tlsConfig=FREE,
    relabelings=FREE_LIST,
    objects=mapping(**SCRAPED, params=FREE),
)
# Of a pod, whichever it is.
POD: Final[Schema] = {
    "podAnnotations": TEXTS,
    "podLabels": TEXTS,
    "nodeSelector": TEXTS,
    "tolerations": FREE_LIST,
    "priorityClassName": TEXT,
    "extraEnv": FREE_LIST,
    "extraEnvFrom": FREE_LIST,
    "extraVolumes": FREE_LIST,
    "extraVolumeMounts": FREE_LIST,
    "initContainers": FREE_LIST,
    "extraContainers": FREE_LIST,
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
        commonLabels=TEXTS,
        commonAnnotations=TEXTS,
        image=IMAGE,
        imagePullSecrets=FREE_LIST,
        config=configuration,
        restartOnChange=FLAG,
        replicas={"type": "integer", "minimum": 1, "maximum": 100},
        users=mapping(existingSecret=TEXT, key=TEXT),
        access=mapping(existingConfigMap=TEXT, key=TEXT, qpidd=FLAG),
        anonymous=FLAG,
        tls=mapping(
            existingSecret=TEXT,
            verifyClients=FLAG,
            keepPlain=FLAG,
            certificate=mapping(**CERTIFICATE, dnsNames=LIST),
        ),
        kerberos=mapping(existingSecret=TEXT, key=TEXT),
        upstreams=mapping(existingSecret=TEXT, tls=_by_upstream()),
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
            labels=TEXTS,
            headlessAnnotations=TEXTS,
            spec=FREE,
            nodePorts=mapping(amqp=PORT, amqps=PORT),
        ),
        persistence=mapping(
            existingClaim=TEXT,
            size=TEXT,
            storageClass=TEXT,
            accessModes=LIST,
            retentionPolicy=TEXTS,
        ),
        tmp=mapping(sizeLimit=TEXT),
        terminationGracePeriodSeconds=SECONDS,
        resources=FREE,
        probes=mapping(startup=FREE, liveness=FREE, readiness=FREE),
        serviceAccount=mapping(create=FLAG, name=TEXT, annotations=TEXTS),
        **POD,
        affinity=FREE,
        topologySpreadConstraints=FREE_LIST,
        lifecycle=FREE,
        updateStrategy=FREE,
        hostAliases=FREE_LIST,
        dnsConfig=FREE,
        podSecurityContext=FREE,
        containerSecurityContext=FREE,
        extraArgs=LIST,
        jobs=mapping(**POD, annotations=TEXTS, tmpSizeLimit=TEXT),
        podDisruptionBudget=mapping(
            enabled=FLAG, maxUnavailable=MANY, minAvailable={"type": ["integer", "string", "null"]}
        ),
        networkPolicy=_network_policy(),
        serviceMonitor=MONITOR,
        podMonitor=MONITOR,
        prometheusRule=mapping(enabled=FLAG, labels=TEXTS),
        dashboards=mapping(enabled=FLAG, labels=TEXTS, annotations=TEXTS),
        test=mapping(existingSecret=TEXT, queue=TEXT, timeoutSeconds=SECONDS),
        reconcile=mapping(
            **SCHEDULED,
            image=IMAGE,
            master=TEXT,
            log=TEXT,
            out=TEXT,
            state=TEXT,
            sparkConf=mapping(existingSecret=TEXT, key=TEXT),
            runner={"enum": ["job", "submit", "operator"]},
            spark=_spark(),
            follow=mapping(enabled=FLAG, seconds=FOLLOWED, terminationGracePeriodSeconds=SECONDS),
        ),
        auditClose=mapping(**SCHEDULED, signingKey=mapping(existingSecret=TEXT, key=TEXT)),
    )
    made["properties"]["global"] = FREE  # what a parent chart hands to every subchart
    made["properties"]["enabled"] = FLAG  # what its `condition` names
    return {"$schema": "http://json-schema.org/draft-07/schema#", **made, "$defs": shared}


def _by_upstream() -> Schema:
    """Of each upstream, by its name."""
    tls = mapping(
        existingSecret=TEXT,
        ca=FLAG,
        clientCertificate=FLAG,
        serverName=TEXT,
        certificate=mapping(**CERTIFICATE, commonName=TEXT),
    )
    return {"type": "object", "additionalProperties": tls}


def _network_policy() -> Schema:
    peers = {"from": FREE_LIST}  # a word of Python's
    return mapping(
        enabled=FLAG, adminFrom=FREE_LIST, extraIngress=FREE_LIST, egress=FREE_LIST, **peers
    )


def _spark() -> Schema:
    """How a cluster runs the reconciliation."""
    return mapping(
        image=TEXT,
        version=TEXT,
        jobs=TEXT,
        package=TEXT,
        executors=POSITIVE,
        executorCores=POSITIVE,
        executorMemory=TEXT,
        driverMemory=TEXT,
        serviceAccount=TEXT,
        conf=TEXTS,
    )


def files() -> dict[str, str]:
    """The generated files: path relative to ``gateway/`` -> text."""
    return {"../helm/values.schema.json": json.dumps(values(), indent=2) + "\n"}
