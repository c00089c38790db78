"""Where the foreign peers are, and what is missing: read by the installer and by the tests.

Standard library only: the installer runs it with whichever Python there is.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

HERE = Path(__file__).resolve().parent
CACHE = Path(
    os.environ.get("GATEWAY_INTEROP_CACHE")
    or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "amqp-gateway-interop"
)
JARS = CACHE / "jars"
XA = CACHE / "xa"
KAFKA = CACHE / "kafka"
MOTO = CACHE / "moto"
RHEA = CACHE / "rhea"
PYTHON27 = CACHE / "python27"
PYTHON27_CLIENT = PYTHON27 / "opt/qpid-python"
BROKER_J = CACHE / "qpid-broker/9.2.0"
ARTEMIS = CACHE / "apache-artemis-2.44.0"
ACTIVEMQ = CACHE / "apache-activemq-5.18.3"
RABBITMQ4 = CACHE / "rabbitmq-trixie"
RABBITMQ310 = CACHE / "rabbitmq-bookworm"

# the Java JMS client of 1.0 and what it needs, as Artemis' own tools have it
_JMS_1_0 = (
    "jakarta.jms-api",
    "qpid-jms-client",
    "proton-j",
    "netty-buffer",
    "netty-codec",
    "netty-common",
    "netty-handler",
    "netty-resolver",
    "netty-transport",
)

# sha256 of what Maven brings
JAR_DIGESTS = {
    "qpid-client-6.4.0.jar": "733dca5ba3b9d2355487bab20189e852cc6c38fdbfe1c9d2fe4297071d5593b5",
    "geronimo-jms_1.1_spec-1.1.1.jar": (
        "18d9ff7b9066aa99cf89843f5055d2fe58b1abe4346ee9df0daf4ac18ca232d7"
    ),
    "slf4j-api-1.7.30.jar": "cdba07964d1bb40a0761485c6b1e8c2f8fd9eb1d19c53928ac0d7f9510105c57",
    "slf4j-nop-1.7.30.jar": "2d550dcefaea23d223b72027dbc7cbdb7327676ccefdd9cfe49cf9ea8e9ac8e0",
    "json-20240303.jar": "3cf6cd6892e32e2b4c1c39e0f52f5248a2f5b37646fdfbb79a66b46b618414ed",
}
# of the transaction managers Narayana and Atomikos
XA_DIGESTS = {
    "transactions-jta-5.0.9.jar": (
        "da1f2eacfab08ff9f8bb95101313eb71b8d8558c9d36f3f08c065c44e371d34e"
    ),
    "transactions-api-5.0.9.jar": (
        "69aa15018da10f06883b58234e286d8c8b63152be5451b1a371d7a263d731dbc"
    ),
    "transactions-5.0.9.jar": "75c5b7c88ceed533fbb729ac5ece00afb2406a0891be910202c7542a6c3bd510",
    "atomikos-util-5.0.9.jar": "db95018f5f1a3095f12d80c3f8973b3b66133b5d326c056363528f7139eb5eb9",
    "narayana-jta-5.13.1.Final.jar": (
        "f9b187c77153f9f9e3caa5bac07ffa2285a0d0d0967d187495fe9ef66d4a88ab"
    ),
    "javax.transaction-api-1.3.jar": (
        "603df5e4fc1eeae8f5e5d363a8be6c1fa47d0df1df8739a05cbcb9fafd6df2da"
    ),
    "jboss-connector-api_1.7_spec-1.0.0.Final.jar": (
        "f50260de1712b7b3838e9733dab70ec3536486caeb196af702a554d2587f2a5e"
    ),
    "jboss-logging-3.4.1.Final.jar": (
        "8efe877d93e5e1057a1388b2950503b88b0c28447364fde08adbec61e524eeb8"
    ),
    "jboss-transaction-spi-7.6.1.Final.jar": (
        "d174f504599a628449a6501c178161b823eadd377ae2603215823097a7b1f21e"
    ),
}
KAFKA_DIGESTS = {
    "kafka-clients-3.9.0.jar": "15c1e137f2c2c94398e27abc4060a03b6bde10bf9fac15e8f70c02320b202f18",
    "slf4j-api-1.7.30.jar": JAR_DIGESTS["slf4j-api-1.7.30.jar"],
    "slf4j-nop-1.7.30.jar": JAR_DIGESTS["slf4j-nop-1.7.30.jar"],
}


def missing(peer: str) -> str | None:
    """What the peer lacks, in words; None when it can be used."""
    return _CHECKS[peer]()


def jms_1_0() -> list[Path]:
    """The jars of the Java JMS client of 1.0."""
    return sorted(path for jar in _JMS_1_0 for path in (ARTEMIS / "lib").glob(f"{jar}-*.jar"))


def sha256(path: Path) -> str:
    """The digest of a file, in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def proton_missing(python: str | None = None) -> str | None:
    """Proton as seen by ``python``; it builds without TLS and SASL and does not say so."""
    program = "import proton as p; print(p.SSL.present() and p.SASL.extended())"
    if python is None:
        try:
            import proton
        except ImportError:
            return "python-qpid-proton is not installed in this environment"
        whole = proton.SSL.present() and proton.SASL.extended()
    else:
        run = subprocess.run([python, "-c", program], capture_output=True, text=True, check=False)
        if run.returncode:
            return f"python-qpid-proton is not installed in the environment of {python}"
        whole = run.stdout.strip() == "True"
    return None if whole else "python-qpid-proton was built without TLS or without SASL"


