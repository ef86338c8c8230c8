"""SQL confs and functions of the installed Spark, as data of the package.

`python tools/spark_registry.py` writes them into `query/spark_confs.py` and `query/functions.py`,
with the release that they were read from. It needs a JDK: `javap` shows what classes refer to.

A conf is a candidate if a class of the parser, of the analyzer or of the rewriting of subqueries
reads it. A function is known by the expression that Spark's registry makes of it.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import zipfile
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RELEASE = version("pyspark")
QUERY = Path(__file__).parents[1] / "dbt" / "adapters" / "spark_mt" / "query"
_READERS = re.compile(
    r"sql/catalyst/(parser|analysis)/|SparkSql(Ast|Parser)|SparkParserUtils"
    r"|sql/catalyst/optimizer/\w*[sS]ubquer"
)
_GENERATED_BY_ANTLR = re.compile(r"SqlBase(Parser|Lexer)")
_CONF = "org/apache/spark/sql/internal/"
_REFERENCE = re.compile(rf"Method {_CONF}(?:SQLConf|SqlApiConf)(\$?)\.(\w+):")
_MEMBER = re.compile(r"  \S.*?(\w+)\([^)]*\)(?: throws .*)?;$")
_AT_ONCE = 300


def _jars() -> list[Path]:
    """Return the jars of Spark SQL."""
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(name="pyspark")
    return sorted((Path(spec.origin).parent / "jars").glob("spark-*.jar"))


def _javap(directory: Path, classes: list[str]) -> str:
    done = subprocess.run(  # noqa: S603 - names of classes in jars of Spark
        ["javap", "-c", "-p", "-cp", str(directory), *classes],  # noqa: S607 - of the JDK in use
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout


def _unpacked(directory: Path) -> list[str]:
    """Unpack the jars of Spark SQL, and return the classes that read texts."""
    readers: list[str] = []
    for jar in _jars():
        if not re.match(r"spark-(sql|catalyst|sql-api)_", jar.name):
            continue
        with zipfile.ZipFile(jar) as archive:
            names = [name for name in archive.namelist() if name.endswith(".class")]
            wanted = [n for n in names if _READERS.search(n) and not _GENERATED_BY_ANTLR.search(n)]
            archive.extractall(directory, [*wanted, *(n for n in names if "/SQLConf" in n)])
            readers += [name.removesuffix(".class") for name in wanted]
    return readers


def _accessors(directory: Path) -> dict[str, set[str]]:
    """Return the entries that each method of SQLConf reads."""
    found: dict[str, set[str]] = {}
    member = ""
    for line in _javap(directory, [f"{_CONF}SQLConf"]).splitlines():
        if match := _MEMBER.match(line):
            member = match[1]
        if match := _REFERENCE.search(line):
            found.setdefault(member, set()).add(match[2])
    return found


def _entries(readers: list[str], directory: Path) -> set[str]:
    """Return the names of the entries of SQLConf that classes read."""
    accessors, found = _accessors(directory), set[str]()
    for first in range(0, len(readers), _AT_ONCE):
        for match in _REFERENCE.finditer(_javap(directory, readers[first : first + _AT_ONCE])):
            found |= {match[2]} if match[1] else accessors.get(match[2], set())
    return found


def read_confs(jvm: Any, entries: set[str]) -> dict[str, str]:  # noqa: ANN401 - of Py4J
    """Return the keys of entries, with their defaults."""
    module, methods = _module(jvm, "org.apache.spark.sql.internal.SQLConf$")
    found: dict[str, str] = {}
    for method in methods:
        if method.getName() in entries and "ConfigEntry" in method.getReturnType().getName():
            entry = method.invoke(module, None)
            found[entry.key()] = entry.defaultValueString()
    return dict(sorted(found.items()))


def _module(jvm: Any, name: str) -> tuple[Any, Any]:  # noqa: ANN401 - of Py4J
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    found = jvm.java.lang.Class.forName(name, True, loader)  # noqa: FBT003 - of Java
    methods = [m for m in found.getMethods() if m.getParameterCount() == 0]
    return found.getField("MODULE$").get(None), methods


_BEGIN, _END = "# Written by tools/spark_registry.py", "# End of what is written."


def _write(name: str, **values: object) -> None:
    """Write values into a module, between its two comments."""
    path = QUERY / f"{name}.py"
    before, _, rest = path.read_text(encoding="utf-8").partition(_BEGIN)
    comment, _, old = rest.partition("\n")
    lines = [f"{_BEGIN}{comment}"]
    for key, value in values.items():
        shown = dict(sorted(value.items())) if isinstance(value, dict) else value
        lines.append(f"{key} = {shown!r}")
    path.write_text(before + "\n".join(lines) + f"\n{_END}" + old.partition(_END)[2], "utf-8")
    command = [sys.executable, "-m", "ruff", "format", "-q", str(path)]
    subprocess.run(command, check=True)  # noqa: S603 - the linter


def confs_of_texts(jvm: Any) -> dict[str, str]:  # noqa: ANN401 - of Py4J
    """Return the confs that the parser and the analyzer read, with their defaults."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        entries = _entries(_unpacked(directory), directory)
    return read_confs(jvm, entries)


