"""The annotators who are invited to a project, and hashes of their tokens, in a file beside the journal.

The file is a JSON object with a hash for each name. If it exists, only its annotators can use the project. A server
reads it at every request, so invitations and revocations take effect at once.
"""

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from discotree.errors import DiscotreeError, expected
from discotree.files.jobs import JobLock, is_own_file
from discotree.files.writing import write_bytes
from discotree.log import logger
from discotree.web.annotation.journal import LOCK, normalise_name
from discotree.web.security import hash_key

SUFFIX = ".invitations"
KIND = "a file with invitations"
TOKEN_BYTES = 32


class Invitations:
    """The file with the invitations of a project."""

    def __init__(self, journal: str) -> None:
        self.name = journal + SUFFIX
        self.path = os.path.realpath(journal) + SUFFIX
        self.latest: dict[str, bytes] | None = None  # what ``hashes`` returned last

    def read(self) -> dict[str, bytes] | None:
        """Return the hashes of tokens by name, or None if there is no file."""
        try:
            if not is_own_file(self.path, KIND):
                return None
            with open(self.path, "rb") as file:
                return {name: bytes.fromhex(digest) for name, digest in json.load(file).items()}
        except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
            remedy = "restore the file, or remove it and invite all annotators again"
            raise DiscotreeError(f"{self.name}: cannot read the invitations: {error}; {remedy}") from None

    def hashes(self) -> dict[str, bytes] | None:
        """Return the hashes for a running server, which lets nobody in if the file is damaged or disappears."""
        try:
            found = self.read()
        except DiscotreeError as error:
            logger.warning("%s", error)
            found = {}
        self.latest = {} if found is None and self.latest is not None else found
        return self.latest

    def invite(self, who: str) -> tuple[str, str]:
        """Return the name of an annotator as it is stored, and a new token, which replaces an earlier one."""
        name, token = normalise_name(who), secrets.token_urlsafe(TOKEN_BYTES)
        with self._change() as hashes:
            hashes[name] = hash_key(token)
        return name, token

    def revoke(self, who: str) -> str:
        """Make the token of an annotator invalid and return the name; the annotator's trees stay."""
        name = normalise_name(who)
        with self._change() as hashes:
            if name not in hashes:
                hint = expected(name, hashes) if hashes else "; nobody is invited"
                raise DiscotreeError(f"{self.name} has no annotator {name!r}{hint}")
            del hashes[name]
        return name

    @contextmanager
    def _change(self) -> Iterator[dict[str, bytes]]:
        """Yield the hashes, and write them after the block."""
        try:
            with JobLock(self.path + LOCK, self.name):
                hashes = self.read() or {}
                yield hashes
                content = {name: digest.hex() for name, digest in hashes.items()}
                write_bytes(self.path, json.dumps(content, indent=1, ensure_ascii=False).encode() + b"\n")
        except OSError as error:
            raise DiscotreeError(f"{self.name}: cannot write the invitations: {error.strerror or error}") from None
