"""What is known of a log that is not in it: heads that were kept elsewhere, keys, closed books.

Standard library only, as in `reader`, as long as no keys are given.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from gateway.audit.books import Book, BookError, signature_in_words
from gateway.audit.provenance import Anchor, Provenance, Trust, anchors_in
from gateway.audit.shelf import Shelf
from gateway.files.whole import ANCHORS_MAX, CERTIFICATES_MAX, read_whole


def known_elsewhere(anchors: Sequence[Path], trusted: Sequence[Path]) -> Provenance:
    """By files of heads, one on each line, and of public keys (PEM).

    Raises:
        OSError: one cannot be read.
        ValueError: one is not what it should be; with its name.
    """
    return known_by(((str(path), read_whole(path, ANCHORS_MAX)) for path in anchors), trusted)


def known_by(anchors: Iterable[tuple[str, bytes]], trusted: Sequence[Path]) -> Provenance:
    """The same by where such a file of heads is, and what is in it."""
    heads: list[Anchor] = []
    for where, text in anchors:
        try:
            heads += anchors_in(text, where.rpartition("/")[2])
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None
    return Provenance(_keys(trusted) if trusted else None, heads)


def take_books(provenance: Provenance, directory: Path, log: str) -> list[str]:
    """What closed books say of the log of that id, as far as they are good; what is wrong with any.

    With trusted keys they must be signed, too.
    """
    shelf = Shelf(directory, provenance.trust)
    shelf.look()
    wrong = [shelf.problem] if shelf.problem else []
    good: list[Book] = []
    try:
        good += shelf.books()
    except BookError as error:
        wrong.append(str(error))
    if not good and not wrong:
        wrong.append(f"there are no closed books in {directory}")
    if good and log and good[0].log != log:
        return [*wrong, f"the books are of another log, with id {good[0].log}"]
    provenance.take(good)
    provenance.books_in_words = _in_words(good, checked=provenance.trust is not None)
    return wrong


def _in_words(books: Sequence[Book], *, checked: bool) -> list[str]:
    """Who has signed these, a line for each of them; `checked`: all are good by trusted keys.

    And what is not there of them.
    """
    missing: list[str] = []
    if books and books[0].number > 1:
        before = books[0].number - 1
        missing = [f"books to number {before} are not there: what they say is not proven"]
    if checked:
        return missing  # each that is not is told as wrong
    by_words: dict[str, list[int]] = {}
    for book in books:
        by_words.setdefault(signature_in_words(book), []).append(book.number)
    said = (
        f"book {numbers[0]} is {words}"
        if len(numbers) == 1
        else f"{len(numbers)} books, the first of them number {numbers[0]}, are {words}"
        for words, numbers in by_words.items()
    )
    return [*missing, *said]


def _keys(trusted: Sequence[Path]) -> Trust:
    from gateway.audit.signing import TrustedKeys  # not everywhere is `cryptography`

    pems: list[bytes] = []
    for path in trusted:
        pems.append(read_whole(path, CERTIFICATES_MAX))
        try:
            TrustedKeys(pems[-1:])
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
    return TrustedKeys(pems)