_EXAMPLE = re.compile(r"> (.*?);\s*$", re.MULTILINE)


_KINDS = {
    "AGGREGATE": (
        "org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction",
        "org.apache.spark.sql.catalyst.expressions.RuntimeReplaceableAggregate",
    ),
    "GENERATOR": ("org.apache.spark.sql.catalyst.expressions.Generator",),
    "WINDOW": ("org.apache.spark.sql.catalyst.expressions.WindowFunction",),
}
_GROUPS = {"agg_funcs": "AGGREGATE", "generator_funcs": "GENERATOR", "window_funcs": "WINDOW"}
"""Kinds of the functions that a builder makes, whose class is not known."""


def functions_of(spark: SparkSession) -> dict[str, dict[str, bool]]:
    """Return the functions by kind, each with whether all of its examples are deterministic.

    Spark's registry has the class and examples of each function. An expression is analysed to know
    whether it is deterministic, because that may depend on what it is replaced by.
    """
    jvm = spark._jvm  # noqa: SLF001 - the registry has no public way
    registry = jvm.org.apache.spark.sql.catalyst.analysis.FunctionRegistry.builtin()
    identifier = jvm.org.apache.spark.sql.catalyst.FunctionIdentifier
    found: dict[str, dict[str, bool]] = {kind: {} for kind in (*_KINDS, "SCALAR")}
    for (name,) in spark.sql("SHOW SYSTEM FUNCTIONS").collect():
        info = registry.lookupFunction(identifier(name))
        if not info.isDefined():
            continue  # a table function, or an operator
        kind = _GROUPS.get(info.get().getGroup()) or _kind(jvm, info.get().getClassName())
        examples = _EXAMPLE.findall(info.get().getExamples())
        found[kind][name] = all(_is_deterministic(spark, each) for each in examples)
    return found


def _kind(jvm: Any, name: str) -> str:  # noqa: ANN401 - of Py4J
    """Return the kind of the function whose expression has a class."""
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    found = jvm.java.lang.Class.forName(name, False, loader)  # noqa: FBT003 - of Java
    for kind, parents in _KINDS.items():
        for parent in parents:
            if jvm.java.lang.Class.forName(parent, False, loader).isAssignableFrom(found):  # noqa: FBT003
                return kind
    return "SCALAR"


def _is_deterministic(spark: SparkSession, query: str) -> bool:
    """Return whether Spark's plan of a query is deterministic; one that it refuses counts as so."""
    try:
        parsed = spark._jsparkSession.sql(query)  # noqa: SLF001 - as above
        return bool(parsed.queryExecution().analyzed().deterministic())
    except Exception as error:  # noqa: BLE001 - Py4J has many
        print(f"no plan of {query[:80]}: {str(error)[:80]}", file=sys.stderr)  # noqa: T201
        return True


def main() -> None:
    """Write the modules."""
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    session = spark.getOrCreate()
    try:
        confs = confs_of_texts(session._jvm)  # noqa: SLF001 - as above
        functions = functions_of(session)
    finally:
        session.stop()
    _write("spark_confs", RELEASE=RELEASE, CONFS=confs)
    _write("functions", RELEASE=RELEASE, **functions)


if __name__ == "__main__":
    main()
