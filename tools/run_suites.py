#!/usr/bin/env python3
"""Runner of test suites, and of targets of make, in lanes.

Each suite is a pytest process of its own: a JVM holds one Spark configuration, and suites need
different ones. `make:lint` is a job too, and `make:package,matrix` is one job of two targets. As
many jobs run in parallel as there are lanes. With several lanes, those start first that took
longest in the recorded run (`tools/durations.json`), and their output is shown when they have
ended. With one lane they run in the order of the command line. Outputs and durations of the last
run of each job are in `.work/tests`.

    tools/run_suites.py [--lanes N] [pytest options] -- suite …
    tools/run_suites.py --durations
    tools/run_suites.py --record
"""

from __future__ import annotations

import argparse
import json
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
PYTEST = (str(ROOT / ".venv" / "bin" / "python"), "-m", "pytest", "-p", "tools.cpu_time")
MAKE = "make:"
OUTPUTS = ROOT / ".work" / "tests"
RECORD = ROOT / "tools" / "durations.json"
"""Seconds of each job in the run of CI that was recorded last."""
JOBS = "jobs.json"
PROPERTY = "cpu"
"""The property of a test in a report, which `tools/cpu_time.py` sets."""
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


def recorded() -> dict[str, dict[str, float]]:
    """Return what each job took in the recorded run of CI: seconds, CPU time, number of tests."""
    found: dict[str, dict[str, float]] = json.loads(RECORD.read_text(encoding="utf-8"))
    return found


def longest_first(suites: Sequence[str]) -> list[str]:
    """Sort suites by the seconds that are recorded of them, those without a record first.

    A lane that takes the next job when it has ended one waits for no other lane as long as the
    last jobs are short.
    """
    known = recorded()

    def seconds(suite: str) -> float:
        return -known[suite]["seconds"] if suite in known else float("-inf")

    return sorted(suites, key=seconds)


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
        if suite.startswith(MAKE):
            targets = suite.removeprefix(MAKE).split(",")
            command = ["make", "--no-print-directory", *targets]
        else:
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
        name = suite.strip("/").replace("/", ".").replace(":", ".")
        return self._outputs / f"{name}.txt"

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
        cpu: Seconds of processors, as `tools/cpu_time.py` counts them.
    """

    module: str
    name: str
    seconds: float
    cpu: float = 0.0


def timed_tests(paths: Iterable[Path]) -> Iterator[Timed]:
    """Yield the tests in files that pytest wrote with `--junitxml`."""
    for path in paths:
        if path.exists():  # a suite that was killed writes none
            for case in ET.parse(path).iter("testcase"):  # noqa: S314 - pytest wrote it
                of = case.attrib
                cpu = sum(
                    float(each.attrib["value"])
                    for each in case.iter("property")
                    if each.attrib["name"] == PROPERTY
                )
                yield Timed(of["classname"], of["name"], float(of["time"]), cpu)


def durations(paths: Iterable[Path], most: int = SLOWEST) -> str:
    """Return the slowest tests, and the files and classes that take longest.

    A fixture of a module or a session counts for the first test that uses it. The second figure is
    the CPU time.
    """
    tests = list(timed_tests(paths))
    modules: defaultdict[str, list[Timed]] = defaultdict(list)
    for test in tests:
        modules[test.module].append(test)
    sums = [_sum(of, name) for name, of in modules.items()]
    longest = sorted(sums, key=lambda each: -each.seconds)[:most]
    slowest = sorted(tests, key=lambda test: -test.seconds)[:most]
    lines = [
        _timed(_sum(tests), f"{len(tests)} tests"),
        "",
        *(_timed(each, each.module) for each in longest),
        "",
        *(_timed(test, f"{test.module}::{test.name}") for test in slowest),
    ]
    return "".join(f"{line}\n" for line in lines)


def _sum(tests: Sequence[Timed], module: str = "") -> Timed:
    seconds, cpu = sum(test.seconds for test in tests), sum(test.cpu for test in tests)
    return Timed(module, "", seconds, cpu)


def _timed(test: Timed, text: str) -> str:
    return f"{test.seconds:7.1f} s {test.cpu:7.1f} s CPU  {text}"


def note(ended: Iterable[Ended], lanes: Lanes) -> None:
    """Write down the figures of a run in several lanes, for `--record`."""
    found = {}
    for each in ended:
        tests = list(timed_tests([lanes.output(each.suite).with_suffix(".xml")]))
        cpu = round(_sum(tests).cpu)
        found[each.suite] = {"seconds": round(each.seconds), "cpu": cpu, "tests": len(tests)}
    (OUTPUTS / JOBS).write_text(_document(found), encoding="utf-8")


def _document(jobs: dict[str, dict[str, float]]) -> str:
    by_seconds = sorted(jobs.items(), key=lambda each: (-each[1]["seconds"], each[0]))
    return f"{json.dumps(dict(by_seconds), indent=2)}\n"


def main(arguments: Sequence[str]) -> int:
    """Run the suites after `--`; return 1 if one of them failed."""
    if arguments == ["--durations"]:
        _write(durations(sorted(OUTPUTS.glob("*.xml"))).encode())
        return 0
    if arguments == ["--record"]:
        RECORD.write_text((OUTPUTS / JOBS).read_text(encoding="utf-8"), encoding="utf-8")
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
    named = arguments[split + 1 :]
    ended = lanes.run(longest_first(named) if known.lanes > 1 else named)
    if known.lanes > 1:
        note(ended, lanes)
    of = (lanes.output(each.suite).with_suffix(".xml") for each in ended)
    _write(b"\n", durations(of).encode(), b"\n", *(f"{each}\n".encode() for each in ended))
    return int(any(each.failed for each in ended))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
