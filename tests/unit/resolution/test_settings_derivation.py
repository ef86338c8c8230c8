"""Which settings a definition's mode and freshness come from."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from dbt.adapters.spark_mt.definition.definition import DeclaredDefinition
from dbt.adapters.spark_mt.definition.freshness import Freshness, TimeUnit
from dbt.adapters.spark_mt.definition.modes import LogicalRefreshMode
from dbt.adapters.spark_mt.resolution.settings import Settings, derived_from, is_derived_by

OPEN = DeclaredDefinition("SELECT 1")
TIMED = replace(OPEN, freshness=Freshness(5, TimeUnit.MINUTE))
FULL = replace(OPEN, refresh_mode=LogicalRefreshMode.FULL)
DEFAULTS = Settings()
LOWER = replace(DEFAULTS, freshness_threshold=timedelta(minutes=1))
FASTER = replace(DEFAULTS, default_freshness_continuous=Freshness(1, TimeUnit.MINUTE))
DAILY = replace(DEFAULTS, default_freshness_full=Freshness(1, TimeUnit.DAY))


@pytest.mark.parametrize(
    ("definition", "others"),
    [(OPEN, {"LOWER", "FASTER"}), (TIMED, {"LOWER"}), (FULL, {"DAILY"})],
)
def test_only_settings_that_took_part_derive_something_else(definition, others):
    derived = derived_from(definition, DEFAULTS)
    assert is_derived_by(derived, DEFAULTS)
    changed = {"LOWER": LOWER, "FASTER": FASTER, "DAILY": DAILY}
    assert {n for n, settings in changed.items() if not is_derived_by(derived, settings)} == others
