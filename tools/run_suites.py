#!/usr/bin/env python3
"""Runner of test suites in lanes.

Each suite is a pytest process of its own: a JVM holds one Spark configuration, and suites need
different ones. Suites start in the order of the command line, as many in parallel as there are
lanes. With one lane their output is shown as it comes, otherwise when a suite has ended. Outputs
and durations of the last run of each suite are in `.work/tests`.

    tools/run_suites.py [--lanes N] [pytest options] -- suite …
    tools/run_suites.py --durations
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

ROOT = Path(__file__).resolve().parent.parent
PYTEST = (str(ROOT / ".venv" / "bin" / "python"), "-m", "pytest")
OUTPUTS = ROOT / ".work" / "tests"
SLOWEST = 30
"""How many tests, and how many files, a report of durations lists."""
NO_TESTS = 5
"""pytest's exit code where the options leave no test of a suite to run."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A suite that ended: its exit code, the last line of its output, and its duration."""

    suite: str
    code: int
    closing: str
    seconds: float

    @property
    def failed(self) -> bool:
        """Whether a test failed, or the suite did not run to its end."""
        return self.code not in {0, NO_TESTS}

    def __str__(self) -> str:
        return f"{self.suite:28} {self.seconds:5.0f} s  {self.closing}"


class Lanes:
    """Suites that run in parallel.

    Args:
        count: How many run at once.
        command: The program and its options, to which the suite is added.
        outputs: The folder for a file with the output of each suite.
    """

    def __init__(self, count: int, command: Sequence[str], outputs: Path) -> None:
        self._count = count
        self._command = command
        self._outputs = outputs
        self._printing = Lock()
        self._shown: set[str] = set()
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def run(self, suites: Sequence[str]) -> list[Ended]:
        """Run suites to their end, whether or not tests of others fail."""
        self._outputs.mkdir(parents=True, exist_ok=True)
        with ThreadPoolExecutor(self._count) as pool:
            return list(pool.map(self._run, suites))

    def stop(self, signum: int) -> NoReturn:
        """Pass a signal on to the suites that run, show what they wrote, and end by it."""
        running = dict(self._running)
        for process in running.values():
            process.send_signal(signum)
        for suite, process in running.items():
            process.wait()
            if self._count > 1:
                self._show(suite)
        signal.signal(signum, signal.SIG_DFL)
        signal.raise_signal(signum)
        raise AssertionError(signum)

    def _run(self, suite: str) -> Ended:
        began = time.monotonic()
        durations = self.output(suite).with_suffix(".xml")
        durations.unlink(missing_ok=True)
        command = [*self._command, suite, f"--junitxml={durations}"]
        with self.output(suite).open("wb") as output:
            process = subprocess.Popen(  # noqa: S603 - the command is pytest
                command,
                stdout=output if self._count > 1 else subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
            self._running[suite] = process
            if process.stdout:
                _write(f"== {suite}\n".encode())
                while piece := process.stdout.read1():
                    output.write(piece)
                    _write(piece)
            code = process.wait()
        del self._running[suite]
        if self._count > 1:
            self._show(suite)
        lines = self.output(suite).read_text(encoding="utf-8", errors="replace").split("\n")
        closing = next((line for line in reversed(lines) if line.strip()), "")
        return Ended(suite, code, closing, time.monotonic() - began)

    def output(self, suite: str) -> Path:
        """The file with the output of a suite."""
        return self._outputs / f"{suite.strip('/').replace('/', '.')}.txt"

    def _show(self, suite: str) -> None:
        with self._printing:
            if suite not in self._shown:  # a signal may come when the suite has just ended
                self._shown.add(suite)
                _write(f"== {suite}\n".encode(), self.output(suite).read_bytes())


def _write(*pieces: bytes) -> None:
    sys.stdout.buffer.write(b"".join(pieces))
    sys.stdout.buffer.flush()


@dataclass(frozen=True, slots=True)
class Timed:
    """A test with the seconds of its set-up, its call and its teardown.

    Args:
        module: The dotted name of its file, with its class if it has one.
    """

    module: str
    name: str
    seconds: float


def timed_tests(paths: Iterable[Path]) -> Iterator[Timed]:
    """Yield the tests in files that pytest wrote with `--junitxml`."""
    for path in paths:
        if path.exists():  # a suite that was killed writes none
            for case in ET.parse(path).iter("testcase"):  # noqa: S314 - pytest wrote it
                of = case.attrib
                yield Timed(of["classname"], of["name"], float(of["time"]))


def durations(paths: Iterable[Path], most: int = SLOWEST) -> str:
    """Return the slowest tests, and the files and classes that take longest.

    A fixture of a module or a session counts for the first test that uses it.
    """
    tests = list(timed_tests(paths))
    modules: defaultdict[str, float] = defaultdict(float)
    for test in tests:
        modules[test.module] += test.seconds
    longest = sorted(modules.items(), key=lambda each: -each[1])[:most]
    slowest = sorted(tests, key=lambda test: -test.seconds)[:most]
    lines = [
        f"{sum(modules.values()):7.1f} s  {len(tests)} tests",
        "",
        *(f"{seconds:7.1f} s  {module}" for module, seconds in longest),
        "",
        *(f"{test.seconds:7.1f} s  {test.module}::{test.name}" for test in slowest),
    ]
    return "".join(f"{line}\n" for line in lines)


def main(arguments: Sequence[str]) -> int:
    """Run the suites after `--`; return 1 if one of them failed."""
    if arguments == ["--durations"]:
        _write(durations(sorted(OUTPUTS.glob("*.xml"))).encode())
        return 0
    parser = argparse.ArgumentParser(description="Run test suites in lanes.")
    parser.add_argument("--lanes", type=int, default=1, help="how many suites run in parallel")
    if "--" not in arguments:
        parser.error("name the suites after --")
    split = arguments.index("--")
    known, options = parser.parse_known_args(arguments[:split])
    lanes = Lanes(known.lanes, (*PYTEST, *options), OUTPUTS)
    for signum in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signum, lambda number, _: lanes.stop(number))
    ended = lanes.run(arguments[split + 1 :])
    of = (lanes.output(each.suite).with_suffix(".xml") for each in ended)
    _write(b"\n", durations(of).encode(), b"\n", *(f"{each}\n".encode() for each in ended))
    return int(any(each.failed for each in ended))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
