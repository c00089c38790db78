"""`ctl`: look at a running gateway, change where its nodes live, who is connected, what is kept."""

from __future__ import annotations

import http.client
import json
import pathlib
import re
import ssl
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any, Final

import click

from gateway.cli import ctl_connections, ctl_status
from gateway.cli.options import admin_options, check_text
from gateway.errors import ConfigurationError, GatewayError
from gateway.files.json_text import json_value
from gateway.files.whole import SECRET_MAX, read_whole

NO_TOKEN: Final = "{file}: this is no token: one word of printable ASCII characters"
ANSWER_MAX: Final = 256 * 1024 * 1024
URL: Final = re.compile(r"https?://[!-~]+")
SAID_MAX: Final = 64 * 1024
NEEDS_TOKEN: Final = "it needs --token-file, before the command: ctl --token-file FILE status"
SHOWN_MAX: Final = 80
WAIT_S: Final = 3700  # a switch may take switch_timeout, which is an hour at most
Told = dict[str, Any]  # Any: what JSON holds
Asked = Callable[[], "Admin"]  # made by the command

EPILOG = """
\b
RULE is one of the configuration's `nodes`, by its pattern ("orders", "news.*"), as
"queue:orders" or "exchange:news" where both have one, or by its key path ("nodes.0").

\b
Examples:
  amqp-gateway ctl --token-file /etc/amqp-gateway/admin-token status
  amqp-gateway ctl --token-file token pause orders
  amqp-gateway ctl --token-file token switch orders new-broker
  amqp-gateway ctl --admin http://10.0.0.5:9672 --token-file token reload
  amqp-gateway ctl --token-file token connections
  amqp-gateway ctl --token-file token close 17 --reason "moved to another gateway"
  amqp-gateway ctl --token-file token sessions
  amqp-gateway ctl --token-file token branches
  amqp-gateway ctl --token-file token let-go 240

\b
Exit codes:
  0  done
  1  it was not done, or not all of it: the gateway says why, or cannot be reached
  2  wrong arguments, or a wrong configuration: nothing was changed

Changes of rules hold until the next reload or restart: the configuration is the truth.
"""


class Admin:
    """The admin port of one gateway."""

    def __init__(
        self,
        url: str,
        token_file: pathlib.Path | None,
        ca: pathlib.Path | None = None,
        *,
        missing: str = NEEDS_TOKEN,
    ) -> None:
        self._url = _checked(url)
        self._tls = None
        if ca is not None:
            try:
                self._tls = ssl.create_default_context(cafile=str(ca))
            except (OSError, ssl.SSLError) as error:
                raise click.UsageError(f"{ca}: {error.strerror or error}") from None
        if token_file is None:  # not before: the help of a command needs none
            raise click.UsageError(missing)
        try:
            self._token = read_whole(token_file, SECRET_MAX).decode("ascii").strip()
        except OSError as error:
            raise click.UsageError(f"{token_file}: {error.strerror}") from None
        except ValueError:
            raise click.UsageError(NO_TOKEN.format(file=token_file)) from None
        # What is in another file is nobody's business: it is neither sent nor shown.
        if not self._token.isprintable() or " " in self._token or not self._token:
            raise click.UsageError(NO_TOKEN.format(file=token_file))

    def ask(self, command: str, body: Told | None = None, *, wait_s: float | None = WAIT_S) -> Told:
        """The answer; GET without a body. Raises what the gateway refuses."""
        for name, value in (body or {}).items():
            check_text(name.upper(), str(value))
        request = urllib.request.Request(
            f"{self._url}/ctl/{command}",
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=wait_s, context=self._tls) as answer:
                octets = answer.read(ANSWER_MAX + 1)
        except urllib.error.HTTPError as error:
            raise self._refused(error) from None
        except urllib.error.URLError as error:
            raise GatewayError(f"{self._url}: {error.reason}") from None
        except (OSError, http.client.HTTPException) as error:
            raise GatewayError(f"{self._url}: {str(error) or type(error).__name__}") from None
        return self._told(octets)

    def _told(self, octets: bytes) -> Told:
        try:
            told = json_value(octets) if len(octets) <= ANSWER_MAX else None
        except ValueError:
            told = None
        if not isinstance(told, dict):
            raise GatewayError(f"{self._url}: what answers there is no gateway")
        return told

    def _refused(self, error: urllib.error.HTTPError) -> GatewayError:
        if error.code == 404:
            return GatewayError(f"{self._url}: no ctl there: set admin_token_file")
        said = error.read(SAID_MAX)
        try:
            problems = [(each["key"], each["problem"]) for each in json_value(said)["problems"]]
        except (ValueError, KeyError, TypeError):
            # Whatever answers there may say what it is, such as the AMQP port.
            told = " ".join(said.decode("utf-8", "replace").split())
            text = f": {told}" if told.isprintable() and not told.startswith("<") else ""
            return GatewayError(f"{self._url}: {error}{text if told else ''}")
        if error.code == 422:
            return ConfigurationError(problems)
        return GatewayError("; ".join(problem for _key, problem in problems))


