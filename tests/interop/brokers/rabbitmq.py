"""RabbitMQ from Debian's packages as a child process, administered over Erlang's distribution.

It runs in a chroot with process and mount namespaces of its own: what is mounted there, and the
port mapper that Erlang starts, end with it. The chroot holds nothing of a run; that is in ``work``.
"""

import re
import secrets
import shlex
import subprocess
import time
from pathlib import Path
from typing import ClassVar

from interop import installed
from interop.brokers.broker import Broker, free_ports
from support.web_token import base64url, web_token

_INSIDE = "/srv"  # where the chroot sees the work directory
_NODE = "rabbit@localhost"
_COOKIE = "interop"
_CONFIGURATION = """listeners.tcp.1 = 127.0.0.1:{port}
default_user = {username}
default_pass = {password}
log.console = true
log.console.level = info
log.file = false
auth_backends.1 = internal
auth_backends.2 = rabbit_auth_backend_oauth2
"""
_ADVANCED = """[{{rabbitmq_auth_backend_oauth2, [
    {{resource_server_id, <<"{resource}">>}},
    {{key_config, [
        {{signing_keys, #{{
            <<"{name}">> => {{map, #{{<<"kty">> => <<"oct">>, <<"k">> => <<"{key}">>}}}}
        }}}}
    ]}}
]}}].
"""
_TIME_LIMIT_S = 180
_RESOURCE = "broker"  # whom its tokens are for
_KEY = "interop"  # what signs them


class RabbitMQ(Broker):
    """Wants nodes to be made before somebody attaches to them.

    A password may also be one of its ``token``s.
    """

    product = "RabbitMQ"
    chroot: ClassVar[Path]
    plugins: ClassVar[str] = "[rabbitmq_auth_backend_oauth2]."
    schedulers: ClassVar[int] = 2  # threads of Erlang's that run its processes
    _ready = re.compile("Server startup complete")

    def __init__(self, work: Path) -> None:
        super().__init__(work)
        self._mapper_port, self._distribution_port = free_ports(2)
        self._key = secrets.token_bytes(32)

    def create_queue(self, name: str) -> None:
        """Make a classic durable queue."""
        self._declare(name, "[]")

    def create_limited_queue(self, name: str) -> None:
        overflow = f"{{{_binary('x-overflow')}, longstr, {_binary('reject-publish')}}}"
        self._declare(name, f"[{{{_binary('x-max-length')}, long, 2}}, {overflow}]")

    def delete_queue(self, name: str) -> None:
        self._evaluate(
            f"{{ok, Queue}} = rabbit_amqqueue:lookup({_resource('queue', name)}),"
            f" rabbit_amqqueue:delete(Queue, false, false, {_binary(self.username)}), done."
        )

    def create_topic(self, name: str) -> None:
        """Make a durable topic exchange."""
        self._change(
            f"rabbit_exchange:declare({_resource('exchange', name)},"
            f" topic, true, false, false, [], {_binary(self.username)})"
        )

    def bind(self, exchange: str, key: str, queue: str) -> None:
        ends = [_resource("exchange", exchange), _binary(key), _resource("queue", queue)]
        self._change(
            f"ok = rabbit_binding:add({{binding, {', '.join(ends)}, []}}, {_binary(self.username)})"
        )

    def import_definitions(self, definitions: str) -> None:
        """Make what is defined there, as its command of that name does."""
        self._change(f"ok = rabbit_definitions:import_raw({_binary(definitions)})")

    def queue_depth(self, name: str) -> int:
        said = self._evaluate(
            f"{{ok, Queue}} = rabbit_amqqueue:lookup({_resource('queue', name)}),"
            " [{messages, Count}] = rabbit_amqqueue:info(Queue, [messages]), Count."
        )
        return int(said)

    def token(self, lasts_s: float) -> str:
        """One that lets a user ``gateway`` do everything; it expires at a full second."""
        now = time.time()
        may = [f"{_RESOURCE}.{what}:*/*" for what in ("configure", "read", "write")]
        claims = {
            "sub": "gateway",
            "aud": [_RESOURCE],
            "scope": " ".join(may),
            "iat": now,
            "exp": int(now + lasts_s),
        }
        return web_token(claims, self._key, key_id=_KEY)

    def queue_names(self) -> set[str]:
        """The names of all queues."""
        said = self._evaluate(
            "[binary_to_list(rabbit_data_coercion:to_binary(element(4, amqqueue:get_name(Queue))))"
            " || Queue <- rabbit_amqqueue:list()]."
        )
        return set(re.findall(r'"([^"]*)"', said))

    def binding_keys(self, queue: str) -> set[str]:
        """The keys of a queue's bindings; the one that every queue has is its name."""
        said = self._evaluate(
            "[binary_to_list(element(3, Binding)) || Binding <-"
            f" rabbit_binding:list_for_destination({_resource('queue', queue)})]."
        )
        return set(re.findall(r'"([^"]*)"', said))

    def _declare(self, queue: str, arguments: str) -> None:
        self._change(
            f"rabbit_amqqueue:declare({_resource('queue', queue)},"
            f" true, false, {arguments}, none, {_binary(self.username)})"
        )

    def _change(self, expression: str) -> None:
        """Have it make something that a kill at once does not undo."""
        self._evaluate(f"{expression}, ok = mnesia:sync_log(), done.")

    def _evaluate(self, expression: str) -> str:
        """What the broker says to an Erlang expression."""
        environment = ["env", "-i", f"ERL_EPMD_PORT={self._mapper_port}"]
        call = ["/usr/bin/erl_call", "-sname", _NODE, "-c", _COOKIE, "-e"]
        run = subprocess.run(
            ["chroot", str(self.chroot), *environment, *call],
            input=expression + "\n",
            capture_output=True,
            text=True,
            timeout=_TIME_LIMIT_S,
            check=False,
        )
        answer = re.fullmatch(r"\{ok, (.*)\}", run.stdout.strip(), re.DOTALL)
        if not answer:
            raise AssertionError(f"{expression}\n{run.stdout}{run.stderr}")
        return answer[1]

    def _configure(self) -> None:
        text = _CONFIGURATION.format(port=self.port, username=self.username, password=self.password)
        (self.work / "rabbitmq.conf").write_text(text)
        tokens = _ADVANCED.format(resource=_RESOURCE, name=_KEY, key=base64url(self._key))
        (self.work / "advanced.config").write_text(tokens)
        (self.work / "enabled_plugins").write_text(self.plugins + "\n")

    def _command(self) -> list[str]:
        inside = shlex.quote(str(self.chroot))
        steps = [
            f"mount -t proc proc {inside}/proc",
            f"mount --bind {shlex.quote(str(self.work))} {inside}{_INSIDE}",
            f"exec chroot {inside} env -i {shlex.join(self._environment())}"
            " /usr/lib/rabbitmq/bin/rabbitmq-server",
        ]
        namespaces = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
        return [*namespaces, "sh", "-c", " && ".join(steps)]

    def _environment(self) -> list[str]:
        threads = f"+S {self.schedulers}:{self.schedulers} +sbwt none"
        options = f"-kernel inet_dist_use_interface {{127,0,0,1}} {threads}"
        variables = {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": _INSIDE,
            "LANG": "C.UTF-8",
            "RUNNING_UNDER_SYSTEMD": "1",  # no shell stays in between
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "ERL_EPMD_PORT": str(self._mapper_port),
            "RABBITMQ_NODENAME": _NODE,
            "RABBITMQ_DIST_PORT": str(self._distribution_port),
            "RABBITMQ_MNESIA_BASE": f"{_INSIDE}/data",
            "RABBITMQ_LOG_BASE": f"{_INSIDE}/log",
            "RABBITMQ_CONFIG_FILE": f"{_INSIDE}/rabbitmq.conf",
            "RABBITMQ_ADVANCED_CONFIG_FILE": f"{_INSIDE}/advanced.config",
            "RABBITMQ_ENABLED_PLUGINS_FILE": f"{_INSIDE}/enabled_plugins",
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": f"-setcookie {_COOKIE} {options}",
        }
        return [f"{name}={given}" for name, given in variables.items()]

    @property
    def _pid(self) -> int:
        outer = super()._pid
        children = Path(f"/proc/{outer}/task/{outer}/children").read_text().split()
        # before the namespaces are made there is nothing but what makes them
        return int(children[0]) if children else outer


