"""Whole JVMs are killed; the next one, on the same metastore and files, settles what is left."""

from __future__ import annotations

from tests.faults import deaths
from tests.faults.jvm import KILLED
from tests.faults.plans import PLANS


def test_jvms_are_killed(tmp_path, chance, kills):
    for plan in (*PLANS, ""):
        deaths.run("tests.faults.jvm", tmp_path, plan, chance)
        if plan:
            kills[plan, f"JVM {(tmp_path / KILLED).read_text()}"] += 1
