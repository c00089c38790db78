"""Generates `helm/dashboards`: what is in `boards`, as Grafana reads it."""

from __future__ import annotations

import json
from typing import Any, Final

from gateway.codegen.boards import DASHBOARDS
from gateway.codegen.panels import Dashboard, Panel

AT: Final = 'instance=~"$instance"'
RATE: Final = "$__rate_interval"
SOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}
COLUMNS: Final = 3
WIDTH: Final = 24 // COLUMNS  # of Grafana's grid
HEIGHT: Final = 8

Json = dict[str, Any]  # Any: what JSON holds


def expressions(dashboard: Dashboard, at: str = AT, rate: str = RATE) -> list[str]:
    """All that it asks Prometheus, in order."""
    return [
        expression.format(at=at, rate=rate)
        for panels in dashboard.rows.values()
        for panel in panels
        for expression in panel.queries
    ]


def _panel(number: int, panel: Panel, column: int, top: int) -> Json:
    targets = [
        {
            "datasource": SOURCE,
            "expr": expression.format(at=AT, rate=RATE),
            "legendFormat": legend,
            "refId": chr(ord("A") + at),
        }
        for at, (expression, legend) in enumerate(panel.queries.items())
    ]
    return {
        "id": number,
        "type": "timeseries",
        "title": panel.title,
        "datasource": SOURCE,
        "gridPos": {"x": column * WIDTH, "y": top, "w": WIDTH, "h": HEIGHT},
        "fieldConfig": {"defaults": {"unit": panel.unit}, "overrides": []},
        "options": {
            "legend": {"displayMode": "list", "placement": "bottom"},
            "tooltip": {"mode": "multi", "sort": "desc"},
        },
        "targets": targets,
    }


def _panels(dashboard: Dashboard) -> list[Json]:
    made: list[Json] = []
    top = 0
    for title, panels in dashboard.rows.items():
        grid = {"x": 0, "y": top, "w": 24, "h": 1}
        made.append(
            {"id": len(made) + 1, "type": "row", "title": title, "gridPos": grid, "panels": []}
        )
        top += 1
        for at, panel in enumerate(panels):
            line, column = divmod(at, COLUMNS)
            made.append(_panel(len(made) + 1, panel, column, top + line * HEIGHT))
        top += HEIGHT * -(-len(panels) // COLUMNS)
    return made


def _variables() -> list[Json]:
    return [
        {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"},
        {
            "name": "instance",
            "label": "Gateway",
            "type": "query",
            "datasource": SOURCE,
            "query": {"query": "label_values(gateway_build_info, instance)", "refId": "instance"},
            "refresh": 2,
            "multi": True,
            "includeAll": True,
            "allValue": ".*",
            "current": {"text": ["All"], "value": ["$__all"]},
        },
    ]


def page(name: str, dashboard: Dashboard) -> str:
    """One of them, as it is imported."""
    made = {
        "uid": f"amqp-gateway-{name}",
        "title": dashboard.title,
        "tags": ["amqp-gateway"],
        "schemaVersion": 39,
        "version": 1,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {"list": _variables()},
        "annotations": {"list": []},
        "links": [
            {"type": "dashboards", "tags": ["amqp-gateway"], "title": "Others", "keepTime": True}
        ],
        "panels": _panels(dashboard),
    }
    return json.dumps(made, indent=1) + "\n"


def files() -> dict[str, str]:
    """The generated files: path relative to ``gateway/`` -> text."""
    return {
        f"../helm/dashboards/{name}.json": page(name, each) for name, each in DASHBOARDS.items()
    }
