"""The version of a Java."""

from __future__ import annotations

from dbt.adapters.spark_mt.definition.releases import (
    check_java,
)
from dbt.adapters.spark_mt.spark.delta.releases import pyspark_version
from dbt.adapters.spark_mt.spark.launch.jvm import java, java_version


def test_the_version_of_a_java_is_in_its_folder_or_in_what_it_prints(tmp_path):
    file = tmp_path / "bin" / "java"
    file.parent.mkdir()
    file.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019-01-15' >&2\n")
    file.chmod(0o755)
    assert java_version(file) == "11.0.2"
    (tmp_path / "release").write_text('IMPLEMENTOR="x"\nJAVA_VERSION="17.0.15"\n')
    assert java_version(file) == "17.0.15"
    here = java()
    assert here is not None
    check_java(java_version(here), here, pyspark_version())
