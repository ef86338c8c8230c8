"""Discovery file of the refresh manager that serves a warehouse on this machine.

The manager writes the file next to the embedded metastore, which it locks while it runs. A process
that can read the file has all rights of the manager's user, so only that user may read it.
"""

from __future__ import annotations

import errno
import json
import os
import secrets
import socket
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from dbt.adapters.spark_mt.definition.job import Owner
from dbt.adapters.spark_mt.execution.context import LocalProcesses

if TYPE_CHECKING:
    from pathlib import Path


FILE = "materialized-table-manager.json"
_FORMAT = 1
_MOST_BYTES = 64 * 1024
_PRIVATE = 0o600
_OTHERS = 0o077
_PROBE_S = 3.0
_PIDS = 2**31
_CONNECT_PORT = 15002
_HTTP2_HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
"""What every HTTP/2 client says first: the preface and settings without content (RFC 9113, 3.4)."""
_HTTP2_FRAME_HEADER = 9
_HTTP2_SETTINGS = 4


@dataclass(frozen=True, slots=True)
class Discovered:
    """A manager, from its file.

    Args:
        owner: Its process.
        connect_url: Where it serves Spark Connect, without the token; empty while it starts.
        connect_token: What Spark Connect asks for.
        rest_url: Where it serves its page and its REST interface; empty if nowhere.
        rest_token: What these ask for, empty if for nothing.
        version: Of this package; empty where a release wrote the file that did not say.
    """

    owner: Owner
    connect_url: str = ""
    connect_token: str = field(default="", repr=False)
    rest_url: str = ""
    rest_token: str = field(default="", repr=False)
    version: str = ""

    @property
    def is_starting(self) -> bool:
        """Whether it does not serve Spark Connect yet."""
        return not self.connect_url


@dataclass(frozen=True, slots=True)
class NotFound:
    """Why there is no manager to work with: a sentence for people, without its end."""

    reason: str


def place(metastore: Path) -> Path:
    """The file of the manager that serves an embedded metastore."""
    return metastore.parent / FILE


def write(path: Path, manager: Discovered) -> None:
    """Write a manager's file, in place of an older one, in one step.

    Raises:
        OSError: The directory cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    owner = manager.owner
    document = {
        "format": _FORMAT,
        "owner": {
            "host": owner.host,
            "pid": owner.pid,
            "process": owner.process,
            "user": owner.user,
        },
        "connect_url": manager.connect_url,
        "connect_token": manager.connect_token,
        "rest_url": manager.rest_url,
        "rest_token": manager.rest_token,
        **({"version": manager.version} if manager.version else {}),
    }
    try:
        file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE)
        with os.fdopen(file, "w", encoding="utf-8") as stream:
            stream.write(json.dumps(document, indent=2))
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def remove(path: Path, owner: Owner) -> None:
    """Remove the file of the manager `owner`; that of another one stays."""
    found = _read(path)
    if isinstance(found, Discovered) and found.owner == owner:
        path.unlink(missing_ok=True)


def read(path: Path) -> Discovered | NotFound:
    """Read a manager's file.

    Returns:
        The manager, which may hang or be about to start; or why there is none: no file, one that
        others could have written or read, one of another format, or a process that is gone
        or of another machine.
    """
    found = _read(path)
    if isinstance(found, NotFound):
        return found
    processes = LocalProcesses()
    if found.owner.host != processes.owner().host:
        return NotFound(f"the manager of {path} runs on another machine ({found.owner})")
    if processes.is_gone(found.owner):
        return NotFound(f"the manager of {path} is gone ({found.owner})")
    return found


def answers(manager: Discovered, timeout_s: float = _PROBE_S) -> bool:
    """Whether a manager's Spark Connect is alive: it answers as gRPC servers do, within a bound.

    A process that was stopped, or hangs, lets others connect and says nothing.
    """
    if manager.is_starting:
        return False
    url = urlsplit(manager.connect_url)
    server = (url.hostname or "localhost", url.port or _CONNECT_PORT)
    try:
        with socket.create_connection(server, timeout_s) as connection:
            connection.sendall(_HTTP2_HELLO)
            with connection.makefile("rb") as stream:
                header = stream.read(_HTTP2_FRAME_HEADER)
    except OSError:
        return False
    return len(header) == _HTTP2_FRAME_HEADER and header[3] == _HTTP2_SETTINGS


def _read(path: Path) -> Discovered | NotFound:
    try:
        text = _trusted_text(path)
        return _parsed(json.loads(text))
    except FileNotFoundError:
        return NotFound(f"there is no {path}")
    except OSError as error:
        return NotFound(f"{path} cannot be used: {error.strerror}")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError):
        return NotFound(f"{path} is not what this version of dbt-spark-mt writes")


def _trusted_text(path: Path) -> bytes:
    """Read a file.

    Raises:
        PermissionError: Somebody else may have written or read it.
        OSError: It is not there, or cannot be read.
    """
    # Neither a link to the file of another user, nor a pipe, which would block.
    flags = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with os.fdopen(os.open(path, os.O_RDONLY | flags), "rb") as stream:
        faults = _faults(os.fstat(stream.fileno()))
        if faults:
            raise PermissionError(errno.EACCES, ", ".join(faults))
        return stream.read(_MOST_BYTES)


def _faults(file: os.stat_result) -> list[str]:
    faults = [] if stat.S_ISREG(file.st_mode) else ["it is not a regular file"]
    if not hasattr(os, "geteuid"):  # Windows, where a user's folders are the user's alone
        return faults
    if file.st_uid != os.geteuid():
        faults.append(f"it belongs to another user (number {file.st_uid})")
    if file.st_mode & _OTHERS:
        mode = stat.S_IMODE(file.st_mode)
        faults.append(f"others than its owner may use it (mode {mode:04o} instead of 0600)")
    return faults


def _parsed(content: Any) -> Discovered:  # noqa: ANN401 - whatever the file holds
    """Build the manager that a file describes; keys that are not known are ignored.

    Raises:
        ValueError, TypeError, KeyError, AttributeError: The file describes something else.
    """
    if content["format"] != _FORMAT:
        raise ValueError
    owner = content["owner"]
    return Discovered(
        owner=Owner(
            host=_text(owner["host"]),
            pid=_pid(owner["pid"]),
            process=_text(owner.get("process", "")),
            user=_text(owner.get("user", "")),
        ),
        connect_url=_url(content.get("connect_url", "")),
        connect_token=_text(content.get("connect_token", "")),
        rest_url=_url(content.get("rest_url", "")),
        rest_token=_text(content.get("rest_token", "")),
        version=_text(content.get("version", "")),
    )


def _pid(value: object) -> int:
    if not isinstance(value, int) or not 0 < value < _PIDS:
        raise ValueError
    return value


def _url(value: object) -> str:
    """Return an address, or nothing; what it is asked for later must not fail."""
    text = _text(value)
    url = urlsplit(text)
    if text and not (url.scheme and url.hostname and url.hostname.isascii() and url.port != 0):
        raise ValueError
    return text


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value
