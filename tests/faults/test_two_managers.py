"""Two managers of one catalog, as processes: one works, the other is the standby and takes over."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from tests.derby.metastore import shared_metastore
from tests.functional.engine.conftest import started
from tests.functional.manager.conftest import until
from tests.support.delta_package import delta_confs

if TYPE_CHECKING:
    from pathlib import Path

_CONFS = {
    **delta_confs(),
    "spark.master": "local[2]",
    "spark.driver.memory": "1g",
    "spark.log.level": "OFF",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
}


class Process:
    """A manager that can be paused, woken and killed."""

    def __init__(self, folder: Path, confs: dict[str, str]) -> None:
        folder.mkdir()
        self._folder = folder
        module = "tests.faults.manager_process"
        self._process = subprocess.Popen(  # noqa: S603 - our own arguments
            [sys.executable, "-m", module, str(folder), json.dumps(confs)],
            stdin=subprocess.DEVNULL,
            stdout=(folder / "out").open("wb"),
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    @property
    def role(self) -> str:
        """What it last said that it does."""
        role_file = self._folder / "role"
        return role_file.read_text() if role_file.exists() else ""

    def becomes(self, role: str) -> float:
        """Wait until it says so; returns how long that took, in seconds."""
        began = time.monotonic()
        until(lambda: self.role == role or self._process.poll() is not None, 300)
        assert self.role == role, (self._folder / "out").read_text()
        return time.monotonic() - began

    def signal(self, number: int) -> None:
        """Send a signal to the manager and to its JVM."""
        os.killpg(self._process.pid, number)

    def close(self) -> None:
        """End it, whatever it does."""
        if self._process.poll() is None:
            self.signal(signal.SIGCONT)
            self.signal(signal.SIGKILL)
        self._process.wait()


@pytest.fixture
def confs(tmp_path):
    with shared_metastore(tmp_path) as shared:
        yield {**_CONFS, **shared}


@pytest.fixture
def session(confs, tmp_path):
    more = {**confs, "spark.sql.catalogImplementation": "hive"}
    yield from started(str(tmp_path / "warehouse"), **more)


@pytest.fixture
def managers(confs, tmp_path):
    """Two managers that were not started yet."""
    started_ones = []

    def start(name):
        started_ones.append(Process(tmp_path / name, confs))
        return started_ones[-1]

    yield start
    for process in started_ones:
        process.close()


class Followed:
    """A table of all numbers that came, whoever keeps it fresh."""

    def __init__(self, session) -> None:
        self._session = session
        self._came = 0
        session.sql("CREATE TABLE events (id INT) USING delta")
        MaterializedTables(session).execute(
            "CREATE MATERIALIZED TABLE t FRESHNESS = INTERVAL '2' SECOND AS SELECT id FROM events"
        )

    def follows(self) -> None:
        """Let a number come, and wait until the table has each of them once."""
        self._came += 1
        self._session.sql(f"INSERT INTO events VALUES ({self._came})")
        wanted = [(n,) for n in range(1, self._came + 1)]
        until(lambda: sorted(map(tuple, self._session.table("t").collect())) == wanted)


def test_one_works_and_the_other_takes_over_whatever_happens(session, managers, capsys):
    table = Followed(session)
    first = managers("first")
    first.becomes("ACTIVE")
    second = managers("second")
    second.becomes("STANDBY")
    table.follows()
    first.signal(signal.SIGSTOP)
    taken_over_in = second.becomes("ACTIVE")
    table.follows()
    first.signal(signal.SIGCONT)
    for _ in range(3):
        table.follows()
    first.becomes("STANDBY")
    assert second.role == "ACTIVE"
    second.signal(signal.SIGKILL)
    replaced_in = first.becomes("ACTIVE")
    table.follows()
    table.follows()
    with capsys.disabled():
        print(f"\npaused: taken over in {taken_over_in:.1f} s; killed: in {replaced_in:.1f} s")  # noqa: T201
    assert taken_over_in < 60
