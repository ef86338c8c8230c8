"""A hosted table for as long as a variable says, while everything happens to it.

`SOAK_SECONDS` says how long (600), `SOAK_SEED` repeats what happened.
"""

from __future__ import annotations

import os
import secrets
import time
from random import Random

from tests.functional.streams.chaos import Chaos


def test_soak(session, schema):
    assert session.catalog.currentDatabase() == schema
    seconds = float(os.environ.get("SOAK_SECONDS", "600"))
    seed = os.environ.get("SOAK_SEED", str(secrets.randbelow(10**6)))
    print(f"SOAK_SECONDS={seconds:.0f} SOAK_SEED={seed}")  # noqa: T201 - how to repeat it
    chaos = Chaos(session, Random(seed))  # noqa: S311 - for the order, not for secrets
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            chaos.act()
        chaos.check()
    finally:
        chaos.close()
        done = ", ".join(f"{name} {count}" for name, count in sorted(chaos.done.items()))
        print(f"{chaos.done.total()} things: {done}")  # noqa: T201 - the result
