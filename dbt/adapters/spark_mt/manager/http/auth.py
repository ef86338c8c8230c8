"""Authentication and authorization: tokens, browser sessions, origins of requests.

Programs send a token in `Authorization: Bearer`. People enter it once on the status page, and a
signed cookie replaces it afterwards. The token is in no cookie, page, log or URL.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
import threading
import time
from collections import deque
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.manager.http.errors import TokenRequiredError, WeakTokenError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from starlette.requests import HTTPConnection, Request
    from starlette.responses import Response


SESSION_SECONDS = 12 * 3600
WRONG_TOKENS = 10
PATIENCE_SECONDS = 60


class Sessions:
    """Makes and checks the cookies of sessions.

    Starlette's SessionMiddleware cannot end a session before its time: a copy of the cookie would
    stay valid after the user has signed out.

    Args:
        key: What they are signed with.
        now: Seconds since the epoch.
    """

    def __init__(self, key: bytes, now: Callable[[], float]) -> None:
        self._key = key
        self._now = now
        self._ended: dict[str, int] = {}
        self._lock = threading.Lock()
        # Browsers share cookies among the ports of a host, and so do the managers on it.
        self.cookie = f"spark_mt_{self._sign('name', '')[:12]}"

    def begin(self) -> str:
        """Return the value of a new session's cookie."""
        session = f"{int(self._now()) + SESSION_SECONDS}.{secrets.token_urlsafe(18)}"
        return f"{session}.{self._sign('session', session)}"

    def valid(self, cookie: str) -> str | None:
        """Return the session of a cookie; None if it is not ours, has expired or was ended."""
        session, _, signature = cookie.rpartition(".")
        if not _same(signature, self._sign("session", session)):
            return None
        alive = int(session.partition(".")[0]) > self._now()
        with self._lock:
            return session if alive and session not in self._ended else None

    def csrf_token(self, session: str) -> str:
        """Return what forms of a session carry."""
        return self._sign("form", session)

    def end(self, cookie: str) -> None:
        """End a session before its time."""
        session = self.valid(cookie)
        if session is None:
            return
        with self._lock:
            self._ended = {s: at for s, at in self._ended.items() if at > self._now()}
            self._ended[session] = int(session.partition(".")[0])

    def _sign(self, purpose: str, text: str) -> str:
        return hmac.new(self._key, f"{purpose}:{text}".encode(), hashlib.sha256).hexdigest()