def kerberos_missing(python: str | None = None) -> str | None:
    """A KDC, the gateway's package for Kerberos as seen by ``python``, and that of Cyrus SASL."""
    if not list(Path("/usr/lib").glob("*/sasl2/libgssapiv2.so")):
        return "no GSSAPI of Cyrus SASL (libgssapiv2.so) on this machine"
    program = [python or sys.executable, "-c", "import gssapi"]
    if subprocess.run(program, capture_output=True, check=False).returncode:
        return f"gssapi is not installed in the environment of {program[0]}"
    return _commands_missing("krb5kdc", "kdb5_util", "kadmin.local", "kinit")


def _commands_missing(*commands: str) -> str | None:
    lacking = [command for command in commands if shutil.which(command) is None]
    return f"no {', '.join(lacking)} on this machine" if lacking else None


def _jms_missing() -> str | None:
    lacking = [jar for jar in JAR_DIGESTS if not (JARS / jar).is_file()]
    if lacking:
        return f"{', '.join(lacking)} not in {JARS}"
    return _commands_missing("java", "javac")


def _xa_missing() -> str | None:
    lacking = [jar for jar in XA_DIGESTS if not (XA / jar).is_file()]
    if lacking:
        return f"{', '.join(lacking)} not in {XA}"
    return _jms_missing()  # the resources are that client's


def _kafka_missing() -> str | None:
    lacking = [jar for jar in KAFKA_DIGESTS if not (KAFKA / jar).is_file()]
    if lacking:
        return f"{', '.join(lacking)} not in {KAFKA}"
    return _commands_missing("java")


def _moto_missing() -> str | None:
    if not (MOTO / "moto/server.py").is_file():
        return f"no S3 server (moto) in {MOTO}"
    return None


def _rhea_missing() -> str | None:
    if not (RHEA / "node_modules/rhea/package.json").is_file():
        return f"rhea not in {RHEA}"
    return _commands_missing("node")


def _tshark_missing() -> str | None:
    return _commands_missing("tshark", "text2pcap")


def _qpid_python_missing() -> str | None:
    if os.geteuid():
        return "qpid-python runs in a chroot, which needs root"
    if not (PYTHON27 / "usr/bin/python2.7").is_file():
        return f"no Python 2.7 in {PYTHON27}"
    if not (PYTHON27_CLIENT / "qpid/messaging/driver.py").is_file():
        return f"qpid-python not in {PYTHON27_CLIENT}"
    return None


def qpidd() -> Path:
    """The folder of a real qpidd and its C++ clients; nothing here can install one."""
    return Path(os.environ.get("QPIDD", "/nonexistent"))


def qpidd_missing() -> str | None:
    """What a qpidd lacks, in words; None when it can be used."""
    folder = qpidd()
    if not (folder / "qpidd").is_file():
        return "QPIDD names no folder with a qpidd, qpid-send and qpid-receive"
    run = subprocess.run(
        ["./qpidd", "--no-module-dir", "--version"],
        cwd=folder,
        env={**os.environ, "LD_LIBRARY_PATH": "lib"},
        capture_output=True,
        text=True,
        check=False,
    )
    return f"the qpidd there does not run: {run.stderr.strip()}" if run.returncode else None


def _java_broker_missing(place: Path) -> str | None:
    if not (place / "lib").is_dir():
        return f"no broker in {place}"
    return _commands_missing("java")


def _rabbitmq_missing(chroot: Path) -> str | None:
    if os.geteuid():
        return "RabbitMQ runs in a chroot, which needs root"
    if not (chroot / "usr/lib/rabbitmq/bin/rabbitmq-server").is_file():
        return f"no RabbitMQ in {chroot}"
    return _commands_missing("unshare", "chroot")


_CHECKS: dict[str, Callable[[], str | None]] = {
    "proton": proton_missing,
    "kerberos": kerberos_missing,
    "jms": _jms_missing,
    "xa": _xa_missing,
    "kafka": _kafka_missing,
    "moto": _moto_missing,
    "rhea": _rhea_missing,
    "tshark": _tshark_missing,
    "qpid-python": _qpid_python_missing,
    "broker-j": partial(_java_broker_missing, BROKER_J),
    "artemis": partial(_java_broker_missing, ARTEMIS),
    "activemq": partial(_java_broker_missing, ACTIVEMQ),
    "rabbitmq4": partial(_rabbitmq_missing, RABBITMQ4),
    "rabbitmq310": partial(_rabbitmq_missing, RABBITMQ310),
}
PEERS = tuple(_CHECKS)
