"""Log, report, Parquet and state of the jobs in a bucket, against the same on this machine.

    PYTHONPATH=tests python tests/interop/all_in_s3.py

Needs Spark (`.[accounting]`), moto (`tests/interop/install moto`) and Maven, which fetches
`hadoop-aws` of Spark's Hadoop, 700 MB, once: too much for the tests. A log grows in three stages;
each is reconciled here and there, going on from the state of the one before, and closed; then it is
compared with a book. Exits with 1 if anything differs, or a secret is told.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from interop import installed
from support.audit_logs import ScriptedGateway
from support.moto import S3, serving

POM = """<project><modelVersion>4.0.0</modelVersion>
<groupId>test</groupId><artifactId>test</artifactId><version>1</version><packaging>pom</packaging>
<dependencies><dependency><groupId>org.apache.hadoop</groupId><artifactId>hadoop-aws</artifactId>
<version>{}</version></dependency></dependencies></project>
"""
NOT_COMPARED = ("ended_s", "duration_s", "ran")


def hadoop_aws() -> Path:
    """The directory with hadoop-aws and what it needs."""
    import pyspark

    [client] = (Path(pyspark.__file__).parent / "jars").glob("hadoop-client-api-*.jar")
    version = client.stem.removeprefix("hadoop-client-api-")
    place = installed.CACHE / f"hadoop-aws-{version}"
    if not place.is_dir():
        with tempfile.TemporaryDirectory(dir=installed.CACHE) as work:
            Path(work, "pom.xml").write_text(POM.format(version))
            copy = ["dependency:copy-dependencies", f"-DoutputDirectory={work}/jars"]
            subprocess.run(["mvn", "-B", "-q", *copy], cwd=work, check=True)
            Path(work, "jars").rename(place)
    return place


def run(*arguments: object) -> tuple[int, str]:
    """A job's exit code, and all that it said."""
    command = [sys.executable, "-P", "-m", "gateway.accounting", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def compared(text: bytes) -> dict[str, Any]:
    """What a report says that must be the same wherever its log is."""
    told = json.loads(text)
    del told["log"]["path"]
    for row in told["breaks"]:
        del row["trace"]
    return {name: value for name, value in told.items() if name not in NOT_COMPARED}


class Both:
    """One growing log here and there."""

    def __init__(self, scratch: Path, s3: S3) -> None:
        self.scratch, self.s3 = scratch, s3
        self.wrong = 0
        self.gateway = ScriptedGateway(scratch / "audit", segment_octets=4000)
        self.settings = s3.properties(scratch / "spark.conf")
        with self.settings.open("a") as file:
            file.write(f"spark.driver.extraClassPath {hadoop_aws()}/*\n")

    def check(self, what: str, *, holds: bool, told: object = "") -> None:
        print(f"{what:<58} {told if holds else f'NO: {told}'}", flush=True)
        self.wrong += not holds

    def grow(self, messages: int, *, lost: bool = False) -> None:
        for number in range(messages):
            message = self.gateway.publish("orders")
            if number % 3:
                self.gateway.consume("orders", message)
            elif lost:
                self.gateway.lose("orders", message)
                lost = False
            self.gateway.turn()
        self.gateway.checkpoint()
        self.s3.put(self.gateway.directory, "logs/gateway/audit")

    def reconcile(self, stage: int) -> None:
        out = f"out{stage}"
        here, said = run(
            *("reconcile", self.gateway.directory, "--out", self.scratch / out),
            *("--state", self.scratch / "state"),
        )
        there, told = run(
            *("reconcile", "s3a://logs/gateway/audit", "--out", f"s3a://logs/{out}"),
            *("--state", "s3a://logs/state", "--properties-file", self.settings),
        )
        self.check(f"stage {stage}: exit codes", holds=here == there, told=(here, there))
        if here != there:
            print(said, told, sep="\n")
        mine, its = self.reports(out, "report.json")
        verdict = json.loads(its)["verdict"]
        self.check(
            f"stage {stage}: report.json", holds=compared(mine) == compared(its), told=verdict
        )
        _, page = self.reports(out, "report.html")
        self.check_secret(f"stage {stage}", told + page.decode() + its.decode())

    def close(self) -> None:
        books = [self.scratch / "books", self.scratch / "books there"]
        here, _ = run(
            *("close", self.gateway.directory, "--out", self.scratch / "closed"),
            *("--state", self.scratch / "state", "--books", books[0]),
        )
        there, told = run(
            *("close", "s3a://logs/gateway/audit", "--out", "s3a://logs/closed"),
            *("--state", "s3a://logs/state", "--books", books[1]),
            *("--properties-file", self.settings),
        )
        self.check("close: exit codes", holds=here == there, told=(here, there))
        made = [json.loads((each / "0000000001.book" / "book.json").read_text()) for each in books]
        for book in made:
            del book["made_ms"]
        self.check("close: the books", holds=made[0] == made[1], told=made[0]["classes"])
        self.check_secret("close", told)

    def compare(self) -> None:
        """With somebody's book of ids, which is not of this log."""
        books = self.scratch / "others"
        books.mkdir()
        (books / "book.csv").write_text("message_id\nnone\nof\nours,or two\n")
        (books / "wrong.csv").write_text("id\n1\n")
        self.s3.put(books, "others/books")
        mine = ("compare", self.gateway.directory, "--ours=received", "--out")
        here, _ = run(*mine, self.scratch / "compared", "--ledger", books / "book.csv")
        its = ("compare", "s3a://logs/gateway/audit", "--ours=received", "--out")
        its = (*its, "s3a://logs/compared", "--properties-file", self.settings, "--ledger")
        there, told = run(*its, "s3a://others/books/book.csv")
        self.check("compare: exit codes", holds=here == there == 1, told=(here, there))
        counts = [json.loads(each)["counts"] for each in self.reports("compared", "report.json")]
        self.check("compare: report.json", holds=counts[0] == counts[1], told=counts[1])
        self.check_secret("compare", told)
        wrong = "compare: s3a://others/books/wrong.csv has no column 'message_id': it has id\n"
        said = run(*its, "s3a://others/books/wrong.csv")
        self.check("compare: a wrong column", holds=said == (3, wrong), told=said)

    def reports(self, out: str, name: str) -> tuple[bytes, bytes]:
        """A file of the latest run, here and there."""
        files = self.s3.filesystem()
        with files.open_input_file(f"logs/{out}/latest") as file:
            run_there = file.read().decode().strip()
        with files.open_input_file(f"logs/{out}/{run_there}/{name}") as file:
            return (self.scratch / out / "latest" / name).read_bytes(), file.read()

    def check_secret(self, what: str, told: str) -> None:
        secrets = (self.s3.secret_key, self.s3.access_key)
        self.check(f"{what}: no secret is told", holds=not any(each in told for each in secrets))


def main() -> int:
    with tempfile.TemporaryDirectory() as scratch, serving(installed.MOTO) as s3:
        both = Both(Path(scratch), s3)
        both.grow(60)
        both.reconcile(1)
        both.grow(60, lost=True)
        both.reconcile(2)
        both.grow(60)
        both.close()
        both.compare()
        return 1 if both.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
