"""What holds for every suite."""

import pytest
from hypothesis import settings

# Suites that several engines share are no test modules; their assertions explain themselves too.
pytest.register_assert_rewrite("tests.behaviour", "tests.faults", "tests.flips")

# A busy machine is no failure.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")
