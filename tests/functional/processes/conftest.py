"""Real processes at the same time, all of them clients of one Spark Connect server."""

from tests.faults.fixtures import *  # noqa: F403 - fixtures and hooks of pytest
