"""Records what a real qpidd answers to the questions of `migrate survey`.

    PYTHONPATH=tests:. python -m interop.record_survey PORT > tests/migration/qpidd_1_40.json

At PORT is a qpidd that `interop.old_installation` has furnished. Of each object only what a survey
looks at is kept.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from gateway.clients.client import Login
from gateway.clients.conversation import Connector, Where, converse
from gateway.clients.management import Asker
from gateway.migration import qmf

KEPT = (
    *("name", "type", "durable", "exclusive", "autoDelete", "altExchange", "arguments"),
    *("msgDepth", "byteDepth", "bindingKey", "exchangeRef", "queueRef", "sessionRef"),
    *("browsing", "source", "address", "incoming", "authIdentity", "saslMechanism", "protocol"),
    *("remoteProcessName", "remoteProperties", "federationLink", "connectionRef"),
    *("detachedLifespan", "TxnStarts", "host", "port", "state", "linkRef", "src", "dest", "key"),
    *("dynamic", "srcIsQueue", "srcIsLocal", "policyFile", "maxConnectionsPerIp", "version"),
    *("maxConnectionsPerUser", "maxQueuesPerUser", "tplTransactionDepth", "status"),
)


def trimmed(each: qmf.Values) -> qmf.Values:
    """One object, as far as a survey looks at it."""
    values = {name: value for name, value in each["_values"].items() if name in KEPT}
    return {"_object_id": each["_object_id"], "_values": values}


async def record(connector: Connector, port: int) -> dict[str, Any]:
    """All answers."""
    client = await connector.connect_0_10(Where(port=port), Login())
    asker = Asker(connector, client, 10)
    await asker.begin()
    objects = {name: [*map(trimmed, await asker.objects(name))] for name in qmf.CLASSES}
    return {"asker": asker.queue, "objects": objects}


if __name__ == "__main__":
    told = converse(lambda connector: record(connector, int(sys.argv[1])))
    classes = [
        f'"{name}": [\n' + ",\n".join(map(json.dumps, objects)) + "\n]"
        for name, objects in told["objects"].items()
    ]
    print(f'{{"asker": "{told["asker"]}", "objects": {{\n' + ",\n".join(classes) + "\n}}")
