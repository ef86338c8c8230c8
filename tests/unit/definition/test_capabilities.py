from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.capabilities import lacking, wants_strict_fence
from dbt.adapters.spark_mt.definition.table_format import Capability
from tests.support.memory.table_format import FORMAT


def test_an_error_names_table_format_feature_and_what_to_do():
    error = lacking("c.s.t", FORMAT, Capability.NOT_NULL, " (`k`)")
    assert error.kind is conditions.FORMAT_FEATURE
    assert error.parameters["table"] == "c.s.t"
    assert error.parameters["format"] == FORMAT.title
    assert error.parameters["feature"] == "NOT NULL (`k`)"
    assert "refresh manager" in error.parameters["alternative"]


@pytest.mark.parametrize(
    ("options", "wanted"),
    [({}, False), ({"strict-fence": "TRUE"}, True), ({"strict-fence": "false"}, False)],
)
def test_a_strict_fence_is_asked_for_by_an_option(options, wanted):
    assert wants_strict_fence(options) is wanted