class RabbitMQ4(RabbitMQ):
    """With 1.0 as a protocol of its own."""

    peer = "rabbitmq4"
    chroot = installed.RABBITMQ4

    def queue_address(self, name: str) -> str:
        return f"/queues/{name}"

    def topic_target(self, name: str) -> str:
        return f"/exchanges/{name}/news"

    def create_subscription(self, topic: str) -> str:
        """Make a queue with a binding: from an exchange itself nobody can receive."""
        queue = f"{topic}.subscription"
        self.create_queue(queue)
        self.bind(topic, "#", queue)
        return self.queue_address(queue)


class RabbitMQ310(RabbitMQ):
    """With 1.0 by the plugin, which translates it to 0-9-1.

    For each attach the plugin opens a 0-9-1 channel and closes it again. Its client library has
    the channel monitored and hands it out at once, but Erlang sends the monitor only when the
    process that asked for it leaves its thread. If the system takes the processor from that thread
    until then, a second one may have run the channel to its end: the monitor comes too late, and
    what it reports (noproc) ends the session with amqp:internal-error. On a busy machine that was
    one conversation of fourteen. With one thread nothing else runs before the monitor is sent.
    """

    peer = "rabbitmq310"
    chroot = installed.RABBITMQ310
    plugins = "[rabbitmq_amqp1_0, rabbitmq_auth_backend_oauth2]."
    schedulers = 1

    def queue_address(self, name: str) -> str:
        return f"/amq/queue/{name}"

    def topic_target(self, name: str) -> str:
        return f"/exchange/{name}/news"


def _resource(kind: str, name: str) -> str:
    return f'rabbit_misc:r(<<"/">>, {kind}, {_binary(name)})'


def _binary(text: str) -> str:
    return "<<" + ",".join(str(octet) for octet in text.encode()) + ">>"
