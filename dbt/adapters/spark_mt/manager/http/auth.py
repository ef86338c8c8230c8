"""Authentication and authorization: tokens, browser sessions, origins of requests, the guard.

Programs send a token in `Authorization: Bearer`. People enter it once on the status page, and a
signed cookie replaces it afterwards. The token is in no cookie, page, log or URL.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import secrets
import threading
import time
from collections import OrderedDict, deque
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.manager.http import errors as http_errors
from dbt.adapters.spark_mt.spark.launch.listeners import is_loopback

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

    from dbt.adapters.spark_mt.definition.errors import MaterializedTableError


SESSION_SECONDS = 12 * 3600
WRONG_TOKENS = 10
PATIENCE_SECONDS = 60
MOST_ADDRESSES = 1_000
SHORTEST_TOKEN = 16
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})
CSRF_HEADER = "x-csrf-token"
SIGN_IN = "/login"
"""Where people type the token."""
HEALTH = frozenset({"/livez", "/readyz"})
STATIC = "/static/"
REST = "/v3/"
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


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

    def csrf_token(self, cookie: str) -> str:
        """Return what every form of a session carries; empty without a valid session."""
        session = self.valid(cookie)
        return "" if session is None else self._sign("form", session)

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


class Access:
    """The rules, applied to requests.

    Args:
        rules: The configuration.
        now: Seconds since the epoch.

    Raises:
        MaterializedTableError: Others than this machine's processes would get in without a token.
        MaterializedTableError: The token is easily guessed, or no header can carry it.
    """

    def __init__(self, rules: AccessRules, now: Callable[[], float] = time.time) -> None:
        _check(rules)
        self._rules = rules
        self._token = rules.token
        # Sessions are valid after a restart, until the token changes.
        secret = (rules.token or "").encode()
        self._sessions = Sessions(
            hmac.new(secret, b"spark-mt session", hashlib.sha256).digest(), now
        )
        self._now = now
        self._wrong_tokens: OrderedDict[str, deque[float]] = OrderedDict()
        """When the newest wrong ones came, by address."""

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
        name, _, port = host.lower().rpartition(":")  # IPv6 addresses keep their brackets
        hostname = name if name and port.isdigit() else host.lower()
        return hostname in LOOPBACK_NAMES | names

    def visitor(self, request: HTTPConnection) -> Visitor:
        """Return who sends a request, by token, cookie or address."""
        if self._token is None:
            return Visitor.LOCAL
        scheme, _, found = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and _same(found.strip(), self._token):
            return Visitor.TOKEN
        return Visitor.SESSION if self.is_signed_in(request) else Visitor.NOBODY

    def may_read(self, request: HTTPConnection) -> bool:
        """Whether the request may see tables."""
        return self.visitor(request) is not Visitor.NOBODY or not self.reading_needs_token

    def is_signed_in(self, request: HTTPConnection) -> bool:
        """Whether the request carries a session's cookie that is valid now."""
        cookie = request.cookies.get(self._sessions.cookie, "")
        return self.has_token and self._sessions.valid(cookie) is not None

    def csrf_token(self, request: HTTPConnection) -> str:
        """Return what every form of this session must carry; empty without a session."""
        cookie = request.cookies.get(self._sessions.cookie, "")
        return self._sessions.csrf_token(cookie) if self.has_token else ""

    def may_act(self, request: HTTPConnection, csrf_token: str) -> bool:
        """Whether a form may change something: session, its CSRF token, and origin all fit."""
        expected = self.csrf_token(request)
        return bool(expected) and _same(csrf_token, expected) and is_own_page(request)

    def sign_in(self, request: Request, response: Response, token: str) -> None:
        """Begin a session: put its cookie into the response if the token is right.

        The right one is taken after any number of wrong ones: whoever sends wrong ones must not
        lock out others. The comparison takes the same time in any case.

        Raises:
            MaterializedTableError: The form came from another site.
            MaterializedTableError: The token is not the right one.
            MaterializedTableError: The same, after too many wrong ones from this address.
        """
        if not is_own_page(request):
            raise conditions.CROSS_SITE_REQUEST(reason="another site began the request")
        if self._token is None or not _same(token.strip(), self._token):
            self._refuse_wrong(request.client.host if request.client else "")
        response.set_cookie(
            self._sessions.cookie,
            self._sessions.begin(),
            max_age=SESSION_SECONDS,
            path="/",
            secure=request.url.scheme == "https",
            httponly=True,
            samesite="strict",
        )

    def _refuse_wrong(self, address: str) -> NoReturn:
        now = self._now()
        wrong = self._wrong_tokens.setdefault(address, deque())
        self._wrong_tokens.move_to_end(address)
        while len(self._wrong_tokens) > MOST_ADDRESSES:
            self._wrong_tokens.popitem(last=False)
        while wrong and wrong[0] <= now - PATIENCE_SECONDS:
            wrong.popleft()
        if len(wrong) >= WRONG_TOKENS:
            raise conditions.TOO_MANY_TRIES(
                seconds=max(1, math.ceil(wrong[0] + PATIENCE_SECONDS - now))
            )
        wrong.append(now)
        raise conditions.WRONG_TOKEN()

    def sign_out(self, request: Request, response: Response) -> None:
        """End the session: its cookie is deleted, and a copy of it is not valid."""
        self._sessions.end(request.cookies.get(self._sessions.cookie, ""))
        response.delete_cookie(self._sessions.cookie, path="/", httponly=True, samesite="strict")


