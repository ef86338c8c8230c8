"""Real processes at the same time: clients of one Spark Connect server, or of one manager."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.faults.fixtures import *  # noqa: F403 - fixtures and hooks of pytest
from tests.functional.processes.serving import SECRETS, SHORT, Manager, serving

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@pytest.fixture(scope="session")
def server_confs() -> Mapping[str, str]:
    """Those of a JVM that ends before the second compiler pays."""
    return SHORT


@pytest.fixture(scope="session")
def manager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Manager]:
    """A manager with secrets in its configuration; each file of tests has schemas of its own."""
    with serving(tmp_path_factory.mktemp("home"), {**SHORT, **SECRETS}, "info") as manager:
        yield manager
    assert not manager.file.exists()
