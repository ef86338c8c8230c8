"""Log of the manager: one line per event, as JSON or for people, without secrets.

Records of Python's own logging are written in the same form.
"""

from __future__ import annotations

import logging
import re
import sys
import threading
from enum import Enum
from typing import TYPE_CHECKING

import structlog

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TextIO

    from structlog.typing import EventDict, Processor, WrappedLogger


HIDDEN = "***"
_HANDLER = "spark-mt"
_SECRET_KEY = re.compile(
    r"token|secret|password|passwd|authorization|cookie|credential|private_?key", re.IGNORECASE
)
_NOT_SECRET = frozenset({"has_token"})
_BEARER = re.compile(r"(?i)\b(bearer\s+)[^\s,;\"']+")
_IN_URL = re.compile(r"(?i)([?&;](?:[\w.-]*(?:token|secret|password)[\w.-]*)=)[^&;\s\"']+")
_LOUD = ("py4j", "asyncio", "urllib3")
"""Libraries that log much at level INFO."""


_SHARED: list[Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.stdlib.PositionalArgumentsFormatter(),
    structlog.processors.StackInfoRenderer(),
    structlog.processors.format_exc_info,  # as text: a stack with its variables shows secrets
]


class LogFormat(Enum):
    """How a line of the log looks."""

    JSON = "json"
    CONSOLE = "console"


class Redaction:
    """Takes secrets out of events: by their names, by what surrounds them, and by their values.

    Args:
        secrets: Values that must not be logged, in whatever text they are.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        found = sorted((s for s in secrets if s), key=len, reverse=True)
        self._values = re.compile("|".join(map(re.escape, found))) if found else None

    def __call__(self, _logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
        """Return the event without secrets."""
        return {key: self._of_key(str(key), value) for key, value in event.items()}

    def _of_key(self, key: str, value: object) -> object:
        if _SECRET_KEY.search(key) and key not in _NOT_SECRET and value not in {None, ""}:
            return HIDDEN
        return self._clean(value)

    def _clean(self, value: object) -> object:
        if isinstance(value, dict):
            return {key: self._of_key(str(key), inner) for key, inner in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [self._clean(inner) for inner in value]
        if value is None or isinstance(value, bool | int | float):
            return value
        return self._clean_text(str(value))

    def _clean_text(self, text: str) -> str:
        text = _IN_URL.sub(rf"\1{HIDDEN}", _BEARER.sub(rf"\1{HIDDEN}", text))
        return self._values.sub(HIDDEN, text) if self._values else text


def configure(
    log_format: LogFormat = LogFormat.CONSOLE,
    level: str = "info",
    *,
    secrets: Iterable[str] = (),
    stream: TextIO | None = None,
) -> None:
    """Send every event of this process to one place; can be called again.

    Args:
        log_format: JSON for machines, console for people.
        level: The least level that is logged: `debug`, `info`, `warning` or `error`, in any case.
        secrets: Values that must never be written, such as tokens.
        stream: Where to; standard error if left out.
    """
    out = stream or sys.stderr
    formatter = structlog.stdlib.ProcessorFormatter
    structlog.configure(
        processors=[structlog.stdlib.filter_by_level, *_SHARED, formatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(out)
    handler.name = _HANDLER
    handler.setFormatter(
        formatter(
            foreign_pre_chain=_SHARED,
            processors=[
                formatter.remove_processors_meta,
                Redaction(secrets),
                structlog.processors.JSONRenderer(ensure_ascii=False)
                if log_format is LogFormat.JSON
                else structlog.dev.ConsoleRenderer(colors=out.isatty()),
            ],
        )
    )
    _route(handler, level)
    logging.captureWarnings(capture=True)
    threading.excepthook = _log_thread_error


def _log_thread_error(failed: threading.ExceptHookArgs) -> None:
    """A thread that ends by an error says so in the log, as everything else does."""
    if failed.exc_type is SystemExit:  # it was ended on purpose
        return
    name = failed.thread.name if failed.thread else ""
    log = structlog.get_logger(__name__)
    log.error("a thread failed", thread=name, exc_info=failed.exc_value)


def _route(handler: logging.Handler, level: str) -> None:
    root = logging.getLogger()
    for old in [found for found in root.handlers if found.name == _HANDLER]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level.upper())
    for name in _LOUD:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        found = logging.getLogger(name)
        found.handlers.clear()
        found.propagate = True
