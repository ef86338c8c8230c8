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
    ticks: dict[int, int] = {}
    children: dict[int, list[int]] = {}
    for folder in _PROC.iterdir():
        if folder.name.isdigit():
            with suppress(OSError):  # it ended meanwhile
                pid, words = int(folder.name), _words(folder)
                children.setdefault(int(words[1]), []).append(pid)
                ticks[pid] = sum(map(int, words[11:15]))  # its own and those of ended children
    return sum(ticks.get(pid, 0) for pid in _family(os.getpid(), children)) / _ticks_a_second()


def _words(folder: Path) -> list[str]:
    """Return the fields of a process after its name, which may contain spaces."""
    text = (folder / "stat").read_text(encoding="utf-8", errors="replace")
    return text.rpartition(")")[2].split()


def _family(pid: int, children: dict[int, list[int]]) -> Iterator[int]:
    yield pid
    for child in children.get(pid, ()):
        yield from _family(child, children)


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