class Guard:
    """Answers what may not pass, and lets the rest through.

    Forms of the status page carry their CSRF token in the body, so their handlers check it.
    """

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = HTTPConnection(scope)
        problem = self._refusal(request)
        if problem is None:
            await self._app(scope, receive, send)
        elif problem.kind is conditions.UNAUTHENTICATED and _is_person(request):
            path, query = request.url.path, request.url.query
            query = urlencode({"next": f"{path}?{query}" if query else path})
            await RedirectResponse(f"{SIGN_IN}?{query}", 303)(scope, receive, send)
        else:
            await http_errors.problem_response(problem, request)(scope, receive, send)

    def _refusal(self, request: HTTPConnection) -> MaterializedTableError | None:
        """Return why a request is refused; None if it is not."""
        path = request.url.path
        if not self._access.answers_to(request.headers.get("host", "")):
            return conditions.UNKNOWN_HOST()
        if path in HEALTH:
            return None
        if request.scope["method"] not in _SAFE:
            return self._refused_change(request, path)
        is_open = path == SIGN_IN or path.startswith(STATIC)
        return None if is_open or self._access.may_read(request) else conditions.UNAUTHENTICATED()

    def _refused_change(self, request: HTTPConnection, path: str) -> MaterializedTableError | None:
        visitor = self._access.visitor(request)
        if visitor is not Visitor.TOKEN and not is_own_page(request):
            return conditions.CROSS_SITE_REQUEST(reason="another site began the request")
        if visitor is Visitor.NOBODY and path != SIGN_IN:
            return conditions.UNAUTHENTICATED()
        if visitor is Visitor.LOCAL and is_browser(request):
            return conditions.CROSS_SITE_REQUEST(
                reason="it has no token, so that no user can sign in"
            )
        return self._refused_rest(request, visitor) if path.startswith(REST) else None

    def _refused_rest(
        self, request: HTTPConnection, visitor: Visitor
    ) -> MaterializedTableError | None:
        if visitor is Visitor.SESSION:
            csrf_token = request.headers.get(CSRF_HEADER, "")
            if not self._access.may_act(request, csrf_token):
                return conditions.CROSS_SITE_REQUEST(
                    reason=f"the header {CSRF_HEADER} is missing or wrong"
                )
        found = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        return (
            None if found == "application/json" else conditions.UNSUPPORTED_MEDIA_TYPE(found=found)
        )


def _same(found: str, expected: str) -> bool:
    return hmac.compare_digest(found.encode("utf-8", "replace"), expected.encode())


def is_browser(request: HTTPConnection) -> bool:
    """Whether a browser sent it; every browser sends the origin of a change."""
    return "origin" in request.headers or "sec-fetch-site" in request.headers


def is_own_page(request: HTTPConnection) -> bool:
    """Whether no header shows that the request began on a page of another origin."""
    site = request.headers.get("sec-fetch-site", "none")
    origin = request.headers.get("origin")
    host = request.headers.get("host", "").lower()
    fits = origin is None or origin.lower().partition("://")[2] == host
    return fits and site in {"same-origin", "none"}


def _check(rules: AccessRules) -> None:
    reason = _open_to_others(rules)
    if rules.token is None and reason:
        raise conditions.TOKEN_REQUIRED(host=rules.host, reason=reason, length=SHORTEST_TOKEN)
    if rules.token is None:
        return
    problems = []
    if len(rules.token) < SHORTEST_TOKEN:
        problems.append(f"it is shorter than {SHORTEST_TOKEN} characters")
    if len(set(rules.token)) < 5:
        problems.append("it repeats a few characters")
    if any(not "!" <= character <= "~" for character in rules.token):
        problems.append("it has blanks or letters outside of ASCII")
    if problems:
        raise conditions.WEAK_TOKEN(reason=" and ".join(problems), length=SHORTEST_TOKEN)


def _open_to_others(rules: AccessRules) -> str:
    if not is_loopback(rules.host):
        return "other machines reach this address"
    return "under further names others reach it through a proxy" if rules.names else ""


def _is_person(request: HTTPConnection) -> bool:
    """Whether a browser asks for a page of its own."""
    wants_page = "text/html" in request.headers.get("accept", "")
    rest = request.url.path.startswith(REST)
    return wants_page and not rest and request.scope["method"] in {"GET", "HEAD"}
