from __future__ import annotations

import pytest
from dbt.tests.adapter.simple_snapshot.new_record_check_mode import BaseSnapshotNewRecordCheckMode
from dbt.tests.adapter.simple_snapshot.new_record_dbt_valid_to_current import (
    BaseSnapshotNewRecordDbtValidToCurrent,
)
from dbt.tests.adapter.simple_snapshot.new_record_timestamp_mode import (
    BaseSnapshotNewRecordTimestampMode,
)
from dbt.tests.adapter.simple_snapshot.test_ephemeral_snapshot_hard_deletes import (
    BaseSnapshotEphemeralHardDeletes,
    BaseSnapshotNewColumnSpecificCheckCols,
    BaseSnapshotNewColumnTimestampStrategy,
    BaseSnapshotNewColumnWithDeletes,
)
from dbt.tests.adapter.simple_snapshot.test_snapshot import BaseSimpleSnapshot, BaseSnapshotCheck
from dbt.tests.adapter.simple_snapshot.test_various_configs import (
    BaseSnapshotColumnNames,
    BaseSnapshotColumnNamesFromDbtProject,
    BaseSnapshotInvalidColumnNames,
    BaseSnapshotMultiUniqueKey,
)

from tests.functional.adapter.postgres import FromPostgres

pytestmark = pytest.mark.conformance


class TestSnapshot(FromPostgres, BaseSimpleSnapshot):
    pass


class TestSnapshotCheck(FromPostgres, BaseSnapshotCheck):
    pass


class TestSnapshotEphemeralHardDeletes(FromPostgres, BaseSnapshotEphemeralHardDeletes):
    pass


class TestSnapshotNewColumnTimestampStrategy(FromPostgres, BaseSnapshotNewColumnTimestampStrategy):
    pass


class TestSnapshotNewColumnSpecificCheckCols(FromPostgres, BaseSnapshotNewColumnSpecificCheckCols):
    pass


class TestSnapshotNewColumnWithDeletes(FromPostgres, BaseSnapshotNewColumnWithDeletes):
    pass


class TestSnapshotNewRecordTimestampMode(FromPostgres, BaseSnapshotNewRecordTimestampMode):
    pass


class TestSnapshotNewRecordCheckMode(FromPostgres, BaseSnapshotNewRecordCheckMode):
    pass


class TestSnapshotNewRecordDbtValidToCurrent(FromPostgres, BaseSnapshotNewRecordDbtValidToCurrent):
    pass


class TestSnapshotColumnNames(FromPostgres, BaseSnapshotColumnNames):
    pass


class TestSnapshotColumnNamesFromDbtProject(FromPostgres, BaseSnapshotColumnNamesFromDbtProject):
    pass


class TestSnapshotInvalidColumnNames(FromPostgres, BaseSnapshotInvalidColumnNames):
    pass


class TestSnapshotMultiUniqueKey(FromPostgres, BaseSnapshotMultiUniqueKey):
    pass
