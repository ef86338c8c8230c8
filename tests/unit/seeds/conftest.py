"""The journeys are no test modules: their assertions shall explain themselves all the same."""

import pytest

pytest.register_assert_rewrite("tests.seeds")
