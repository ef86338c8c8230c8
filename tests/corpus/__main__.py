"""Command line of the corpora; `make corpus` runs it."""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from tests.corpus.corpora import CONFS, Run, Selection
from tests.corpus.jars import tests_jar
from tests.corpus.results import Store, fingerprint, report, with_report
from tests.functional.engine.conftest import started
from tests.support import jvm_options

if TYPE_CHECKING:
    from tests.corpus.results import Result

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "conformance.md"
FOLDER = ROOT / ".work" / "corpus"
LONG = {jvm_options.OPTIONS: jvm_options.COMMON}
"""A run of all queries takes hours."""


def code() -> str:
    """Return the fingerprint of what the results depend on."""
    files = [*(ROOT / "dbt").rglob("*.py"), *Path(__file__).parent.glob("*.py")]
    return fingerprint({str(p.relative_to(ROOT)): p.read_bytes() for p in files})


def main() -> int:
    """Run what is not done yet, and print what was seen; 1 if something was wrong."""
    selection = Selection.of_environment()
    shard = "{}of{}".format(*selection.shard)
    store = Store(FOLDER / f"{code()}-{selection.seed}.{shard}.jsonl")
    known = store.read()
    print(f"{store.path.relative_to(ROOT)}: {len(known)} queries are done")  # noqa: T201
    jar = tests_jar()
    with (
        tempfile.TemporaryDirectory() as warehouse,
        contextmanager(started)(warehouse, **CONFS, **LONG) as spark,
    ):

        def finished(result: Result) -> None:
            store.add(result)
            for fault in result.faults:
                print(f"{result.query}: {fault}", flush=True)  # noqa: T201

        run = Run(spark, jar, selection, frozenset(known), finished)
        run.run((*run.tpcds(), *run.sql_tests()))
    found = [each for name, each in store.read().items() if selection.has(name)]
    print("\n".join(report(found)))  # noqa: T201
    if os.environ.get("CORPUS_PUBLISH") == "1":
        lines = (selection.described(datetime.now(timezone.utc).date()), "", *report(found))
        PAGE.write_text(with_report(PAGE.read_text("utf-8"), lines), encoding="utf-8")
    return int(any(result.faults for result in found))


if __name__ == "__main__":
    sys.exit(main())