def _checked(url: str) -> str:
    """The URL of an admin port. Raises what says that it is none."""
    whole = (url if "://" in url else f"http://{url}").rstrip("/")
    try:
        parts = urllib.parse.urlsplit(whole)
        fits = bool(URL.fullmatch(whole) and parts.hostname and parts.hostname.encode("idna"))
        fits = fits and (parts.port is None or parts.port > 0) and not parts.query + parts.fragment
    except ValueError:
        fits = False
    if not fits:
        shown = url if len(url) <= SHOWN_MAX else f"{url[:SHOWN_MAX]}..."
        raise click.UsageError(f"--admin: {shown!r} is no URL and no HOST:PORT of an admin port")
    return whole


@click.group(epilog=EPILOG)
@admin_options
@click.pass_context
def ctl(
    context: click.Context,
    url: str,
    token_file: pathlib.Path | None,
    tls_ca: pathlib.Path | None,
) -> None:
    """Look at a running gateway; pause, resume and switch its remote nodes; end connections.

    And let old segments of its audit log go.
    """
    context.obj = lambda: Admin(url, token_file, tls_ca)


@ctl.command()
@click.option("--json", "as_json", is_flag=True, help="As one JSON object.")
@click.pass_obj
def status(admin: Asked, as_json: bool) -> None:
    """Upstreams and node rules, how they are, and what waits.

    Of an upstream: whether it is connected, since when, to which host; how many of its links are
    attached. HELD: messages to it whose publishers wait. SPOOLED: those that the gateway has stored
    and confirmed. FETCHED: from it, and not settled by a client. PAUSED, MOVING: rules. Of one that
    is away: how many tries have failed, when the next is, and why the last one did.
    """
    _show(admin().ask("status"), as_json, ctl_status.lines)


def _show(told: Told, as_json: bool, lines: Callable[[Told], Iterator[str]]) -> None:
    if as_json:
        click.echo(json.dumps(told, ensure_ascii=False))
        return
    for line in lines(told):
        click.echo(line)


@ctl.command()
@click.option("--json", "as_json", is_flag=True, help="As one JSON object.")
@click.pass_obj
def connections(admin: Asked, as_json: bool) -> None:
    """Clients: from where, who, by which protocol, since when, and what they do.

    NUMBER is the one that the gateway's log and the audit log have. LINKS: of AMQP 0-10,
    subscriptions. IN and OUT: octets, inside TLS.
    """
    _show(admin().ask("connections"), as_json, ctl_connections.connection_lines)


@ctl.command()
@click.argument("number", type=int)
@click.option("--reason", default="", help="What the client is told; else that an operator did it.")
@click.pass_obj
def close(admin: Asked, number: int, reason: str) -> None:
    """End the connection NUMBER, in good order; nothing keeps its client from coming back."""
    click.echo(admin().ask("close", {"connection": number, "reason": reason})["done"])


@ctl.command("log-level")
@click.argument("subsystem")
@click.argument("level")
@click.pass_obj
def log_level(admin: Asked, subsystem: str, level: str) -> None:
    """Have the log write what SUBSYSTEM says from LEVEL on (debug, info, warn, error, critical).

    SUBSYSTEM: clients, logins, upstreams, admin, store, audit, event_loop, or all. It holds until
    the next reload: then `logging` of the configuration counts.
    """
    click.echo(admin().ask("log-level", {"subsystem": subsystem, "level": level})["done"])


@ctl.command()
@click.option("--json", "as_json", is_flag=True, help="As one JSON object.")
@click.pass_obj
def sessions(admin: Asked, as_json: bool) -> None:
    """Sessions without a connection, and links that are suspended: who may come back to what.

    KIND: a session of AMQP 0-10; of AMQP 1.0 a link by which the client sends, or receives.
    LEFT: how long it is kept; a link may be kept for as long as its session lives. UNSETTLED:
    deliveries that nobody else gets; of a sender those whose outcome is known, or waited for.
    """
    _show(admin().ask("sessions"), as_json, ctl_connections.session_lines)


@ctl.command()
@click.argument("number", type=int)
@click.pass_obj
def end(admin: Asked, number: int) -> None:
    """End what `sessions` shows as NUMBER: its client will not find it, what it holds goes back."""
    click.echo(admin().ask("end", {"session": number})["done"])


@ctl.command()
@click.option("--json", "as_json", is_flag=True, help="As one JSON object.")
@click.pass_obj
def subscriptions(admin: Asked, as_json: bool) -> None:
    """Durable subscriptions of AMQP 1.0 clients, and whose they are.

    One without a user is a queue that an older version may have made for one: it goes to the first
    user who attaches for what it is bound to, or by `assign`.
    """
    _show(admin().ask("subscriptions"), as_json, ctl_connections.subscription_lines)


