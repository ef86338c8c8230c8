"""The jars of Spark's Kafka connector and of a Kafka broker.

`python -m tests.kafka.jars` fetches them.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.ivy import java, resolved

__all__ = ["CONNECTOR_FOR", "broker_class_path", "connector_jars", "java"]

CONNECTOR_FOR = "4.2"
"""The Spark that the connector of ivy.xml is made for."""

_MODULE = Path(__file__).with_name("ivy.xml")


def connector_jars() -> tuple[str, ...]:
    """Return the paths for `spark.jars`."""
    return resolved(_MODULE, "connector")


def broker_class_path() -> str:
    """Return what `java -cp` takes."""
    return os.pathsep.join(resolved(_MODULE, "broker"))


def main() -> int:
    """Fetch everything."""
    return 0 if connector_jars() and broker_class_path() else 1


if __name__ == "__main__":
    sys.exit(main())
