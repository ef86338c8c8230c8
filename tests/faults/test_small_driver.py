"""Refreshes by changes of half of the rows, with a heap of 1 GB: right rows, or our own error."""

from __future__ import annotations

import pytest

from tests.faults import deaths
from tests.faults.small_driver import SHAPES


@pytest.mark.parametrize("shape", SHAPES)
def test_a_small_driver_applies_large_changes(tmp_path, shape):
    for size in ("half", "few", "half", ""):
        deaths.finish("tests.faults.small_driver", str(tmp_path), shape, size)
