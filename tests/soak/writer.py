"""A process that changes the sources every few seconds, rests, and repeats both.

`python -m tests.soak.writer <schema folder> <folder of files> <busy s> <rest s> <cycles>`. It
writes Delta without a JVM, so that the measured driver does nothing for it. Two sources are
changed by updates and deletes, the others by appends.
"""

from __future__ import annotations

import json
import random
import sys
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

PAUSE_S = 4.0
_ROWS = 20
_KEYS = 10


def main() -> None:
    """Change every source every `PAUSE_S` seconds while busy."""
    folder, landed = Path(sys.argv[1]), Path(sys.argv[2])
    busy, rest, cycles = float(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5])
    chance, number = random.Random(7), 0  # noqa: S311 - rows, not secrets
    for cycle in range(cycles):
        if cycle:
            time.sleep(rest)
        end = time.monotonic() + busy
        while time.monotonic() < end:
            _round(folder, landed, number, chance)
            number += 1
            time.sleep(max(0.0, min(PAUSE_S, end - time.monotonic())))


def _round(folder: Path, landed: Path, number: int, chance: random.Random) -> None:
    ids = range(number * _ROWS, (number + 1) * _ROWS)
    keys = [chance.randrange(_KEYS) for _ in ids]
    values = [chance.randrange(100) for _ in ids]
    plain = {"id": pa.array(ids, pa.int64()), "k": pa.array(keys, pa.int32())}
    _append(folder / "orders", plain | {"v": pa.array(values, pa.int32())})
    lines = (
        json.dumps({"id": i, "k": k, "v": v}) for i, k, v in zip(ids, keys, values, strict=True)
    )
    temporary = landed / f"_{number:06}.json"  # Spark does not see names that begin so
    temporary.write_text("\n".join(lines), encoding="utf-8")
    temporary.rename(landed / f"{number:06}.json")
    now = datetime.now(tz=timezone.utc)
    times = pa.array([now - timedelta(milliseconds=i) for i in range(_ROWS)], _MICROSECONDS)
    _append(folder / "readings", plain | {"ts": times})
    key = number % _KEYS
    changed = {"price": f"price + {1 + key % 3}"}
    DeltaTable(folder / "products").update(changed, predicate=f"k = {key}")
    if number % 3 == 2:
        DeltaTable(folder / "customers").delete(f"k = {key}")
    else:
        _append(
            folder / "customers",
            {"k": pa.array([key], pa.int32()), "name": pa.array([f"customer {number}"])},
        )


_MICROSECONDS = pa.timestamp("us", tz="UTC")


def _append(path: Path, columns: dict[str, pa.Array]) -> None:
    write_deltalake(path, pa.table(columns), mode="append")


if __name__ == "__main__":
    main()
