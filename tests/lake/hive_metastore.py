"""Hive Metastore as a process of its own, on PostgreSQL, and the confs of a Spark that uses it.

The classes are those that PySpark brings. `python -m tests.lake.hive_metastore` fetches the JDBC
driver.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape
from zipfile import ZipFile

from tests.ivy import java, resolved, spark_jars
from tests.lake.postgresql import USER, running_database
from tests.support.free_ports import free_port
from tests.support.port_servers import HOST, PortServer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.lake.postgresql import Database

_MODULE = Path(__file__).with_name("ivy.xml")
_HADOOP = "spark.hadoop."
_STARTS_WITHIN_S = 120
_SERVICE = "org.apache.hadoop.hive.metastore.HiveMetaStore"
_SCHEMA_TOOL = "org.datanucleus.store.schema.SchemaTool"
_LOCK_TABLES = """
CREATE TABLE txns (txn_id bigint PRIMARY KEY, txn_state char(1) NOT NULL,
  txn_started bigint NOT NULL, txn_last_heartbeat bigint NOT NULL, txn_user varchar(128) NOT NULL,
  txn_host varchar(128) NOT NULL, txn_agent_info varchar(128), txn_meta_info varchar(128),
  txn_heartbeat_count integer);
CREATE TABLE hive_locks (hl_lock_ext_id bigint NOT NULL, hl_lock_int_id bigint NOT NULL,
  hl_txnid bigint, hl_db varchar(128) NOT NULL, hl_table varchar(128), hl_partition varchar(767),
  hl_lock_state char(1) NOT NULL, hl_lock_type char(1) NOT NULL, hl_last_heartbeat bigint NOT NULL,
  hl_acquired_at bigint, hl_user varchar(128) NOT NULL, hl_host varchar(128) NOT NULL,
  hl_heartbeat_count integer, hl_agent_info varchar(128), hl_blockedby_ext_id bigint,
  hl_blockedby_int_id bigint, PRIMARY KEY (hl_lock_ext_id, hl_lock_int_id));
CREATE TABLE next_lock_id (nl_next bigint NOT NULL);
INSERT INTO next_lock_id VALUES (1);
CREATE TABLE aux_table (mt_key1 varchar(128) NOT NULL, mt_key2 bigint NOT NULL,
  mt_comment varchar(255), PRIMARY KEY (mt_key1, mt_key2));
"""
"""Tables of locks. Hive uses SQL for them, so DataNucleus does not know them. Iceberg locks a table
while it commits."""
_LONG_VALUES = 'ALTER TABLE "TABLE_PARAMS" ALTER COLUMN "PARAM_VALUE" TYPE text;'
"""As Hive's own scripts have it since 2.3 (HIVE-12274)."""
_OPTIONS = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


class HiveMetastore:
    """A metastore that can be stopped and started again on the same port.

    Args:
        folder: Where its configuration and its log are, and the warehouse unless the confs of
            Spark have another one.
        database: Keeps its tables.
        confs: Confs of Spark by which it finds the file system of the warehouse.
        port: Where it answers; a free port by default.
    """

    def __init__(
        self,
        folder: Path,
        database: Database,
        confs: Mapping[str, str],
        port: int | None = None,
    ) -> None:
        self._folder = folder
        self.database = database
        self._confs = confs
        port = free_port() if port is None else port
        self._server = PortServer(port, folder / "metastore.log", _STARTS_WITHIN_S)
        self.warehouse = folder / "warehouse"
        (folder / "conf").mkdir()
        _write_xml(folder / "conf" / "hive-site.xml", self._settings())
        self._make_tables()

    @property
    def confs(self) -> dict[str, str]:
        """The confs of a Spark whose catalog it is."""
        return {
            "spark.sql.warehouse.dir": str(self.warehouse),
            **self._confs,
            "spark.hadoop.hive.metastore.uris": f"thrift://{HOST}:{self._server.port}",
        }

    def start(self) -> None:
        """Start it, and wait until it accepts connections."""
        self._server.start([*self._java(), _SERVICE, "-p", str(self._server.port)])

    def kill(self) -> None:
        """End it at once, with every connection that it has."""
        self._server.kill()

    def _settings(self) -> dict[str, str]:
        of_files = {
            key.removeprefix(_HADOOP): value
            for key, value in self._confs.items()
            if key.startswith(_HADOOP)
        }
        return {
            **of_files,
            "javax.jdo.option.ConnectionURL": self.database.url,
            "javax.jdo.option.ConnectionDriverName": "org.postgresql.Driver",
            "javax.jdo.option.ConnectionUserName": USER,
            "hive.metastore.warehouse.dir": self.confs["spark.sql.warehouse.dir"],
            # Iceberg's documents ask for it: columns may be replaced by others.
            "hive.metastore.disallow.incompatible.col.type.changes": "false",
            # PySpark lacks three things: Hive's scripts, which note the version of the tables,
            "hive.metastore.schema.verification": "false",
            "datanucleus.schema.autoCreateTables": "true",
            # BoneCP and LMAX Disruptor.
            "datanucleus.connectionPoolingType": "dbcp",
            "hive.async.log.enabled": "false",
        }

    def _make_tables(self) -> None:
        """Create all tables of the metastore at once.

        Tables that it creates at their first use wait for its own open transactions.
        """
        (metadata,) = spark_jars().glob("hive-metastore-*.jar")
        with ZipFile(metadata) as jar:
            jar.extract("package.jdo", self._folder)
        properties = {
            "javax.jdo.PersistenceManagerFactoryClass": "org.datanucleus.api.jdo."
            "JDOPersistenceManagerFactory",
            "datanucleus.ConnectionURL": self.database.url,
            "datanucleus.ConnectionDriverName": "org.postgresql.Driver",
            "datanucleus.ConnectionUserName": USER,
            "datanucleus.connectionPoolingType": "none",
            "datanucleus.identifierFactory": "datanucleus1",  # as Hive
        }
        file = self._folder / "datanucleus.properties"
        file.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
        options = ["-create", "-api", "JDO", "-props", str(file), "package.jdo"]
        subprocess.run(  # noqa: S603 - our own command
            [*self._java(), _SCHEMA_TOOL, *options],
            cwd=self._folder,
            check=True,
            capture_output=True,
        )
        self.database.run(_LOCK_TABLES + _LONG_VALUES)

    def _java(self) -> list[str]:
        own = self._confs.get("spark.driver.extraClassPath", "")
        jars = [str(self._folder / "conf"), str(spark_jars() / "*"), *metastore_jars(), own]
        return [java(), *_OPTIONS, f"-Djava.io.tmpdir={self._folder}", "-cp", os.pathsep.join(jars)]


@contextmanager
def running_metastore(
    folder: Path, confs: Mapping[str, str] | None = None, port: int | None = None
) -> Iterator[HiveMetastore]:
    """Start a metastore and its database, and end both afterwards; as `HiveMetastore`."""
    with running_database() as database:
        metastore = HiveMetastore(folder, database, confs or {}, port)
        try:
            metastore.start()
            yield metastore
        finally:
            metastore.kill()


def metastore_jars() -> tuple[str, ...]:
    """The jars that PySpark does not bring."""
    return resolved(_MODULE, "metastore")


def _write_xml(path: Path, settings: Mapping[str, str]) -> None:
    lines = [
        f"<property><name>{key}</name><value>{escape(value)}</value></property>"
        for key, value in settings.items()
    ]
    path.write_text("\n".join(["<configuration>", *lines, "</configuration>"]))


if __name__ == "__main__":
    sys.exit(0 if metastore_jars() else 1)
