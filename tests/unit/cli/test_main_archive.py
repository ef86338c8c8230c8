"""`spark-mt archive`."""

from __future__ import annotations

from dbt.adapters.spark_mt.cli import session


def test_the_archive_is_named_with_its_size(run, nowhere, monkeypatch):
    file = nowhere / "classes.jsa"
    file.write_bytes(bytes(3 * 1024**2))
    places = []
    monkeypatch.setattr(session, "archive_classes", lambda place: places.append(place) or file)
    done = run("archive", "--conf", "spark.driver.memory=2g")
    assert (done.exit_code, done.stdout) == (0, f"Spark starts from {file} (3 MB) from now on.\n")
    assert places[0].confs["spark.driver.memory"] == "2g"
