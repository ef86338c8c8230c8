"""`spark-mt archive`, and a Spark that starts from the archive."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.server import environment
from tests.functional.processes.serving import SHORT

pytestmark = pytest.mark.conformance

PROGRAM = Path(sys.executable).with_name("spark-mt")


def test_spark_starts_from_the_archive_that_was_made(tmp_path):
    env = {**environment(), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    confs = [word for key, value in SHORT.items() for word in ("--conf", f"{key}={value}")]

    def run(*words: str, **more: str) -> str:
        done = subprocess.run(  # noqa: S603 - our own command
            [PROGRAM, *words, *confs],
            cwd=tmp_path,
            env={**env, **more},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    said = run("archive")
    (file,) = (tmp_path / "cache" / "dbt-spark-mt").iterdir()
    assert (
        said == f"Spark starts from {file} ({file.stat().st_size / 1024**2:.0f} MB) from now on.\n"
    )
    assert not (tmp_path / "metastore_db").exists(), "it is no Spark over the user's tables"

    loaded = tmp_path / "loaded.txt"
    run("sql", "SELECT 1", SPARK_SUBMIT_OPTS=f"-Xlog:class+load:file={loaded}")
    ours = [line for line in loaded.read_text().splitlines() if " org.apache.spark." in line]
    archived = [line for line in ours if line.endswith("source: shared objects file (top)")]
    assert len(archived) > 2_000
