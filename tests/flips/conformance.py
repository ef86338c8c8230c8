"""The part of docs/conformance.md about the design documents."""

from __future__ import annotations

from itertools import chain

from tests.flips import texts
from tests.flips.flip_435_statements import Flip435Statements
from tests.flips.flip_435_story import Flip435Story
from tests.flips.flip_492 import Flip492
from tests.flips.flip_546 import Flip546
from tests.flips.flip_551 import Flip551
from tests.flips.flip_557 import Flip557
from tests.flips.journeys import ON_SPARK, ConformanceRow
from tests.flips.journeys import rows as journey_rows

FLIPS = (Flip435Story, Flip435Statements, Flip492, Flip546, Flip551, Flip557)
_MANAGER = "comes with the refresh manager"
NOT_YET = (
    ConformanceRow(435, "Gateway Rest API", "`POST /v3/materialized-tables/refresh`", "", _MANAGER),
    ConformanceRow(
        435, "FRESHNESS Clause", "the cron expression of a full table's workflow", "", _MANAGER
    ),
)
"""What a user could do according to a FLIP, and cannot do in this release."""
NOT_OURS = (
    ConformanceRow(
        435, "Interface Changes", "`CatalogMaterializedTable`, `RefreshHandler` …", "", "Java"
    ),
    ConformanceRow(
        551, "3", "`MaterializedTableEnricher` and `EnrichmentResult`", "", "in Python instead"
    ),
)
"""What is no statement: interfaces that other code has here."""

_ABOUT = (
    "Materialized tables were designed in five proposals of Apache Flink (FLIP). The first column "
    "has the number of the proposal. Every example statement, error text and journey that a user "
    "could type is a test. Journeys run in memory (`tests/unit/flips/test_journeys.py`), and a "
    f"chosen set also on Spark and Delta (`{ON_SPARK}`). What a "
    "statement's text decides alone is in `tests/unit/flips/test_texts.py`. Flink's connectors are "
    "Delta tables with the same columns here. The last column says where this project differs on "
    "purpose, and why."
)


def all_rows() -> list[ConformanceRow]:
    """Every row, by FLIP."""
    found = chain(*map(journey_rows, FLIPS), texts.rows(), NOT_YET, NOT_OURS)
    return sorted(found, key=lambda row: row.flip)


def section() -> list[str]:
    """The section's lines."""
    lines = [
        _ABOUT,
        "",
        "| FLIP | section | what | test | where we differ |",
        "|---|---|---|---|---|",
    ]
    for row in all_rows():
        test = f"`{row.test.rpartition('::')[2].rpartition('/')[2]}`" if row.test else ""
        if row.spark:
            test += ", on Spark" if row.test.startswith(ON_SPARK) else ", also on Spark"
        cells = (str(row.flip), row.section, row.what, test, row.differs)
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return lines
