"""A Kerberos realm of one's own: MIT's KDC on loopback, with its files in one directory."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Self

REALM = "GATEWAY.TEST"
STARTS_WITHIN_S = 30
LOOKS_EVERY_S = 0.02
PORTS_TRIED = 5
_KRB5 = """\
[libdefaults]
 default_realm = {realm}
 dns_lookup_kdc = false
 dns_lookup_realm = false
 dns_canonicalize_hostname = false
 rdns = false
 udp_preference_limit = 1
[realms]
 {realm} = {{
  kdc = 127.0.0.1:{port}
 }}
[domain_realm]
 localhost = {realm}
"""
_KDC = """\
[realms]
 {realm} = {{
  database_name = {directory}/principal
  key_stash_file = {directory}/stash
  acl_file = {directory}/acl
  kdc_listen = ""
  kdc_tcp_listen = 127.0.0.1:{port}
  max_life = 10h
 }}
[logging]
 kdc = FILE:{directory}/kdc.log
"""


class Kdc:
    """A realm with its KDC, while it is entered.

    Attributes:
        environment: of a process that is to see this realm and no other.
        keytab: the keys of the services that were added.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.keytab = directory / "keytab"
        self.environment = {
            "KRB5_CONFIG": str(directory / "krb5.conf"),
            "KRB5_KDC_PROFILE": str(directory / "kdc.conf"),
            "KRB5RCACHEDIR": str(directory),
            "KRB5CCNAME": f"FILE:{directory}/nobody",
        }
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self._configure(_free_port())
        self._run("kdb5_util", "create", "-s", "-r", REALM, "-P", "master")
        for _ in range(PORTS_TRIED):
            if self._listens():
                return self
            self._configure(_free_port())  # somebody else had the port meanwhile
        raise AssertionError("the KDC does not start")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(STARTS_WITHIN_S)

    def add_user(self, name: str, password: str) -> None:
        """A principal who logs in with a password."""
        self._ask(f"addprinc -pw {password} {name}")

    def add_service(self, name: str) -> None:
        """A principal whose key is in the keytab."""
        self._ask(f"addprinc -randkey {name}")
        self._ask(f"ktadd -k {self.keytab} {name}")

    def ticket(self, name: str, password: str) -> dict[str, str]:
        """The environment of a process of that user, who has a ticket from now on."""
        cache = self.directory / f"cache-{name.replace('/', '-')}"
        mine = {**self.environment, "KRB5CCNAME": f"FILE:{cache}"}
        self._run("kinit", name, given=f"{password}\n", extra=mine)
        return mine

    def _configure(self, port: int) -> None:
        told = {"realm": REALM, "port": port, "directory": self.directory}
        (self.directory / "krb5.conf").write_text(_KRB5.format(**told))
        (self.directory / "kdc.conf").write_text(_KDC.format(**told))
        self._port = port

    def _ask(self, question: str) -> None:
        self._run("kadmin.local", "-r", REALM, "-q", question)

    def _environment(self) -> dict[str, str]:
        return {**os.environ, **self.environment}

    def _run(self, *command: str, given: str = "", extra: dict[str, str] | None = None) -> None:
        done = subprocess.run(
            command,
            env={**self._environment(), **(extra or {})},
            input=given,
            capture_output=True,
            text=True,
            check=False,
            timeout=180,
        )
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"

    def _listens(self) -> bool:
        """Start it, and wait until it takes connections; it ends if it cannot have its port."""
        self._process = subprocess.Popen(
            ["krb5kdc", "-n", "-r", REALM], env=self._environment(), stdin=subprocess.DEVNULL
        )
        until = time.monotonic() + STARTS_WITHIN_S
        while time.monotonic() < until:
            if self._process.poll() is not None:
                return False
            try:
                socket.create_connection(("127.0.0.1", self._port), timeout=1).close()
            except OSError:
                time.sleep(LOOKS_EVERY_S)
            else:
                return self._process.poll() is None
        raise AssertionError("the KDC does not listen")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
