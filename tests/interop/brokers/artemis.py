"""ActiveMQ Artemis as a child process, administered by its management address over AMQP 1.0."""

import json
import re
from typing import Any
from xml.sax.saxutils import escape

from interop import installed
from interop.brokers import client
from interop.brokers.broker import Broker, java

_PERMISSIONS = (
    *("createNonDurableQueue", "deleteNonDurableQueue", "createDurableQueue", "deleteDurableQueue"),
    *("createAddress", "deleteAddress", "consume", "browse", "send", "manage", "view", "edit"),
)
_BROKER = """<configuration xmlns="urn:activemq"><core xmlns="urn:activemq:core">
<name>interop</name>
<persistence-enabled>true</persistence-enabled>
<journal-type>NIO</journal-type>
<journal-directory>{data}/journal</journal-directory>
<bindings-directory>{data}/bindings</bindings-directory>
<paging-directory>{data}/paging</paging-directory>
<large-messages-directory>{data}/large-messages</large-messages-directory>
<journal-file-size>1M</journal-file-size>
<journal-pool-files>4</journal-pool-files>
<max-disk-usage>99</max-disk-usage>
<critical-analyzer>false</critical-analyzer>
<acceptors>
<acceptor name="amqp">tcp://127.0.0.1:{port}?protocols=AMQP</acceptor>
</acceptors>
<security-settings><security-setting match="#">
{permissions}
</security-setting></security-settings>
<address-settings><address-setting match="#">
<dead-letter-address>DLQ</dead-letter-address>
<expiry-address>ExpiryQueue</expiry-address>
<max-delivery-attempts>10</max-delivery-attempts>
<auto-create-queues>true</auto-create-queues>
<auto-create-addresses>true</auto-create-addresses>
<auto-delete-queues>false</auto-delete-queues>
<auto-delete-addresses>false</auto-delete-addresses>
</address-setting><address-setting match="limited.#">
<address-full-policy>FAIL</address-full-policy>
<max-size-messages>2</max-size-messages>
</address-setting><address-setting match="absent.#">
<auto-create-queues>false</auto-create-queues>
<auto-create-addresses>false</auto-create-addresses>
</address-setting></address-settings>
<addresses>
<address name="DLQ"><anycast><queue name="DLQ"/></anycast></address>
<address name="ExpiryQueue"><anycast><queue name="ExpiryQueue"/></anycast></address>
</addresses>
</core></configuration>
"""
_BOOTSTRAP = """<broker xmlns="http://activemq.apache.org/schema">
<jaas-security domain="activemq"/>
<server configuration="file:{etc}/broker.xml"/>
</broker>
"""
_MANAGEMENT = '<management-context xmlns="http://activemq.apache.org/schema"/>\n'
_LOGIN = """activemq {
org.apache.activemq.artemis.spi.core.security.jaas.PropertiesLoginModule required
org.apache.activemq.jaas.properties.user="artemis-users.properties"
org.apache.activemq.jaas.properties.role="artemis-roles.properties";
};
"""
_LOGGING = """appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d %p [%c] %m%n
rootLogger.level = WARN
rootLogger.appenderRef.console.ref = console
logger.server.name = org.apache.activemq.artemis.core.server
logger.server.level = INFO
"""


class Artemis(Broker):
    """Makes addresses and queues when somebody attaches to them."""

    peer = "artemis"
    product = "apache-activemq-artemis"
    _ready = re.compile("AMQ221007")

    def create_queue(self, name: str) -> None:
        """Make an anycast queue on an address of the same name."""
        self._create(name, "ANYCAST")
        configuration = {"name": name, "address": name, "routing-type": "ANYCAST", "durable": True}
        # the second argument: leave a queue that is there as it is
        self._manage("broker", "createQueue", json.dumps(configuration), True)

    def delete_queue(self, name: str) -> None:
        # the second argument: consumers go with it
        self._manage("broker", "destroyQueue", name, True)

    def create_topic(self, name: str) -> None:
        """Make a multicast address."""
        self._create(name, "MULTICAST")

    def queue_depth(self, name: str) -> int:
        return int(self._manage(f"queue.{name}", "countMessages"))

    def address_names(self) -> list[str]:
        """Every address that there is, also those that it has made by itself."""
        present: list[str] = self._manage("broker", "getAddressNames")
        return present

    def add_sections(self, sections: str) -> None:
        """Put addresses and their settings into its file, which it reads anew while it runs."""
        file = self.work / "etc/broker.xml"
        text = file.read_text()
        for name in ("addresses", "address-settings"):
            added = sections.split(f"<{name}>")[1].split(f"</{name}>")[0]
            text = text.replace(f"</{name}>", f"{added}</{name}>")
        file.write_text(text)

    def queue_attribute(self, name: str, getter: str) -> object:
        """What its management says of a queue."""
        return self._manage(f"queue.{name}", getter)

    def _create(self, name: str, routing_type: str) -> None:
        if name not in self.address_names():
            self._manage("broker", "createAddress", name, routing_type)

    def _manage(self, resource: str, operation: str, *arguments: object) -> Any:
        properties = {"_AMQ_ResourceName": resource, "_AMQ_OperationName": operation}
        reply = client.request(self, "activemq.management", properties, json.dumps(arguments))
        if not reply.properties["_AMQ_OperationSucceeded"]:
            raise AssertionError(f"Artemis: {operation} of {resource}: {reply.body}")
        returned = json.loads(reply.body) if reply.body else []  # of what returns nothing
        return returned[0] if returned else None

    def _configure(self) -> None:
        etc, data = self.work / "etc", self.work / "data"
        etc.mkdir(exist_ok=True)
        permissions = "\n".join(f'<permission type="{kind}" roles="amq"/>' for kind in _PERMISSIONS)
        files = {
            "broker.xml": _BROKER.format(
                data=escape(str(data)), port=self.port, permissions=permissions
            ),
            "bootstrap.xml": _BOOTSTRAP.format(etc=escape(str(etc))),
            "management.xml": _MANAGEMENT,
            "login.config": _LOGIN,
            "log4j2.properties": _LOGGING,
            "artemis-users.properties": f"{self.username} = {self.password}\n",
            "artemis-roles.properties": f"amq = {self.username}\n",
        }
        for name, text in files.items():
            (etc / name).write_text(text)

    def _command(self) -> list[str]:
        etc = self.work / "etc"
        properties = {
            "artemis.home": installed.ARTEMIS,
            "artemis.instance": self.work,
            "artemis.instance.etc": etc,
            "data.dir": self.work / "data",
            "java.security.auth.login.config": etc / "login.config",
            "log4j2.configurationFile": (etc / "log4j2.properties").as_uri(),
            "log4j2.disableJmx": "true",
        }
        boot = f"{installed.ARTEMIS}/lib/artemis-boot.jar"
        return [
            *java("256m", properties),
            *("--add-opens", "java.base/jdk.internal.misc=ALL-UNNAMED"),
            *("-cp", boot, "org.apache.activemq.artemis.boot.Artemis", "run"),
        ]
