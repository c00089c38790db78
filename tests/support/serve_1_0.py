"""A whole gateway on free ports with some queues, as a program: prints its port, ends on EOF.

Run as ``python serve_1_0.py DATA_DIRECTORY``. 1.0 has no way to declare a queue, so tests need one.
"""

import os
import pathlib
import subprocess
import sys
import threading


def main(directory):
    from twisted.internet import reactor

    from gateway.bridge.seams import QueueSettings
    from gateway.config import Address, Settings
    from gateway.config.settings import Listen
    from gateway.service.service import Service

    class Owner:
        def owner_id(self):
            return 0

        def connection_id(self):
            return 0

        def user(self):
            return ""

    settings = Settings(
        listen=Listen(amqp=Address("127.0.0.1", 0)),
        admin=Address("127.0.0.1", 0),
        data_directory=pathlib.Path(directory),
    )
    service = Service(settings, reactor)
    service.on_stopped = reactor.stop

    def start(_nothing):
        for name in ("q", "durable"):
            queue = QueueSettings(durable=name == "durable")
            service.bridge.default_host.declaring.declare_queue(name, queue, Owner())
        service.start()
        print(service.addresses["amqp"].port, flush=True)

    reactor.callWhenRunning(lambda: service.begin().addCallback(start))

    def wait_for_eof():
        sys.stdin.read()
        reactor.callFromThread(service.stop)
        reactor.callFromThread(service.stop)

    threading.Thread(target=wait_for_eof, daemon=True).start()
    reactor.run()


class Serving:
    """The program above as a child process."""

    def __init__(self, directory):
        self.process = subprocess.Popen(
            [sys.executable, __file__, os.fspath(directory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.port = int(self.process.stdout.readline())

    def stop(self):
        """End it in order; its exit code."""
        self.process.stdin.close()
        return self.process.wait(20)


if __name__ == "__main__":
    main(sys.argv[1])