class Attempts:
    """Limit of wrong tokens that are typed, against guessing.

    Programs, who send the token themselves, are not held up by it.

    Args:
        now: Seconds since the epoch.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._wrong: deque[float] = deque(maxlen=WRONG_TOKENS)
        self._lock = threading.Lock()

    @property
    def are_too_many(self) -> bool:
        """Whether so many were wrong in the last minute that no other one is looked at."""
        with self._lock:
            full = len(self._wrong) == WRONG_TOKENS
            return full and self._wrong[0] > self._now() - PATIENCE_SECONDS

    def was_wrong(self) -> None:
        """Count one."""
        with self._lock:
            self._wrong.append(self._now())


def _same(found: str, expected: str) -> bool:
    return hmac.compare_digest(found.encode("utf-8", "replace"), expected.encode())


SHORTEST_TOKEN = 16
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})
CSRF_HEADER = "x-csrf-token"


class Visitor(Enum):
    """What a request shows about who sent it."""

    TOKEN = "TOKEN"  # noqa: S105 - no token, but that there is one
    SESSION = "SESSION"
    """A browser whose user has signed in."""
    LOCAL = "LOCAL"
    """A user of this machine, where the request needs no token."""
    NOBODY = "NOBODY"


@dataclass(frozen=True, slots=True)
class AccessRules:
    """Configuration of who may reach a manager.

    Args:
        host: The address that it listens at.
        token: What programs and people must know; None where nothing is asked for.
        names: Further names under which it answers, as behind a proxy.
        open_reads: Only changes need the token, as long as only processes of this machine reach
            the manager.
    """

    host: str = "127.0.0.1"
    token: str | None = None
    names: tuple[str, ...] = ()
    open_reads: bool = False

    def __repr__(self) -> str:
        """Everything but the token."""
        return f"AccessRules(host={self.host!r}, has_token={self.token is not None})"


class Access:
    """The rules, applied to requests.

    Args:
        rules: The configuration.
        now: Seconds since the epoch.

    Raises:
        TokenRequiredError: Others than this machine's processes would get in without a token.
        WeakTokenError: The token is easily guessed, or no header can carry it.
    """

    def __init__(self, rules: AccessRules, now: Callable[[], float] = time.time) -> None:
        _check(rules)
        self._rules = rules
        self._token = None if rules.token is None else rules.token.encode()
        self._sessions = Sessions(_key(self._token), now)
        self._attempts = Attempts(now)

    @property
    def has_token(self) -> bool:
        """Whether the manager has a token at all; without one no user can sign in."""
        return self._token is not None

    @property
    def reading_needs_token(self) -> bool:
        """Whether a page is shown only to those who signed in."""
        is_open = self._rules.open_reads and not _open_to_others(self._rules)
        return self.has_token and not is_open

    def answers_to(self, host: str) -> bool:
        """Whether a Host header names this manager.

        On loopback only its own names count: a foreign page whose name was bound to 127.0.0.1
        afterwards must not get in. At other addresses the token keeps such pages out, whose
        browsers send no cookie of ours. Starlette's TrustedHostMiddleware answers with plain text,
        where clients of the REST interface expect a problem document.
        """
        if not is_loopback(self._rules.host):
            return True
        names = {name.lower() for name in (self._rules.host, *self._rules.names)}
        return _hostname(host) in LOOPBACK_NAMES | names

    def visitor(self, request: HTTPConnection) -> Visitor:
        """Return who sends a request, by token, cookie or address."""
        if self._token is None:
            return Visitor.LOCAL
        if self._has_token(request):
            return Visitor.TOKEN
        return Visitor.SESSION if self.is_signed_in(request) else Visitor.NOBODY

    def may_read(self, request: HTTPConnection) -> bool:
        """Whether the request may see tables."""
        return self.visitor(request) is not Visitor.NOBODY or not self.reading_needs_token

    def is_signed_in(self, request: HTTPConnection) -> bool:
        """Whether the request carries a session's cookie that is valid now."""
        return self._session(request) is not None

    def csrf_token(self, request: HTTPConnection) -> str:
        """Return what every form of this session must carry; empty without a session."""
        session = self._session(request)
        return "" if session is None else self._sessions.csrf_token(session)

    def may_act(self, request: HTTPConnection, csrf_token: str) -> bool:
        """Whether a form may change something: session, its CSRF token, and origin all fit."""
        expected = self.csrf_token(request)
        fits = hmac.compare_digest(expected.encode(), csrf_token.encode("utf-8", "replace"))
        return bool(expected) and fits and is_own_page(request)

    def sign_in(self, request: Request, response: Response, token: str) -> bool:
        """Begin a session: put its cookie into the response if the token is right.

        False when it is not, when the form came from another site, or after too many attempts.
        """
        if not is_own_page(request) or self._attempts.are_too_many:
            return False
        if not self._is_token(token.strip()):
            self._attempts.was_wrong()
            return False
        response.set_cookie(
            self._sessions.cookie,
            self._sessions.begin(),
            max_age=SESSION_SECONDS,
            path="/",
            secure=request.url.scheme == "https",
            httponly=True,
            samesite="strict",
        )
        return True

    def sign_out(self, request: Request, response: Response) -> None:
        """End the session: its cookie is deleted, and a copy of it is not valid."""
        self._sessions.end(request.cookies.get(self._sessions.cookie, ""))
        response.delete_cookie(self._sessions.cookie, path="/", httponly=True, samesite="strict")

    def _session(self, request: HTTPConnection) -> str | None:
        if self._token is None:
            return None
        return self._sessions.valid(request.cookies.get(self._sessions.cookie, ""))

    def _has_token(self, request: HTTPConnection) -> bool:
        scheme, _, found = request.headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and self._is_token(found.strip())

    def _is_token(self, found: str) -> bool:
        expected = self._token or b""
        return bool(expected) and hmac.compare_digest(expected, found.encode("utf-8", "replace"))


def is_browser(request: HTTPConnection) -> bool:
    """Whether a browser sent it; every browser sends the origin of a change."""
    return "origin" in request.headers or "sec-fetch-site" in request.headers


def is_own_page(request: HTTPConnection) -> bool:
    """Whether no header shows that the request began on a page of another origin."""
    site = request.headers.get("sec-fetch-site", "none")
    origin = request.headers.get("origin")
    if site not in {"same-origin", "none"}:
        return False
    return origin is None or origin.lower().partition("://")[2] == _host(request)


def is_loopback(host: str) -> bool:
    """Whether only processes of this machine reach an address."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _host(request: HTTPConnection) -> str:
    return request.headers.get("host", "").lower()


def _hostname(host: str) -> str:
    """A Host header without its port; IPv6 addresses keep their brackets."""
    name, _, port = host.lower().rpartition(":")
    return name if name and port.isdigit() else host.lower()


def _key(token: bytes | None) -> bytes:
    """What signs sessions: they are valid after a restart, until the token changes."""
    return hmac.new(token or b"", b"spark-mt session", hashlib.sha256).digest()


def _check(rules: AccessRules) -> None:
    reason = _open_to_others(rules)
    if rules.token is None and reason:
        raise TokenRequiredError(host=rules.host, reason=reason, length=SHORTEST_TOKEN)
    if rules.token is not None:
        problems = _problems(rules.token)
        if problems:
            raise WeakTokenError(reason=" and ".join(problems), length=SHORTEST_TOKEN)


def _open_to_others(rules: AccessRules) -> str:
    if not is_loopback(rules.host):
        return "other machines reach this address"
    return "under further names others reach it through a proxy" if rules.names else ""


def _problems(token: str) -> Iterable[str]:
    found = []
    if len(token) < SHORTEST_TOKEN:
        found.append(f"it is shorter than {SHORTEST_TOKEN} characters")
    if len(set(token)) < 5:
        found.append("it repeats a few characters")
    if any(not "!" <= character <= "~" for character in token):
        found.append("it has blanks or letters outside of ASCII")
    return found
