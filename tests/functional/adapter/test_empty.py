from __future__ import annotations

import pytest
from dbt.tests.adapter.empty.test_empty import BaseTestEmpty, BaseTestEmptyInlineSourceRef
from dbt.tests.adapter.sample_mode.test_sample_mode import BaseSampleModeTest

pytestmark = pytest.mark.conformance


class TestEmpty(BaseTestEmpty):
    pass


class TestEmptyInlineSourceRef(BaseTestEmptyInlineSourceRef):
    pass


class TestSampleMode(BaseSampleModeTest):
    pass
