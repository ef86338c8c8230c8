"""Client of Spark Declarative Pipelines: it updates the materialized views that `peers` names.

It reads one JSON document a line: first where Spark is and what the queries are, then numbers of
queries. Each view is a pipeline of its own, and each update a run of it. It answers `done`, or
what went wrong.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_CONFS = {"spark.sql.sources.default": "delta"}
"""A view that names Delta cannot be updated: Spark sets its provider again, which Delta refuses."""


def main() -> None:
    """Answer until the input ends."""
    from pyspark.sql import SparkSession

    asked = json.loads(sys.stdin.readline())
    spark: Any = SparkSession.builder.remote(asked["url"]).getOrCreate()
    for key, value in _CONFS.items():
        spark.conf.set(key, value)
    _answer("done")
    for line in sys.stdin:
        place = json.loads(line)
        text = f"CREATE MATERIALIZED VIEW pipeline{place} AS {asked['queries'][place]}"
        problems = [*_updated(spark, asked, text)]
        _answer("; ".join(problems).replace("\n", " ") or "done")


def _updated(spark: Any, asked: dict[str, Any], text: str) -> Iterator[str]:  # noqa: ANN401 - a session
    """Run a pipeline of one view; yield what failed."""
    from pyspark.pipelines import spark_connect_graph_element_registry as registry
    from pyspark.pipelines import spark_connect_pipeline as pipelines

    graph = pipelines.create_dataflow_graph(spark, "spark_catalog", asked["schema"], _CONFS)
    registry.SparkConnectGraphElementRegistry(spark, graph).register_sql(text, Path("view.sql"))
    run = pipelines.start_run(
        spark,
        graph,
        full_refresh=None,
        full_refresh_all=False,
        refresh=None,
        dry=False,
        storage=asked["storage"],
    )
    for result in run:
        if "pipeline_event_result" in result:
            message = result["pipeline_event_result"].event.message
            if "FAILED" in message or "Error" in message:
                yield message


def _answer(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
