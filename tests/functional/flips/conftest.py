"""The engine's Spark with Delta, in a process of its own."""

from tests.functional.engine.conftest import schema, session, spark, warehouse

__all__ = ["schema", "session", "spark", "warehouse"]
