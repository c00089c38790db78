"""What others on this machine can read of the gateway's secrets and data, or change of what it
goes by, told as warnings.
"""

from __future__ import annotations

import pathlib
import stat
from collections.abc import Iterator
from typing import Final

from gateway.config import Settings

OTHERS: Final = stat.S_IRWXO
OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH
PRIVATE: Final = stat.S_IRWXU | stat.S_IRGRP | stat.S_IXGRP  # a group that reads may be meant


def exposed(settings: Settings) -> list[str]:
    """A line for each file or directory that is less private than it should be."""
    told = []
    for key, path in _secrets(settings):
        mode = _mode(path)
        if mode is not None and mode & OTHERS:
            told.append(
                f"{key}: other users of this machine can use {path} (mode {mode & 0o777:03o});"
                f" chmod {mode & PRIVATE:03o}"
            )
    for key, path in _trusted(settings):
        mode = _mode(path)
        if mode is not None and mode & stat.S_IWOTH:
            told.append(
                f"{key}: other users of this machine can change {path} (mode {mode & 0o777:03o});"
                f" chmod {mode & 0o777 & ~OTHERS_WRITE:03o}"
            )
    told += _replaceable([*_secrets(settings), *_trusted(settings)])
    directory = settings.data_directory
    mode = _mode(directory)
    if mode is not None and mode & OTHERS:
        told.append(
            f"data_directory: other users of this machine can use {directory} (mode"
            f" {mode & 0o777:03o}); the files that the gateway makes in it are its own"
        )
    return told


def _replaceable(files: list[tuple[str, pathlib.Path]]) -> Iterator[str]:
    """A line for each directory in which others can put a file in the place of one of these."""
    told: set[pathlib.Path] = set()
    for key, path in files:
        directory = path.parent
        mode = _mode(directory)
        if mode is None or directory in told:
            continue
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            told.add(directory)
            yield (
                f"{key}: other users of this machine can replace {path}: {directory} has mode"
                f" {mode & 0o777:03o}; chmod {mode & 0o777 & ~OTHERS_WRITE:03o}"
            )


def _secrets(settings: Settings) -> list[tuple[str, pathlib.Path]]:
    """Files with something in them that nobody else is to know, by their keys."""
    found: list[tuple[str, pathlib.Path | None]] = [
        ("users_file", settings.users_file),
        ("admin_token_file", settings.admin_token_file),
        ("metrics_token_file", settings.metrics_token_file),
        ("audit.signing_key_file", settings.audit.signing_key_file),
    ]
    if settings.tls is not None:
        found.append(("tls.key", settings.tls.key))
    for name, upstream in settings.upstreams.items():
        prefix = f"upstreams.{name}"
        found += [
            (f"{prefix}.password_file", upstream.password_file),
            (f"{prefix}.token_file", upstream.token_file),
            (f"{prefix}.sas_key_file", upstream.sas_key_file),
        ]
        if upstream.tls is not None:
            found.append((f"{prefix}.tls.key", upstream.tls.key))
    return [(key, path) for key, path in found if path is not None]


def _trusted(settings: Settings) -> list[tuple[str, pathlib.Path]]:
    """Files that say who may come in and do what: others may read them."""
    found: list[tuple[str, pathlib.Path | None]] = [
        ("the configuration", settings.file),
        ("access.file", settings.access.file),
        ("access.qpidd_file", settings.access.qpidd_file),
    ]
    if settings.tls is not None:
        found.append(("tls.client_ca", settings.tls.client_ca))
        found.append(("tls.client_crl", settings.tls.client_crl))
    for name, upstream in settings.upstreams.items():
        if upstream.tls is not None:
            found.append((f"upstreams.{name}.tls.ca", upstream.tls.ca))
    return [(key, path) for key, path in found if path is not None]


def _mode(path: pathlib.Path) -> int | None:
    try:
        return path.stat().st_mode
    except OSError:
        return None
