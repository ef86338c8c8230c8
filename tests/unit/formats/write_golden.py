"""Write the golden text of each sample that has none yet; those that are there stay for ever.

.venv/bin/python -m tests.unit.formats.write_golden
"""

from __future__ import annotations

import json
import tempfile
import zlib
from pathlib import Path
from typing import Any

from dbt.adapters.spark_mt.client import discovery
from dbt.adapters.spark_mt.definition.codec import encode_definition
from dbt.adapters.spark_mt.definition.commit_metadata import encode_commit
from dbt.adapters.spark_mt.definition.job import JsonRefreshHandlerSerializer
from dbt.adapters.spark_mt.execution import table_format
from dbt.adapters.spark_mt.planning import properties
from dbt.adapters.spark_mt.spark.formats.delta import FORMAT
from dbt.adapters.spark_mt.spark.registry import leases, registry, system_table
from dbt.adapters.spark_mt.spark.streams import batches
from tests.unit.formats import samples

GOLDEN = Path(__file__).parent / "golden"


def definitions() -> dict[str, Any]:
    texts = {name: encode_definition(value) for name, value in samples.DEFINITIONS.items()}
    return {
        name: {"text": text, "document": json.loads(zlib.decompress(bytes.fromhex(text)))}
        for name, text in texts.items()
    }


def texts() -> dict[str, dict[str, Any]]:
    serializer = JsonRefreshHandlerSerializer()
    with tempfile.TemporaryDirectory() as directory:
        found = {}
        for name, manager in samples.MANAGERS.items():
            path = Path(directory) / "file"
            discovery.write(path, manager)
            found[name] = path.read_text(encoding="utf-8")
    return {
        "definitions": definitions(),
        "commits": {name: encode_commit(value) for name, value in samples.COMMITS.items()},
        "handlers": {n: serializer.serialize(h).decode() for n, h in samples.HANDLERS.items()},
        "workflows": {name: h.encode().decode() for name, h in samples.WORKFLOWS.items()},
        "tables": {
            name: registry.table_row(step, samples.RECORDED_AT_MS)
            for name, step in samples.REGISTERED.items()
        },
        "jobs": {name: registry.job_row(job) for name, job in samples.JOBS.items()},
        "leases": {name: leases.lease_row(lease) for name, lease in samples.LEASES.items()},
        "properties": {
            name: properties.properties_of(samples.DEFINITIONS[name], FORMAT)
            for name in ("simple", "everything", "as created")
        },
        "managers": found,
        "names": {
            "table's fence": table_format.FENCE,
            "managers' fence": leases.FENCE,
            "properties": [properties.DEFINITION, properties.VERSION, FORMAT.identity_property],
            "registry": [system_table.SCHEMA, system_table.TABLE, system_table.VIEW],
            "registry's columns": system_table.COLUMNS,
            "leases": [system_table.SCHEMA, leases.LAYOUT.table],
            "leases' columns": leases.LAYOUT.columns,
            "heartbeat": leases.heartbeat(samples.LEASES["held"]),
            "manager's file": discovery.FILE,
            "checkpoints": [batches._DIRECTORY, batches.PASSING],
        },
    }


def main() -> None:
    GOLDEN.mkdir(exist_ok=True)
    for name, written in texts().items():
        path = GOLDEN / f"{name}.json"
        known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        text = json.dumps({**written, **known}, indent=1, ensure_ascii=False)
        path.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
