"""ActiveMQ Classic as a child process, asked about queues by its statistics plugin.

It reads a page of a queue into memory when something happens to the queue, at the latest when it
looks for expired messages, every 30 s: a page is made large enough for what consumers hold.
Where two of its policies fit a queue, such as one for all of them, chance decides which it takes.
It has no advisories: while it sends one about a connection, that connection is exempt from the
limits of queues, and where two are sent at once the connection stays so (5.18, one life in ten).
"""

import re
from xml.sax.saxutils import escape

from interop import installed
from interop.brokers import client
from interop.brokers.broker import Broker, java

_BROKER = """<beans xmlns="http://www.springframework.org/schema/beans"
 xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
 xsi:schemaLocation="http://www.springframework.org/schema/beans
 http://www.springframework.org/schema/beans/spring-beans.xsd
 http://activemq.apache.org/schema/core http://activemq.apache.org/schema/core/activemq-core.xsd">
<broker xmlns="http://activemq.apache.org/schema/core" brokerName="interop" useJmx="false"
 dataDirectory="{data}" schedulerSupport="false" advisorySupport="false">
<persistenceAdapter>
<kahaDB directory="{data}/kahadb" journalMaxFileLength="4mb"/>
</persistenceAdapter>
<plugins>
<simpleAuthenticationPlugin><users>
<authenticationUser username="{username}" password="{password}" groups="users,admins"/>
</users></simpleAuthenticationPlugin>
<statisticsBrokerPlugin/>
</plugins>
<destinationPolicy><policyMap>
<defaultEntry><policyEntry maxPageSize="1000"/></defaultEntry>
<policyEntries>
<policyEntry queue="limited.>" memoryLimit="8kb">
<pendingQueuePolicy><vmQueueCursor/></pendingQueuePolicy>
</policyEntry>
</policyEntries>
</policyMap></destinationPolicy>
<systemUsage><systemUsage sendFailIfNoSpace="true">
<memoryUsage><memoryUsage limit="128 mb"/></memoryUsage>
<storeUsage><storeUsage limit="1 gb"/></storeUsage>
<tempUsage><tempUsage limit="256 mb"/></tempUsage>
</systemUsage></systemUsage>
<transportConnectors>
<transportConnector name="amqp" uri="amqp://127.0.0.1:{port}"/>
</transportConnectors>
</broker>
</beans>
"""
_LOGGING = """appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d %p [%c] %m%n
rootLogger.level = INFO
rootLogger.appenderRef.console.ref = console
"""


class ActiveMQ(Broker):
    """Makes queues and topics when somebody attaches to them."""

    peer = "activemq"
    product = "ActiveMQ"
    _ready = re.compile(r"Apache ActiveMQ .* started")

    def create_queue(self, name: str) -> None:
        client.attach_sender(self, self.queue_address(name))

    def create_topic(self, name: str) -> None:
        client.attach_sender(self, self.topic_target(name))

    def queue_depth(self, name: str) -> int:
        return int(
            client.request(self, f"ActiveMQ.Statistics.Destination.{name}", {}, None).body["size"]
        )

    def queue_address(self, name: str) -> str:
        return f"queue://{name}"

    def topic_target(self, name: str) -> str:
        return f"topic://{name}"

    def _configure(self) -> None:
        text = _BROKER.format(
            data=escape(str(self.work / "data")),
            port=self.port,
            username=self.username,
            password=self.password,
        )
        (self.work / "activemq.xml").write_text(text)
        (self.work / "log4j2.properties").write_text(_LOGGING)

    def _command(self) -> list[str]:
        properties = {
            "activemq.home": installed.ACTIVEMQ,
            "activemq.base": self.work,
            "activemq.conf": self.work,
            "activemq.data": self.work / "data",
            "log4j2.configurationFile": (self.work / "log4j2.properties").as_uri(),
            "java.io.tmpdir": self.work,
        }
        return [
            *java("256m", properties),
            *("-jar", f"{installed.ACTIVEMQ}/bin/activemq.jar"),
            *("start", f"xbean:file:{self.work}/activemq.xml"),
        ]
