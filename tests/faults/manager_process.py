"""A manager as a process that a test pauses and kills: `python -m … <folder> <confs as JSON>`.

It writes its role into a file whenever that changes.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from dbt.adapters.spark_mt.manager.app import Identity, assemble
from dbt.adapters.spark_mt.manager.reconciler import ManagerPolicy
from dbt.adapters.spark_mt.spark.launch.session import classic_spark

QUICK = ManagerPolicy(tick=500, takeover=8_000)


def main() -> None:
    """Keep tables fresh until killed."""
    folder, confs = Path(sys.argv[1]), json.loads(sys.argv[2])
    spark = classic_spark(confs, folder, folder / "spark.log")
    running = assemble(spark, QUICK, Identity(version="test"))
    running.start()
    role_file, role = folder / "role", ""
    while True:
        now = running.manager.about().role.value
        if now != role:
            role = now
            temporary = role_file.with_suffix(".new")
            temporary.write_text(role)
            temporary.replace(role_file)
        time.sleep(0.1)


if __name__ == "__main__":
    main()
