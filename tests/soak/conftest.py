"""One Spark with Delta, as that of the tests of the engine."""

from __future__ import annotations

from tests.functional.engine.conftest import schema, session, spark, warehouse

__all__ = ["schema", "session", "spark", "warehouse"]
