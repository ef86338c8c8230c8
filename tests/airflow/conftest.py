"""An Airflow of its own: an empty home with a database, set up before anything imports Airflow."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

HOME = Path(tempfile.mkdtemp(prefix="airflow-"))
os.environ |= {
    "AIRFLOW_HOME": str(HOME),
    "AIRFLOW__CORE__DAGS_FOLDER": str(HOME / "dags"),
    "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    "AIRFLOW__CORE__UNIT_TEST_MODE": "False",
    "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{HOME}/airflow.db",
    "AIRFLOW__LOGGING__LOGGING_LEVEL": "WARNING",
}


@pytest.fixture(scope="session", autouse=True)
def _database() -> Iterator[None]:
    import shutil  # noqa: PLC0415

    from airflow.utils.db import initdb  # noqa: PLC0415 - reads the variables above

    (HOME / "dags").mkdir()
    initdb()
    yield
    shutil.rmtree(HOME)
