"""The Spark of the tests of the engine, in a process of its own: how rows follow their sources."""

from __future__ import annotations

from tests.functional.engine.conftest import schema, session, spark, warehouse

__all__ = ["schema", "session", "spark", "warehouse"]
