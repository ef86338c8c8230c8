"""The part of docs/conformance.md about the design documents."""

from __future__ import annotations

from itertools import chain

from tests.seeds import texts
from tests.seeds.seed_435_statements import Seed435Statements
from tests.seeds.seed_435_story import Seed435Story
from tests.seeds.seed_492 import Seed492
from tests.seeds.seed_546 import Seed546
from tests.seeds.seed_551 import Seed551
from tests.seeds.seed_557 import Seed557
from tests.seeds.told import ON_SPARK, Told
from tests.seeds.told import rows as journey_rows

SEEDS = (Seed435Story, Seed435Statements, Seed492, Seed546, Seed551, Seed557)
_MANAGER = "comes with the refresh manager"
NOT_YET = (
    Told(435, "Gateway Rest API", "`POST /v3/materialized-tables/refresh`", "", _MANAGER),
    Told(435, "FRESHNESS Clause", "the cron expression of a full table's workflow", "", _MANAGER),
)
"""What a user could do according to a FLIP, and cannot do in this release."""
NOT_OURS = (
    Told(435, "Interface Changes", "`CatalogMaterializedTable`, `RefreshHandler` …", "", "Java"),
    Told(551, "3", "`MaterializedTableEnricher` and `EnrichmentResult`", "", "in Python instead"),
)
"""What is no statement: interfaces that other code has here."""

_ABOUT = (
    "Materialized tables were designed in five proposals of Apache Flink (FLIP). The first column "
    "has the number of the proposal. Every example statement, error text and journey that a user "
    "could type is a test. Journeys run in memory (`tests/unit/seeds/test_journeys.py`), and a "
    "chosen set also on Spark and Delta (`tests/functional/seeds/test_journeys.py`). What a "
    "statement's text decides alone is in `tests/unit/seeds/test_texts.py`. Flink's connectors are "
    "Delta tables with the same columns here. The last column says where this project differs on "
    "purpose, and why."
)


def told() -> list[Told]:
    """Every row, by FLIP."""
    found = chain(*map(journey_rows, SEEDS), texts.rows(), NOT_YET, NOT_OURS)
    return sorted(found, key=lambda row: row.seed)


def section() -> list[str]:
    """The section's lines."""
    lines = [
        _ABOUT,
        "",
        "| FLIP | section | what | test | where we differ |",
        "|---|---|---|---|---|",
    ]
    for row in told():
        test = f"`{row.test.rpartition('::')[2].rpartition('/')[2]}`" if row.test else ""
        if row.spark:
            test += ", on Spark" if row.test.startswith(ON_SPARK) else ", also on Spark"
        cells = (str(row.seed), row.section, row.what, test, row.differs)
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return lines
