"""The tables of TPC-DS as Parquet files, made by DuckDB's generator.

`python -m benchmarks.tpcds_rows <scale> <directory>` runs in an environment of its own: the
extension of DuckDB is for one release of it.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

import duckdb

PACKAGES = ("duckdb==1.5.5", "duckdb-extension-tpcds==1.5.5")


def main() -> int:
    """Write one file a table; the scale is that of the specification, 1 for 1 GB."""
    scale, folder = float(sys.argv[1]), Path(sys.argv[2])
    spec = find_spec("duckdb_extension_tpcds")
    assert spec is not None and spec.origin is not None  # noqa: S101, PT018 - of PACKAGES
    (extension,) = Path(spec.origin).parent.rglob("tpcds.duckdb_extension")
    connection = duckdb.connect(str(folder / "tpcds.duckdb"))
    connection.execute(f"LOAD '{extension}'")
    connection.execute(f"CALL dsdgen(sf = {scale})")
    for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall():
        connection.execute(f"COPY {name} TO '{folder / name}.parquet' (FORMAT parquet)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
