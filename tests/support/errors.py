"""Errors that tests expect, by condition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.errors import Condition, MaterializedTableError


def raises(
    expected: Condition[Any] | type[MaterializedTableError], match: str | None = None
) -> pytest.RaisesExc[MaterializedTableError]:
    """Expect an error of a condition, or of a class."""
    if isinstance(expected, type):
        return pytest.raises(expected, match=match)
    return pytest.raises(expected.error, match=match, check=lambda error: error.kind is expected)
