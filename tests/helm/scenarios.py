"""Values by what an operator wants: each is linted, rendered, and admitted by a real API server."""

from typing import Any, Final

OWN_TLS: Final[dict[str, Any]] = {
    "tls": {
        "verifyClients": True,
        "certificate": {"create": True, "issuerRef": {"name": "ca", "kind": "ClusterIssuer"}},
    },
    "upstreams": {
        "existingSecret": "my-upstreams",
        "tls": {
            "main": {
                "serverName": "broker.example",
                "certificate": {"create": True, "issuerRef": {"name": "ca"}},
            },
            "other": {"existingSecret": "their-ca", "clientCertificate": False},
        },
    },
    "config": {
        "upstreams": {
            "main": {"hosts": ["amqps://10.0.0.1:5671"], "profile": "artemis"},
            "other": {
                "hosts": ["amqps://other.example:5671"],
                "username": "gateway",
                "password_file": "/etc/amqp-gateway/upstreams/password",
            },
        },
        "nodes": [{"queue": "*", "upstream": "main"}],
    },
}
EVERYTHING: Final[dict[str, Any]] = {
    "tls": {"existingSecret": "my-tls", "verifyClients": True},
    "kerberos": {"existingSecret": "my-keytab"},
    "upstreams": {"existingSecret": "my-upstreams"},
    "admin": {"existingSecret": "my-admin"},
    "audit": {
        "signingKey": {"existingSecret": "my-key"},
        "books": {"enabled": True, "existingConfigMap": "my-keys"},
        "trustedKeys": {"existingConfigMap": "my-keys"},
    },
    "serviceMonitor": {"enabled": True, "objects": {"enabled": True}},
    "prometheusRule": {"enabled": True},
    "dashboards": {"enabled": True},
    "reconcile": {"enabled": True},
    "auditClose": {"enabled": True, "signingKey": {"existingSecret": "auditor"}},
    "test": {"existingSecret": "tester"},
    "config": {"drain_timeout": "20s", "gssapi": {"realm": "EXAMPLE.ORG"}},
    "podLabels": {"team": "payments"},
    "extraEnv": [{"name": "TZ", "value": "UTC"}],
    "imagePullSecrets": [{"name": "pull"}],
    "persistence": {"storageClass": "fast"},
    "nodeSelector": {"disk": "ssd"},
    "restartOnChange": True,
}
SAFE: Final[dict[str, Any]] = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
}
MORE: Final[list[dict[str, Any]]] = [
    {"name": "more", "image": "busybox", "securityContext": SAFE, "command": ["sleep", "inf"]}
]
BEFORE: Final[list[dict[str, Any]]] = [
    {"name": "before", "image": "busybox", "securityContext": SAFE}
]
POD: Final[dict[str, Any]] = {
    "podAnnotations": {"note": "one"},
    "podLabels": {"team": "payments"},
    "priorityClassName": "high",
    "tolerations": [{"key": "dedicated", "operator": "Exists"}],
    "extraEnvFrom": [{"configMapRef": {"name": "more", "optional": True}}],
    "extraVolumes": [{"name": "more", "emptyDir": {"sizeLimit": "1Mi"}}],
    "extraVolumeMounts": [{"name": "more", "mountPath": "/more"}],
    "initContainers": BEFORE,
    "extraContainers": MORE,
}
EXTRAS: Final[dict[str, Any]] = {
    **POD,
    "jobs": {**POD, "annotations": {"of": "jobs"}},
    "reconcile": {"enabled": True},
    "auditClose": {"enabled": True},
    "commonLabels": {"cost-centre": "seven"},
    "commonAnnotations": {"owner": "messaging"},
    "lifecycle": {"preStop": {"exec": {"command": ["sleep", "5"]}}},
    "extraArgs": ["--set", "strict=true"],
    "topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
    ],
    "updateStrategy": {"type": "OnDelete"},
    "persistence": {"retentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"}},
    "networkPolicy": {
        "from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}],
        "egress": [{"to": [{"namespaceSelector": {}}]}],
    },
    "podMonitor": {"enabled": True, "objects": {"enabled": True, "params": {"match": ["orders"]}}},
}
BALANCED: Final[dict[str, Any]] = {
    "service": {
        "type": "LoadBalancer",
        "annotations": {"cloud.example/scheme": "internal"},
        "nodePorts": {"amqp": 30672},
        "spec": {
            "loadBalancerClass": "cloud.example/network",
            "loadBalancerSourceRanges": ["10.0.0.0/8"],
            "externalTrafficPolicy": "Local",
            "allocateLoadBalancerNodePorts": True,
        },
    },
    "anonymous": True,
    "users": {"existingSecret": ""},
    "persistence": {"existingClaim": "kept"},
    "networkPolicy": {"enabled": False},
    "podDisruptionBudget": {"minAvailable": 1},
}
ELSEWHERE: Final[dict[str, Any]] = {
    "enabled": True,
    "log": "s3a://logs/gateway/audit",
    "out": "s3a://reports/gateway",
    "state": "s3a://reports/state",
    "sparkConf": {"existingSecret": "spark"},
}
SPARK: Final[dict[str, Any]] = {
    "image": "spark-with-pyarrow:4.3",
    "conf": {"spark.ui.enabled": "false"},
}
PODS: Final[dict[str, Any]] = {
    "replicas": 3,
    "reconcile": {"enabled": True},
    "auditClose": {"enabled": True},
    "podDisruptionBudget": {"maxUnavailable": 1},
    "config": {
        "group": "orders",
        "upstreams": {"main": {"hosts": ["amqp://10.0.0.1:5672"], "profile": "artemis"}},
        "nodes": [
            {"queue": "*", "upstream": "main", "on_rejected": "queue:dead"},
            {"exchange": "*", "upstream": "main", "on_rejected": "queue:dead"},
        ],
    },
}
SCENARIOS: Final[dict[str, dict[str, Any]]] = {
    "default": {},
    "everything": EVERYTHING,
    "following": {"reconcile": {"enabled": True, "follow": {"enabled": True}}},
    "own-tls": OWN_TLS,
    "extras": EXTRAS,
    "balanced": BALANCED,
    "pods": PODS,
    "archived": {
        "persistence": {"accessModes": ["ReadWriteOncePod"]},
        "reconcile": ELSEWHERE,
    },
    "submitted": {"reconcile": {**ELSEWHERE, "runner": "submit", "spark": SPARK}},
    "operated": {
        "audit": {"trustedKeys": {"existingConfigMap": "my-keys"}},
        "reconcile": {**ELSEWHERE, "runner": "operator", "spark": SPARK},
    },
}
