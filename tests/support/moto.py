"""A server of S3 (moto) as a child process, and what a user of it has to know."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gateway.accounting.locations.settings import Settings

SERVER = Path(__file__).parents[1] / "interop" / "peers" / "moto_server.py"


@dataclass(frozen=True)
class S3:
    """Where it listens, and who may do everything."""

    endpoint: str
    access_key: str
    secret_key: str

    def spark(self, **other: str) -> dict[str, str]:
        """Settings of Spark's for all buckets; `other`: instead of these, "_" for "."."""
        told = {
            "endpoint": self.endpoint,
            "path.style.access": "true",
            "access.key": self.access_key,
            "secret.key": self.secret_key,
            **{name.replace("_", "."): value for name, value in other.items()},
        }
        return {f"spark.hadoop.fs.s3a.{name}": value for name, value in told.items()}

    def settings(self) -> Settings:
        return Settings(self.spark())

    def properties(self, file: Path, **other: str) -> Path:
        """The same in a file."""
        file.write_text("".join(f"{name} {value}\n" for name, value in self.spark(**other).items()))
        return file

    def filesystem(self) -> Any:
        """pyarrow's, which may make buckets."""
        from pyarrow.fs import S3FileSystem

        return S3FileSystem(
            access_key=self.access_key,
            secret_key=self.secret_key,
            endpoint_override=self.endpoint,
            region="us-east-1",
            allow_bucket_creation=True,
        )

    def put(self, directory: Path, where: str) -> None:
        """The files of a directory, into a bucket that is made."""
        files = self.filesystem()
        files.create_dir(where.partition("/")[0])
        for path in directory.iterdir():
            with files.open_output_stream(f"{where}/{path.name}") as file:
                file.write(path.read_bytes())


@contextmanager
def serving(moto: Path) -> Iterator[S3]:
    """By moto as it was installed there."""
    environment = {**os.environ, "PYTHONPATH": str(moto)}
    with subprocess.Popen(
        [sys.executable, str(SERVER)],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        assert server.stdin is not None and server.stdout is not None
        yield S3(**json.loads(server.stdout.readline()))
        server.stdin.close()
