"""A table that is hosted while everything happens to it, held against its query."""

from __future__ import annotations

from random import Random

from tests.functional.streams.chaos import Chaos

_SEED = 5


def test_a_hosted_table_equals_its_query(session, schema):
    assert session.catalog.currentDatabase() == schema
    chaos = Chaos(session, Random(_SEED))  # noqa: S311 - for the order, not for secrets
    try:
        for name in ("append", "update", "optimize", "another query", "append"):
            chaos.act(name)
        chaos.check()
        for name in ("make the source anew", "append"):
            chaos.act(name)
        chaos.check()
    finally:
        chaos.close()
