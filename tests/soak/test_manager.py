"""A manager must be able to run for months: what it uses does not grow.

`SOAK_BUSY_SECONDS` (900) says for how long the sources change, `SOAK_REST_SECONDS` (900) for how
long they rest afterwards, `SOAK_CYCLES` (1) how often both are repeated. The curve is printed, and
written to `.work/soak-manager.csv`, or to `SOAK_CSV`. It needs `jcmd` of a JDK.
"""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

from tests.soak import usage
from tests.soak.managed import Managed

_MOST = 1.05
_FEW_SESSIONS = 5
_FEW = 5
_EARLY_MINUTE = 5.0


def test_manager(tmp_path: Path) -> None:
    assert shutil.which("jcmd"), "install a JDK: what is alive in a JVM is read by its jcmd"
    busy = float(os.environ.get("SOAK_BUSY_SECONDS", "900"))
    rest = float(os.environ.get("SOAK_REST_SECONDS", "900"))
    cycles = int(os.environ.get("SOAK_CYCLES", "1"))
    path = Path(os.environ.get("SOAK_CSV", ".work/soak-manager.csv"))
    managed = Managed.start(tmp_path)
    try:
        managed.create()
        writer = managed.write(busy, rest, cycles)
        try:
            curve = _followed(managed, cycles * (busy + rest), path)
        finally:
            writer.kill()
            assert writer.wait() == 0, "the writer of the sources failed"
    finally:
        managed.stop()
    early = next((each for each in curve if each.minute >= _EARLY_MINUTE), curve[0])
    late = curve[-1]
    assert late is not early, "it needs six minutes at least"
    assert late.sessions <= early.sessions + _FEW_SESSIONS
    assert late.heap_mb <= _MOST * early.heap_mb
    assert late.threads <= _MOST * early.threads + _FEW
    assert late.files <= _MOST * early.files + _FEW


def _followed(managed: Managed, seconds: float, path: Path) -> list[usage.Usage]:
    """Look once a minute."""
    began, curve = time.monotonic(), []
    looks = int(seconds // 60)
    for look in range(looks + 1):
        time.sleep(max(0.0, began + 60 * look - time.monotonic()))
        managed.visit()
        curve.append(usage.usage(managed, (time.monotonic() - began) / 60))
        usage.write(path, curve)
        print(curve[-1], flush=True)  # noqa: T201 - the result
    return curve
