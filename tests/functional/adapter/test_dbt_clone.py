from __future__ import annotations

import pytest
from dbt.tests.adapter.dbt_clone.test_dbt_clone import (
    BaseCloneNotPossible,
    BaseClonePossible,
    BaseCloneSameSourceAndTarget,
    BaseCloneSameTargetAndState,
)

pytestmark = pytest.mark.conformance


class TestClonePossible(BaseClonePossible):
    pass


class TestCloneNotPossible(BaseCloneNotPossible):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        # Delta tables can be cloned; parquet tables cannot, and become views
        return {"models": {"+file_format": "parquet"}, "seeds": {"+file_format": "parquet"}}


class TestCloneSameTargetAndState(BaseCloneSameTargetAndState):
    pass


class TestCloneSameSourceAndTarget(BaseCloneSameSourceAndTarget):
    pass
