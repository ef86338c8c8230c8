"""Files of a Delta log, without Spark."""

import pytest

from dbt.adapters.spark_mt.spark.delta.log import (
    _tail,
    commit_file,
    versions_in,
)
from dbt.adapters.spark_mt.spark.session.driver_files import escaped
from tests.support.refs import delta_at


def test_commit_files_are_named_by_version():
    assert commit_file(delta_at("/t"), 12) == "/t/_delta_log/00000000000000000012.json"


@pytest.mark.parametrize("path", ["file:/a/b", "file:///a/b", "/a/b", "s3a://a/b"])
def test_paths_are_compared_without_scheme_and_slashes(path):
    assert _tail(path) == "a/b"


def test_paths_are_no_patterns():
    assert escaped(r"/a*b[1]{x}?\y") == r"/a\*b\[1\]\{x\}\?\\y"


def test_versions_are_those_of_commits():
    version = "0000000000000000000"
    log = "file:/a, b/_delta_log/"
    names = (
        f"{version}3.json",
        f"{version}2.json",
        f"{version}2.checkpoint.parquet",
        f"{version}2.checkpoint.6a9c.json",
        f"{version}0.{version}2.compacted.json",
        f"{version}4.json.tmp",
        "_last_checkpoint",
    )
    assert versions_in(f"Array({', '.join(log + name for name in names)})") == [2, 3]
    assert versions_in("") == []
