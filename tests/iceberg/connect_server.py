"""A Spark Connect server with a catalog of Iceberg, and clients of it that are killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import contextmanager

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.spark.iceberg.branch_transactions import BranchTransaction
from tests.faults.server import ROOT, environment, serving
from tests.iceberg.conftest import EXTENSIONS, ICEBERG, SQLITE, iceberg_confs
from tests.support.delta_package import delta_confs

_CONNECT = "SPARK_CONNECT_MODE_ENABLED"
_TIMEOUT_S = 300
KILLED = 9


@contextmanager
def serving_iceberg(home):
    """Serve a catalog `ice`; later Sparks of this process are classic ones again."""
    delta = delta_confs()
    packages, extensions = "spark.jars.packages", "spark.sql.extensions"
    confs = {
        packages: f"{delta[packages]},{ICEBERG},{SQLITE}",
        extensions: f"{delta[extensions]},{EXTENSIONS}",
        **iceberg_confs(home),
    }
    before = os.environ.get(_CONNECT)
    try:
        with serving(home, confs) as server:
            yield server
    finally:
        os.environ.pop(_CONNECT, None)
        if before is not None:
            os.environ[_CONNECT] = before


def killed_after(server, phrase, place, statement):
    """Run a statement in a process that ends after a statement of its transaction with a phrase.

    Returns:
        Whether it got there.
    """
    request = {"url": server.url, "phrase": phrase, "place": place, "statement": statement}
    done = subprocess.run(  # noqa: S603 - this file
        [sys.executable, "-m", __name__, json.dumps(request)],
        cwd=ROOT,
        env=environment(),
        check=False,
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
    )
    assert done.returncode in (0, KILLED), done.stderr[-3000:]
    return done.returncode == KILLED


class _Ending:
    """A session that ends the process after a statement."""

    def __init__(self, inner, phrase):
        self._inner, self._phrase = inner, phrase

    def sql(self, statement):
        found = self._inner.sql(statement)
        if self._phrase in statement:
            os._exit(KILLED)
        return found

    def __getattr__(self, name):
        return getattr(self._inner, name)


def main():
    from pyspark.sql import SparkSession

    request = json.loads(sys.argv[1])
    begun = BranchTransaction.__init__

    def ending(self, spark, *arguments):
        begun(self, _Ending(spark, request["phrase"]), *arguments)

    BranchTransaction.__init__ = ending
    spark = SparkSession.builder.remote(request["url"]).create()
    spark.sql(f"USE {request['place']}")
    MaterializedTables(spark).execute(request["statement"])
    os._exit(0)


if __name__ == "__main__":
    main()
