from __future__ import annotations

import subprocess
import sys

import pytest

from dbt.adapters.spark_mt.definition.errors import MetastoreInUseError
from dbt.adapters.spark_mt.spark.launch import derby
from dbt.adapters.spark_mt.spark.launch.derby import check_metastore_is_free, lock_holder

fcntl = pytest.importorskip("fcntl")

_HOLD = """
import fcntl, sys
file = open(sys.argv[1], "rb+")
fcntl.lockf(file, fcntl.LOCK_EX)
print("locked", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def locked(tmp_path):
    """A metastore whose lock another process holds; the process comes first."""
    path = tmp_path / "dbex.lck"
    path.write_bytes(b"lock")
    with subprocess.Popen(  # noqa: S603 - our own script
        [sys.executable, "-c", _HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"locked\n"
        yield process, tmp_path
        process.stdin.close()


def test_the_holder_is_named(locked):
    process, metastore = locked
    assert lock_holder(metastore / "dbex.lck") == process.pid
    with pytest.raises(MetastoreInUseError) as raised:
        check_metastore_is_free(metastore)
    assert f"process {process.pid} " in raised.value.parameters["holder"]


def test_a_free_metastore(tmp_path):
    (tmp_path / "dbex.lck").write_bytes(b"lock")
    assert lock_holder(tmp_path / "dbex.lck") is None
    check_metastore_is_free(tmp_path)


def test_no_metastore_yet(tmp_path):
    check_metastore_is_free(tmp_path / "metastore_db")


@pytest.fixture
def abandoned(locked, monkeypatch):
    """A holder whose starter has ended."""
    process, metastore = locked
    parents = {process.pid: "1"}
    monkeypatch.setattr(derby, "_parent", parents.get)
    return process, metastore


def test_an_abandoned_metastore_is_waited_for(abandoned, monkeypatch):
    process, metastore = abandoned
    slept = []

    def sleep(seconds):
        slept.append(seconds)
        process.communicate()  # closes its input, on which it ends

    monkeypatch.setattr(derby.time, "sleep", sleep)
    check_metastore_is_free(metastore)
    assert len(slept) == 1


def test_an_abandoned_metastore_that_stays_is_named(abandoned, monkeypatch):
    process, metastore = abandoned
    monkeypatch.setattr(derby, "_ENDING_S", 0.0)
    with pytest.raises(MetastoreInUseError) as raised:
        check_metastore_is_free(metastore)
    assert f"process {process.pid} " in raised.value.parameters["holder"]
