"""Command line of the matrix; `make matrix` runs it.

    python -m tools.matrix [--only TEXT …] [lane …]

The wheel is built once, and lanes run one after another. A lane for which this machine has no
interpreter is named at the end, and its former result stays in the record.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.releases import UNTESTED
from dbt.adapters.spark_mt.spark.delta.releases import PAIRS
from tools.matrix import results
from tools.matrix.environments import WORK, AbsentError, BrokenError, Environments
from tools.matrix.lanes import LANES
from tools.matrix.results import Outcomes, Result

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tools.matrix.environments import Environment
    from tools.matrix.lanes import Lane

_INSTALLED = """
import json, platform
from importlib.metadata import version
from dbt.adapters.spark_mt.spark.launch.jvm import java, java_version
names = "dbt-core dbt-adapters dbt-spark dbt-spark-mt pandas pyarrow pyspark sqlglot".split()
found = {"python": platform.python_version(), "java": java_version(java())}
print(json.dumps({**found, **{name: version(name) for name in names}}))
"""

_SHORT_QUERIES = (
    *("--conf", "spark.sql.codegen.wholeStage=false"),
    *("--conf", "spark.sql.codegen.factoryMode=NO_CODEGEN"),
)
"""Tables of tests have few rows: compiling classes for each query is half of the time."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A lane that ran, or did not.

    Args:
        lane: Which one.
        result: What there is to record; None where nothing ran.
        problem: Why nothing ran.
    """

    lane: Lane
    result: Result | None = None
    problem: str = ""
    is_absent: bool = False

    @property
    def failed(self) -> bool:
        """Whether the matrix failed by it: not for an interpreter that this machine lacks."""
        if self.lane.excluded is not None or self.is_absent:
            return False
        return self.result is None or not self.result.outcomes.is_sound

    def __str__(self) -> str:
        if self.result is None:
            why = "NOT RUN" if self.is_absent else "FAILED"
            return f"{self.lane.name:20} {why}: {self.problem}"
        return f"{self.lane.name:20} {self.result.seconds:5} s  {self.result.outcomes}"


def main(arguments: Sequence[str]) -> int:
    """Run lanes, all of them by default, and record their results; 1 if one failed."""
    names = [lane.name for lane in LANES]
    parser = argparse.ArgumentParser(prog="python -m tools.matrix")
    parser.add_argument("lanes", nargs="*", metavar="lane", help=f"of {', '.join(names)}")
    parser.add_argument(
        "--only", action="append", help="tests with this in path or name; not recorded"
    )
    known = parser.parse_args(arguments)
    if unknown := sorted(set(known.lanes) - set(names)):
        parser.error(f"there is no lane {', '.join(unknown)}; the lanes are {', '.join(names)}")
    only = tuple(filter(None, known.only or ()))
    environments = Environments()
    environments.prepare()
    ended = []
    for lane in LANES:
        if not known.lanes or lane.name in known.lanes:
            ended.append(_run(environments, lane, only))
            if (result := ended[-1].result) is not None and not only:
                results.add(result)
    _say("", *map(str, ended))
    return int(any(each.failed for each in ended))


def _run(environments: Environments, lane: Lane, only: Sequence[str]) -> Ended:
    _say("", f"== {lane.name}: {lane.about}")
    began = time.monotonic()
    try:
        environment = environments.of(lane, dict(_variables(lane)))
    except AbsentError as absent:
        return Ended(lane, problem=str(absent), is_absent=True)
    except BrokenError as broken:
        return Ended(lane, problem=str(broken))
    made = time.monotonic()
    installed = {**json.loads(environment.ask(_INSTALLED)), "delta": lane.delta_version}
    _say(", ".join(f"{name} {version}" for name, version in installed.items()))
    outcomes = Outcomes()
    for suite, chosen in lane.suites.items():
        tests = [suite + each for each in chosen]
        picked = [each for each in tests if not only or any(part in each for part in only)]
        outcomes += _run_suite(environment, lane, suite, picked)
    for failure in outcomes.failures:
        _say(f"failed: {failure}")
    return Ended(
        lane,
        Result(
            lane=lane.name,
            date=datetime.now(tz=timezone.utc).date().isoformat(),
            installed=installed,
            outcomes=outcomes,
            seconds=round(time.monotonic() - made),
            environment_seconds=round(made - began),
        ),
    )


def _run_suite(environment: Environment, lane: Lane, suite: str, chosen: Sequence[str]) -> Outcomes:
    if not chosen:
        return Outcomes()
    report = WORK / "reports" / lane.name / f"{suite.strip('/').replace('/', '.')}.xml"
    report.parent.mkdir(parents=True, exist_ok=True)
    report.unlink(missing_ok=True)
    code = environment.pytest(chosen, report)
    return results.of_report(report, suite, code)


def _variables(lane: Lane) -> Iterator[tuple[str, str]]:
    """Yield variables for the tests of a lane: what it names besides packages of Python."""
    releases = {"dbt-core": lane.dbt, "pyspark": lane.pyspark, "delta": lane.delta_version}
    yield "SPARK_MT_LANE", json.dumps({**releases, "python": lane.python})
    is_default = lane.excluded is None and lane.delta in {pair.package for pair in PAIRS}
    named = () if is_default else ("--packages", lane.delta)
    yield "PYSPARK_SUBMIT_ARGS", " ".join((*named, *_SHORT_QUERIES, "pyspark-shell"))
    yield "JAVA_TOOL_OPTIONS", "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
    if lane.excluded is not None:
        yield UNTESTED, "true"


def _say(*lines: str) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
