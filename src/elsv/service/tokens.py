"""Tokens in a file: who may read, write and administer; made and revoked by ``elsv token``.

The file holds a digest of each token and never the token. A plain SHA-256 is right for that: a token is 256
random bits, so there is nothing to guess, and the slow, salted digests that passwords need would only make
every request slow.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from pathlib import Path
from typing import Any
from urllib.parse import quote

from elsv._base.files import fcntl, write_text
from elsv._base.numbers import shown
from elsv.errors import CorruptFileError, InvalidInputError


class Role(IntEnum):
    """What a token allows."""

    READ = 1  # look
    WRITE = 2  # decide and report outcomes
    ADMIN = 3  # begin and change campaigns

    @property
    def word(self) -> str:
        """The role as people write it."""
        return self.name.lower()


ROLES = tuple(role.word for role in Role)  # each may do what those before it may
PREFIX = "elsv_"  # so that people and scanners know a token that has leaked
_FORMAT = 1
_LONGEST_NAME = 100
LONGEST_LINK = 366  # days


@dataclass(frozen=True)
class Token:
    """What is kept of a token."""

    name: str
    role: str
    digest: str
    created: str
    revoked: str | None = None
    expires: str | None = None  # None: it stays valid until it is revoked
    link: bool = False  # whether it logs in by a link

    @property
    def live(self) -> bool:
        """Whether it is neither revoked nor past its time."""
        return self.revoked is None and (self.expires is None or self.expires > _now())

    @property
    def may(self) -> Role:
        """What it allows."""
        return Role[self.role.upper()]

    @property
    def link_until(self) -> float | None:
        """Until when its link logs in, in seconds since 1970; None: it is no link."""
        return datetime.fromisoformat(self.expires or "").timestamp() if self.link else None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, without the digest."""
        return {key: value for key, value in asdict(self).items() if key != "digest"}


def page_of(name: str) -> str:
    """Return the address of a campaign's page, to which a link may lead.

    Slashes and dots are encoded twice: proxies and browsers have their own ideas of them in a path.
    """
    if not name.strip("."):
        return f"/ui/campaigns/{'%252E' * len(name)}"
    return f"/ui/campaigns/{quote(name.replace('%', '%25').replace('/', '%2F'), safe='')}"


