"""CPU time of tests, as a plugin of pytest.

Seconds of processors say more than those of a clock on a machine that other work shares. Each test
of a report (`--junitxml`) gets a property `cpu`: what its set-up and its call took of this process,
of the JVM and of other processes that it started. A process that ended unnoticed, such as the JVM
of a program that a test ran, does not count. Only Linux has the figures of others.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

_PROC = Path("/proc")
_SPENT = pytest.StashKey[float]()
PROPERTY = "cpu"


def seconds() -> float:
    """Return the CPU time of this process and of all processes that it started."""
    if not _PROC.is_dir():
        return time.process_time()
    return sum(map(_ticks, _family(os.getpid()))) / _ticks_a_second()


def _family(pid: int) -> Iterator[int]:
    """Yield a process and what it started: all others of the machine would take 3 ms to read."""
    yield pid
    for task in _entries(_PROC / str(pid) / "task"):
        with suppress(OSError):  # it ended meanwhile
            for child in (task / "children").read_text(encoding="ascii").split():
                yield from _family(int(child))


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:  # the process ended meanwhile
        return []


def _ticks(pid: int) -> int:
    """Return the time of a process, and of its children that ended."""
    try:
        text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:  # it ended meanwhile
        return 0
    # Its name, in parentheses, may contain spaces.
    return sum(map(int, text.rpartition(")")[2].split()[11:15]))


def _ticks_a_second() -> int:
    return os.sysconf("SC_CLK_TCK")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    """Begin to count."""
    item.stash[_SPENT] = -seconds()
    return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Note what the test took, before processes end that other tests used too."""
    spent = item.stash.get(_SPENT, 0.0) + seconds()
    item.user_properties.append((PROPERTY, round(max(0.0, spent), 2)))
