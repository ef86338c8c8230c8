"""The pinned versions: one of each package for each Python that the project is for."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PINS = Path(__file__).parents[3] / "constraints.txt"
REQUIREMENTS = [Requirement(line) for line in PINS.read_text("utf-8").splitlines() if line]


@pytest.mark.parametrize("version", ["3.10", "3.11", "3.12", "3.13"])
def test_a_package_has_one_version_for_each_python(version):
    here = {"python_version": version, "python_full_version": f"{version}.0"}
    used = [each for each in REQUIREMENTS if each.marker is None or each.marker.evaluate(here)]
    names = Counter(canonicalize_name(each.name) for each in used)
    assert [name for name, times in names.items() if times > 1] == []
    assert {str(each.specifier)[:2] for each in used} == {"=="}
    assert {"pyarrow", "numpy", "pyspark", "dbt-core"} <= set(names)
