"""What holds for every suite."""

import os

import pytest
from hypothesis import settings

# Suites that several engines share are no test modules; their assertions explain themselves too.
pytest.register_assert_rewrite("tests.behaviour", "tests.faults", "tests.flips")

# Neither dbt in a test nor a process of it waits for the server of dbt's usage statistics.
os.environ.setdefault("DBT_SEND_ANONYMOUS_USAGE_STATS", "false")

# A busy machine is no failure.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")
