"""Java that the driver compiles; `tests/unit/spark/parser/test_hook.py` does it in a JVM."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from dbt.adapters.spark_mt.spark.session import driver_java


class Jvm:
    """One that counts what it compiles."""

    def __init__(self, problem=None):
        self.cooked = []
        self.problem = problem
        self.java = SimpleNamespace(
            lang=SimpleNamespace(
                Thread=SimpleNamespace(
                    currentThread=lambda: SimpleNamespace(getContextClassLoader=lambda: "loader")
                ),
                Class=SimpleNamespace(forName=lambda name, *_: name),
            )
        )
        janino = SimpleNamespace(SimpleCompiler=lambda: self)
        self.org = SimpleNamespace(codehaus=SimpleNamespace(janino=janino))

    def cook(self, text):
        self.cooked.append(text)
        if self.problem:
            raise self.problem

    def getClassLoader(self):  # noqa: N802 - Java's
        return "its own"

    def setSourceVersion(self, _): ...  # noqa: N802 - Java's

    setTargetVersion = setParentClassLoader = setSourceVersion  # noqa: N815 - Java's


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "Made.java"
    path.write_text("class Made {}", encoding="utf-8")
    return path


def spark_of(jvm):
    return SimpleNamespace(sparkContext=SimpleNamespace(_jvm=jvm))


def test_a_jvm_compiles_a_source_once(source):
    spark = spark_of(Jvm())
    found = [driver_java.compiled(spark, source, ("Inner",)) for _ in range(2)]
    assert found == ["dbt.adapters.spark_mt.Made"] * 2
    assert spark.sparkContext._jvm.cooked == ["class Made {}"]


def test_a_source_that_does_not_fit_is_not_compiled_again(source):
    spark = spark_of(Jvm(ValueError("no")))
    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            driver_java.compiled(spark, source)
    assert len(spark.sparkContext._jvm.cooked) == 1
