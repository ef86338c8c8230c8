"""The confs of the Spark that we start: the user's, and ours where the user has none."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.spark.versions import delta_package, pyspark_version

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
_CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
_EXTENSIONS_KEY = "spark.sql.extensions"
_PACKAGES_KEY = "spark.jars.packages"
_CATALOG_KEY = "spark.sql.catalog.spark_catalog"
_IMPLEMENTATION_KEY = "spark.sql.catalogImplementation"
_DERBY_KEY = "spark.hadoop.javax.jdo.option.ConnectionURL"
_WAREHOUSE_KEY = "spark.sql.warehouse.dir"
_DERBY_DIRECTORY = re.compile(
    r"jdbc:derby:(?!//)(?:;(?:.*;)?databaseName=)?(?P<directory>(?:[A-Za-z]:)?[^;:=]+)(?:;|$)"
)
"""Where a Derby URL names a directory, rather than a server or memory."""
_OTHER_METASTORE = (
    "spark.hadoop.hive.metastore.uris",
    "spark.hive.metastore.uris",
    "hive.metastore.uris",
)
DELTA_CONFS = {_EXTENSIONS_KEY: _EXTENSION, _CATALOG_KEY: _CATALOG}
"""What makes Delta Lake work in a session."""
_QUIET = {"spark.ui.showConsoleProgress": "false", "spark.log.level": "WARN"}
_WHOLE_PLANS = {"spark.sql.debug.maxToStringFields": "1000"}
"""Plans show all columns: what is left out of them cannot tell how a wide table is refreshed."""


@dataclass(frozen=True, slots=True)
class SessionConfs:
    """What a new Spark starts with.

    Args:
        confs: All confs to pass.
        derby: The directory of the Derby metastore that will be opened, if one will be.
    """

    confs: Mapping[str, str]
    derby: Path | None


def session_confs(asked: Mapping[str, str], home: Path) -> SessionConfs:
    """Complete the user's confs with what a session for materialized tables needs.

    Whatever is in `spark-defaults.conf` or PYSPARK_SUBMIT_ARGS counts as the user's, too.

    Raises:
        UnsupportedSparkError: Delta is needed and none is known for the installed PySpark.
    """
    known = _known(asked)
    added = {
        "spark.app.name": "dbt-spark-mt",
        _IMPLEMENTATION_KEY: "hive",
        _CATALOG_KEY: _CATALOG,
        _WAREHOUSE_KEY: str(home / "spark-warehouse"),
        **_QUIET,
        **_WHOLE_PLANS,
    }
    if known.get("spark.master", "local").startswith("local"):
        added |= {"spark.master": "local[*]", "spark.databricks.delta.snapshotPartitions": "2"}
    derby = _derby(known, home)
    if derby is not None and _DERBY_KEY not in known:
        added[_DERBY_KEY] = f"jdbc:derby:;databaseName={derby};create=true"
    needed = {key: value for key, value in added.items() if key not in known}
    merged = _with_delta(known)
    return SessionConfs({**needed, **asked, **merged}, derby)


def embedded_metastore(asked: Mapping[str, str], home: Path) -> Path | None:
    """The directory of the Derby metastore that a new Spark would open; None if it would open none.

    Args:
        asked: The user's confs.
        home: Where the metastore is unless the confs say otherwise.
    """
    return _derby(_known(asked), home)


def _known(asked: Mapping[str, str]) -> dict[str, str]:
    return {**_defaults_of_spark(), **_submitted(), **asked}


def _with_delta(known: Mapping[str, str]) -> dict[str, str]:
    merged = {}
    if _EXTENSION not in known.get(_EXTENSIONS_KEY, ""):
        merged[_EXTENSIONS_KEY] = _joined(known.get(_EXTENSIONS_KEY), _EXTENSION)
    jars = (known.get(key, "") for key in (_PACKAGES_KEY, "spark.jars"))
    if not any("delta-spark" in jar for jar in jars):
        package = delta_package(pyspark_version())
        merged[_PACKAGES_KEY] = _joined(known.get(_PACKAGES_KEY), package)
    return merged


def _joined(before: str | None, value: str) -> str:
    return f"{before},{value}" if before else value


def _derby(known: Mapping[str, str], home: Path) -> Path | None:
    """The place of the Derby metastore, when the user has no other one."""
    if known.get(_IMPLEMENTATION_KEY) == "in-memory" or any(k in known for k in _OTHER_METASTORE):
        return None
    if _DERBY_KEY in known:
        named = _DERBY_DIRECTORY.match(known[_DERBY_KEY])
        return home / named["directory"] if named else None
    elsewhere = any((folder / "hive-site.xml").exists() for folder in _conf_folders())
    return None if elsewhere else home / "metastore_db"


def _conf_folders() -> Iterable[Path]:
    if "SPARK_CONF_DIR" in os.environ:
        return [Path(os.environ["SPARK_CONF_DIR"])]
    return [Path(os.environ["SPARK_HOME"]) / "conf"] if "SPARK_HOME" in os.environ else []


def _defaults_of_spark() -> dict[str, str]:
    """The confs of `spark-defaults.conf`: a key, whitespace or `=`, a value."""
    confs: dict[str, str] = {}
    for path in (folder / "spark-defaults.conf" for folder in _conf_folders()):
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        for line in (each.strip() for each in lines):
            if line and not line.startswith("#"):
                key, _, value = line.replace("=", " ", 1 if " " not in line else 0).partition(" ")
                confs[key] = value.strip()
    return confs


def _submitted() -> dict[str, str]:
    """The confs in PYSPARK_SUBMIT_ARGS."""
    words = shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", ""))
    confs = {}
    for option, value in pairwise(words):
        if option in {"--conf", "-c"}:
            key, _, setting = value.partition("=")
            confs[key] = setting
        elif option in {"--packages", "--jars"}:
            confs[_PACKAGES_KEY if option == "--packages" else "spark.jars"] = value
        elif option == "--master":
            confs["spark.master"] = value
    return confs
