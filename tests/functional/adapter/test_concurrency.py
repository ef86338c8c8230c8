from __future__ import annotations

import pytest
from dbt.tests.adapter.concurrency.test_concurrency import BaseConcurrency

pytestmark = pytest.mark.conformance


class TestConcurrency(BaseConcurrency):
    pass
