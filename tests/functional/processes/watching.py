"""What other users and machines can see of a process and its children: `/proc`, as Linux has it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import contextmanager, suppress
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

_PROC = Path("/proc")
_LISTENING = "0A"
_NOBODY = 65534
_EVERY_S = 0.1

needs_proc = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="reads /proc, which only Linux has"
)


def descendants(pid: int) -> set[int]:
    """A process and all that it started, with their children."""
    parents = {}
    for folder in _PROC.iterdir():
        if folder.name.isdigit():
            with suppress(OSError):  # it ended meanwhile
                status = (folder / "stat").read_text()
                parents[int(folder.name)] = int(status.rpartition(")")[2].split()[1])
    found = {pid}
    while new := {child for child, parent in parents.items() if parent in found} - found:
        found |= new
    return found


def listening(pid: int) -> set[tuple[str, int]]:
    """The addresses and ports at which a process listens."""
    sockets = set()
    for file in (_PROC / str(pid) / "fd").iterdir():
        with suppress(OSError):
            if match := re.fullmatch(r"socket:\[(\d+)\]", str(file.readlink())):
                sockets.add(match[1])
    found = set()
    for table in ("tcp", "tcp6"):
        for line in (_PROC / str(pid) / "net" / table).read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == _LISTENING and words[9] in sockets:
                address, _, port = words[1].partition(":")
                found.add((_address(bytes.fromhex(address)), int(port, 16)))
    return found


def _address(packed: bytes) -> str:
    """An address as `/proc` has it: words in the byte order of the machine."""
    words = [packed[start : start + 4] for start in range(0, len(packed), 4)]
    ordered = b"".join(word[::-1] if sys.byteorder == "little" else word for word in words)
    if len(ordered) == 4:
        return str(IPv4Address(ordered))
    found = IPv6Address(ordered)
    return str(found.ipv4_mapped or found)


class Watch:
    """What is seen of a process and its children while it runs.

    Attributes:
        texts: Their command lines and environments.
        commands: Their command lines.
        addresses: Where they listened.
    """

    def __init__(self) -> None:
        self.texts: set[str] = set()
        self.commands: set[str] = set()
        self.addresses: set[tuple[str, int]] = set()

    def look(self, pid: int) -> None:
        """Look at a process and its children once."""
        for each in descendants(pid):
            with suppress(OSError):
                command = (_PROC / str(each) / "cmdline").read_text(errors="replace")
                self.commands.add(command)
                environment = (_PROC / str(each) / "environ").read_text(errors="replace")
                self.texts |= {command, environment}
                self.addresses |= listening(each)

    @property
    def outside(self) -> set[tuple[str, int]]:
        """The addresses that are not loopback."""
        return {each for each in self.addresses if not ip_address(each[0]).is_loopback}


@contextmanager
def watched(pid: int) -> Iterator[Watch]:
    """Watch a process while the block runs."""
    watch, is_over = Watch(), Event()

    def look() -> None:
        while not is_over.wait(_EVERY_S):
            watch.look(pid)

    thread = Thread(target=look)
    thread.start()
    try:
        yield watch
    finally:
        is_over.set()
        thread.join()


@contextmanager
def watched_by_another_user(folder: Path) -> Iterator[Path]:
    """Let another user list all processes while the block runs; yields the file of the lists.

    Skips the test where this user cannot become another one.
    """
    if os.geteuid() != 0:
        pytest.skip("only root can look as another user")
    seen = folder / "seen-by-another-user"
    with seen.open("wb") as output:
        lister = subprocess.Popen(  # noqa: S603 - our own command
            ["/bin/sh", "-c", f"while ps -eww -o args=; do sleep {_EVERY_S}; done"],
            user=_NOBODY,
            group=_NOBODY,
            extra_groups=[],
            stdout=output,
            start_new_session=True,
        )
    try:
        yield seen
    finally:
        lister.kill()
        lister.wait()