def digest_of(token: str) -> str:
    """Return what the file keeps of a token."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


class TokenFile:
    """Tokens of a file; a change of the file is noticed by the next question.

    `must_exist`: whether a file that is not there is an error; otherwise it holds no tokens.
    """

    def __init__(self, path: str | Path, must_exist: bool = True) -> None:
        self._path, self._must_exist = Path(path), must_exist
        self._lock = threading.Lock()
        self._seen: tuple[int, ...] | None = None
        self._tokens: tuple[Token, ...] = ()
        self.tokens()

    def tokens(self) -> tuple[Token, ...]:
        """Return all tokens, in the order in which they were made, revoked ones too."""
        with self._lock:
            try:
                now = os.stat(self._path)
                mark = now.st_mtime_ns, now.st_size, now.st_ino
                if mark != self._seen:
                    self._tokens, self._seen = _parsed(self._path.read_text("utf-8"), self._path), mark
            except FileNotFoundError as error:
                self._tokens, self._seen = (), None
                if self._must_exist:
                    raise _unusable(self._path, error, "make a token: elsv token new NAME") from error
            except OSError as error:
                raise _unusable(self._path, error, "give yourself the right to read it") from error
            except UnicodeDecodeError as error:
                raise _damaged(self._path, str(error)) from error
            return self._tokens

    def find(self, digest: str) -> Token | None:
        """Return the valid token with this digest; None if it is unknown, revoked or past its time.

        Every digest is compared, in a time that does not depend on where they differ.
        """
        same = [known for known in self.tokens() if hmac.compare_digest(known.digest, digest)]
        return next((known for known in reversed(same) if known.live), None)

    def new(self, name: str, role: str, days: float | None = None) -> str:
        """Add a token and return it: this is the only time that it can be seen.

        `days`: it logs in by a link, for so many days.
        """
        if days is not None and not 0 < days <= LONGEST_LINK:
            raise InvalidInputError(f"a link is valid for up to {LONGEST_LINK} days, got {days:g}")
        if not name.strip() or len(name) > _LONGEST_NAME or not name.isprintable():
            raise InvalidInputError(
                f"the name of a token must be one line of up to {_LONGEST_NAME} characters, got {shown(name)}"
            )
        if role not in ROLES:
            raise InvalidInputError(
                f"the role of a token must be one of {', '.join(ROLES)}, got {shown(role)}"
            )
        with self._changing() as before:
            if any(known.name == name and known.live for known in before):
                raise InvalidInputError(
                    f"there is a token {name!r} already; choose another name, or revoke it first: "
                    f"elsv token revoke {name}"
                )
            token, until = PREFIX + secrets.token_urlsafe(32), None if days is None else _now(days)
            made = Token(name, role, digest_of(token), _now(), expires=until, link=days is not None)
            self._write((*before, made))
        return token

    def revoke(self, name: str) -> Token:
        """End a token; it stays listed, with the date."""
        with self._changing() as before:
            valid = [known for known in before if known.revoked is None]
            live = next((known for known in valid if known.name == name), None)
            if live is None:
                names = ", ".join(repr(known.name) for known in valid)
                ended = "is revoked already" if any(k.name == name for k in before) else "is unknown"
                raise InvalidInputError(f"token {name!r} {ended}; valid ones: {names or 'none'}")
            ended_now = replace(live, revoked=_now())
            self._write(tuple(ended_now if known is live else known for known in before))
        return ended_now

    @contextmanager
    def _changing(self) -> Iterator[tuple[Token, ...]]:
        """Give the present tokens while no other process changes the file."""
        try:
            handle = self._held()
        except OSError as error:
            rule = f"cannot write {self._path}: {error.strerror or error}"
            raise InvalidInputError(f"{rule}; choose a path where you may write") from error
        try:
            yield self.tokens()
        finally:
            os.close(handle)

    def _held(self) -> int:
        """Return the open file, locked; open it anew if it was replaced while we waited."""
        while True:
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                if fcntl is None:
                    return handle
                fcntl.flock(handle, fcntl.LOCK_EX)
                if os.path.samestat(os.fstat(handle), os.stat(self._path)):
                    return handle
            except FileNotFoundError:
                pass
            except BaseException:
                os.close(handle)
                raise
            os.close(handle)

    def _write(self, tokens: tuple[Token, ...]) -> None:
        content = {"format": _FORMAT, "tokens": [asdict(token) for token in tokens]}
        write_text(self._path, json.dumps(content, indent=2) + "\n")


def _parsed(text: str, path: Path) -> tuple[Token, ...]:
    if not text.strip():
        return ()
    try:
        content = json.loads(text)
        found = tuple(Token(**entry) for entry in content["tokens"])
    except (ValueError, TypeError, KeyError) as error:
        raise _damaged(path, str(error)) from error
    if content.get("format") != _FORMAT:
        raise CorruptFileError(f"{path} was written by a newer elsv; use that one: pip install -U elsv")
    for token in found:
        texts = (token.name, token.role, token.digest, token.created)
        if not all(isinstance(value, str) for value in texts) or token.role not in ROLES:
            raise _damaged(path, f"token {shown(token.name)} has the role {shown(token.role)}")
        if len(token.digest) != 64 or not token.digest.isascii():
            raise _damaged(path, f"token {token.name!r} has no digest")
        if not (_is_time(token.revoked) and _is_time(token.expires)) or (token.link and not token.expires):
            raise _damaged(path, f"token {token.name!r} has no proper time")
    return found


def _is_time(value: object) -> bool:
    """Return whether this is a time as the file keeps it, or none."""
    try:
        return value is None or bool(datetime.fromisoformat(value))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False


def _unusable(path: Path, error: OSError, remedy: str) -> CorruptFileError:
    return CorruptFileError(f"cannot read {path}: {error.strerror or error}; {remedy}")


def _damaged(path: Path, why: str) -> CorruptFileError:
    return CorruptFileError(
        f"{path} is damaged or no file of tokens ({why}); restore it from a backup, or remove it and make "
        "new tokens: elsv token new NAME"
    )


def _now(days: float = 0.0) -> str:
    return (datetime.now(UTC) + timedelta(days=days)).isoformat(timespec="seconds")
