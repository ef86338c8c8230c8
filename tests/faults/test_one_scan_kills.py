"""Drivers are killed between the steps of the transaction that replaces rows by one scan.

`ONE_SCAN_KILLS` says how often; 200 take more than an hour.
"""

from __future__ import annotations

import os
from itertools import cycle, islice

from tests.faults import deaths
from tests.faults.one_scan import STAGES

_KILLS = int(os.environ.get("ONE_SCAN_KILLS", "8"))


def test_drivers_are_killed_in_the_transaction(tmp_path, chance, kills):
    for stage in (*islice(cycle(STAGES), _KILLS), ""):
        deaths.run("tests.faults.one_scan", tmp_path, stage, chance)
        if stage:
            kills["one scan", f"driver at {stage}"] += 1
