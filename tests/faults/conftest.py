"""One long-lived Spark Connect server; the processes that are killed are its clients."""

from tests.faults.fixtures import *  # noqa: F403 - fixtures and hooks of pytest
