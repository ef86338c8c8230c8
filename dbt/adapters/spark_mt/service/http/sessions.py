"""Sessions of browsers: signed cookies, so that nothing needs to be kept for one that is open."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

SESSION_SECONDS = 12 * 3600
WRONG_TOKENS = 10
PATIENCE_SECONDS = 60


class Sessions:
    """Makes and checks the cookies of sessions.

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
    """Counts wrong tokens that were typed, so that nobody tries thousands.

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
