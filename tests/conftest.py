"""Suites that several engines share are no test modules; their assertions explain themselves."""

import pytest

pytest.register_assert_rewrite("tests.behaviour", "tests.seeds")
