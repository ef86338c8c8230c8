"""Record of the lanes that ran, with what was installed and how the tests ended."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from tools.matrix.lanes import LANES

if TYPE_CHECKING:
    from collections.abc import Mapping

RECORD = Path(__file__).with_name("results.json")
_EXIT_CODES_WITH_REPORTS = (0, 1)


@dataclass(frozen=True, slots=True)
class Outcomes:
    """How tests ended."""

    passed: int = 0
    skipped: int = 0
    failures: tuple[str, ...] = ()

    def __add__(self, other: Outcomes) -> Outcomes:
        """Return those of two suites."""
        return Outcomes(
            self.passed + other.passed,
            self.skipped + other.skipped,
            self.failures + other.failures,
        )

    def __str__(self) -> str:
        found = {"passed": self.passed, "failed": len(self.failures), "skipped": self.skipped}
        return ", ".join(f"{count} {name}" for name, count in found.items() if count)

    @property
    def is_sound(self) -> bool:
        """Whether tests ran, and all of them passed."""
        return self.passed > 0 and not self.failures


@dataclass(frozen=True, slots=True)
class Result:
    """A lane that ran.

    Args:
        lane: Its name.
        date: The day, as in ISO 8601.
        installed: The version of each package, of Python and of Java.
        outcomes: How its tests ended.
        seconds: Time of the tests, with the starts of Spark.
        environment_seconds: Time in which the environment was made, or found to be there.
    """

    lane: str
    date: str
    installed: Mapping[str, str]
    outcomes: Outcomes
    seconds: int
    environment_seconds: int


def read(record: Path = RECORD) -> dict[str, Result]:
    """Return the newest result of each lane that ever ran."""
    documents = json.loads(record.read_text(encoding="utf-8")) if record.exists() else []
    return {document["lane"]: _result(document) for document in documents}


def add(result: Result, record: Path = RECORD) -> None:
    """Record a result in place of the former one of its lane; drop those of lanes that are gone."""
    known = {**read(record), result.lane: result}
    documents = [asdict(known[lane.name]) for lane in LANES if lane.name in known]
    record.write_text(json.dumps(documents, indent=2) + "\n", encoding="utf-8")


def of_report(report: Path, suite: str, code: int) -> Outcomes:
    """Return how the tests of a suite ended.

    Args:
        report: What pytest wrote, in JUnit's format.
        suite: The name of the suite.
        code: The exit code of pytest; if it is one of an error of pytest, the suite failed.
    """
    if code not in _EXIT_CODES_WITH_REPORTS or not report.exists():
        return Outcomes(failures=(f"{suite} (pytest ended with {code})",))
    outcomes = Outcomes()
    for case in ET.parse(report).iter("testcase"):  # noqa: S314 - pytest wrote it
        ends = {child.tag for child in case}
        if ends & {"failure", "error"}:
            outcomes += Outcomes(failures=(f"{case.get('classname')}::{case.get('name')}",))
        else:
            outcomes += Outcomes(skipped=1) if "skipped" in ends else Outcomes(passed=1)
    return outcomes


def _result(document: dict[str, Any]) -> Result:
    counts = document["outcomes"]
    outcomes = Outcomes(**{**counts, "failures": tuple(counts["failures"])})
    return Result(**{**document, "outcomes": outcomes})
