from __future__ import annotations

import subprocess
import sys

import pytest

from dbt.adapters.spark_mt.spark.derby import (
    MetastoreInUseError,
    check_metastore_is_free,
    lock_holder,
)

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
    """A metastore whose lock another process holds; its id comes first."""
    path = tmp_path / "dbex.lck"
    path.write_bytes(b"lock")
    with subprocess.Popen(  # noqa: S603 - our own script
        [sys.executable, "-c", _HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"locked\n"
        yield process.pid, tmp_path
        process.stdin.close()


def test_the_holder_is_named(locked):
    pid, metastore = locked
    assert lock_holder(metastore / "dbex.lck") == pid
    with pytest.raises(MetastoreInUseError) as raised:
        check_metastore_is_free(metastore)
    assert f"process {pid} " in raised.value.parameters["holder"]


def test_a_free_metastore(tmp_path):
    (tmp_path / "dbex.lck").write_bytes(b"lock")
    assert lock_holder(tmp_path / "dbex.lck") is None
    check_metastore_is_free(tmp_path)


def test_no_metastore_yet(tmp_path):
    check_metastore_is_free(tmp_path / "metastore_db")
