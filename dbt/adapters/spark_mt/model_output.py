"""What a Python model prints, as lines of dbt's log."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from threading import Lock, local
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class _Lines:
    """Takes text in pieces and gives it out in lines."""

    def __init__(self, emit: Callable[[str], None]) -> None:
        self._emit = emit
        self._rest = ""

    def write(self, text: str) -> None:
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            self._emit(line)

    def close(self) -> None:
        if self._rest:
            self.write("\n")


class _Router:
    """Stands in for the standard output, and tells threads apart.

    There is one standard output for all models that run at the same time, and for dbt.
    """

    def __init__(self, stdout: TextIO) -> None:
        self.stdout = stdout
        self.users = 0
        self.by_thread = local()

    def write(self, text: str) -> int:
        lines = getattr(self.by_thread, "lines", None)
        if lines is None:
            return self.stdout.write(text)
        lines.write(text)
        return len(text)

    def __getattr__(self, name: str) -> object:
        return getattr(self.stdout, name)


_lock = Lock()


@contextmanager
def printed_to(emit: Callable[[str], None]) -> Iterator[None]:
    """Give what this thread prints in the block to `emit`, line by line."""
    router = _enter()
    lines = router.by_thread.lines = _Lines(emit)
    try:
        yield
    finally:
        lines.close()
        router.by_thread.lines = None
        _leave(router)


def _enter() -> _Router:
    with _lock:
        router = sys.stdout if isinstance(sys.stdout, _Router) else _Router(sys.stdout)
        router.users += 1
        sys.stdout = router
        return router


def _leave(router: _Router) -> None:
    with _lock:
        router.users -= 1
        if not router.users and sys.stdout is router:
            sys.stdout = router.stdout