@ctl.command()
@click.argument("queue")
@click.option("--user", required=True, help='Whose it is to be; "" of clients without a login.')
@click.option("--container", required=True, help="The container-id that the client gives.")
@click.option("--link", required=True, help="The link's name: a subscription's, for JMS clients.")
@click.option("--virtual-host", default="", help="Virtual host; default: the default one.")
@click.pass_obj
def assign(
    admin: Asked, queue: str, user: str, container: str, link: str, virtual_host: str
) -> None:
    """Say whose the durable subscription is that QUEUE collects for."""
    asked = {"queue": queue, "user": user, "container": container, "link": link}
    click.echo(admin().ask("assign", {**asked, "virtual_host": virtual_host})["done"])


@ctl.command()
@click.option("--json", "as_json", is_flag=True, help="As one JSON object.")
@click.pass_obj
def branches(admin: Asked, as_json: bool) -> None:
    """Branches of distributed transactions (XA), and how each of them is.

    A prepared one waits for its transaction manager, and holds what it is to publish and what it
    has accepted until that, or `decide`, ends it.
    """
    _show(admin().ask("branches"), as_json, ctl_connections.branch_lines)


@ctl.command()
@click.argument("branch")
@click.argument("decision", type=click.Choice(["commit", "rollback", "forget"]))
@click.option("--virtual-host", default="", help="Virtual host; default: the default one.")
@click.pass_obj
def decide(admin: Asked, branch: str, decision: str, virtual_host: str) -> None:
    """End the prepared BRANCH of which its manager is lost: commit it, or roll it back.

    That is a heuristic decision: other resources of the transaction may be ended otherwise. A
    manager that comes back is told of it, until it forgets the branch, or `forget` does. A doomed
    or expired one has been rolled back: to roll it back is the end of it.
    """
    asked = {"branch": branch, "decision": decision, "virtual_host": virtual_host}
    click.echo(admin().ask("decide", asked)["done"])


@ctl.command()
@click.argument("rule")
@click.pass_obj
def pause(admin: Asked, rule: str) -> None:
    """Send nothing to RULE's upstream and want nothing from it; publishers wait."""
    click.echo(admin().ask("pause", {"node": rule})["done"])


@ctl.command()
@click.argument("rule")
@click.pass_obj
def resume(admin: Asked, rule: str) -> None:
    """Go on with RULE after a pause."""
    click.echo(admin().ask("resume", {"node": rule})["done"])


@ctl.command()
@click.argument("rule")
@click.argument("upstream")
@click.option("--drain", is_flag=True, help="Carry along what the old upstream holds, in order.")
@click.option("--rate", type=click.IntRange(min=0), help="With --drain: messages a second at most.")
@click.pass_obj
def switch(admin: Asked, rule: str, upstream: str, drain: bool, rate: int | None) -> None:
    """Have the nodes of RULE live at UPSTREAM; clients stay connected.

    UPSTREAM is asked first: where it lacks a queue or an exchange that is to live at it, nothing
    changes. Of a pattern that is asked for the names in use. Not where it makes what is missing.

    What is in flight settles first, for switch_timeout at most. Messages that the old upstream
    holds stay with it; the answer says how many they are, where it tells.

    With --drain they come along, through the gateway. Consumers take from UPSTREAM from the
    beginning; publishers go on to the old one until all of it is carried. So consumers get all of
    a queue in its order. How far it is: `migrate move --status`; to end it: `migrate move --stop`.
    """
    if rate is not None and not drain:
        raise click.UsageError("--rate is of --drain")
    asked = {"node": rule, "upstream": upstream}
    carried = {"drain": True, "rate": rate or 0} if drain else {}
    wait_s = None if drain else WAIT_S
    click.echo(admin().ask("switch", asked | carried, wait_s=wait_s)["done"])


@ctl.command()
@click.pass_obj
def reload(admin: Asked) -> None:
    """Read the configuration again, as SIGHUP does."""
    click.echo(admin().ask("reload", {})["done"])


@ctl.command("let-go")
@click.argument("segment", type=int)
@click.option(
    "--unbalanced",
    is_flag=True,
    help="Also those of a closed book that is not balanced, without an archive: keep them first.",
)
@click.pass_obj
def let_go(admin: Asked, segment: int, unbalanced: bool) -> None:
    """Let the audit log's segments up to number SEGMENT go, which have it in their names.

    All of them, or none, as for those that are old (audit.keep_age): a closed book must cover each,
    unless audit.keep_unclosed is false, and each is archived first where an archive is set. Never
    the segment that is written. The audit log says that an operator did it.

    It is answered when they are removed, after half a minute or so. Where an archive fails in the
    middle, those before are gone, and the answer says so. Nobody need wait for it: the gateway goes
    on by itself.
    """
    asked = {"segment": segment} | ({"unbalanced": True} if unbalanced else {})
    click.echo(admin().ask("let-go", asked)["done"])
