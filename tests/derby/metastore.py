"""A Derby server, so that several Sparks of a test can share one metastore.

`python -m tests.derby.metastore` fetches its jars.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.ivy import java, resolved, spark_jars
from tests.support.free_ports import free_port
from tests.support.port_servers import HOST, await_port

if TYPE_CHECKING:
    from collections.abc import Iterator

_MODULE = Path(__file__).with_name("ivy.xml")
_STARTS_WITHIN_S = 60
_CONTROL = "org.apache.derby.drda.NetworkServerControl"


@contextmanager
def shared_metastore(folder: Path) -> Iterator[dict[str, str]]:
    """Run a server; yields the confs by which a Spark uses it, and a warehouse next to it."""
    port = free_port()
    arguments = ["start", "-h", HOST, "-p", str(port), "-noSecurityManager"]
    log_file = folder / "derby-server.log"
    log = log_file.open("wb")
    server = subprocess.Popen(  # noqa: S603 - our own arguments
        [java(), "-Xmx256m", "-XX:+UseSerialGC", "-cp", _class_path(), _CONTROL, *arguments],
        cwd=folder,
        stdout=log,
        stderr=log,
        stdin=subprocess.DEVNULL,
    )
    try:
        await_port(port, server, log_file, _STARTS_WITHIN_S)
        yield _confs(folder, port)
    finally:
        server.terminate()
        server.wait()
        log.close()


def _confs(folder: Path, port: int) -> dict[str, str]:
    (client,) = resolved(_MODULE, "client")
    url = f"jdbc:derby://{HOST}:{port}/{folder / 'shared_metastore'};create=true"
    driver = "org.apache.derby.client.ClientAutoloadedDriver"
    return {
        "spark.driver.extraClassPath": client,
        "spark.hadoop.javax.jdo.option.ConnectionURL": url,
        "spark.hadoop.javax.jdo.option.ConnectionDriverName": driver,
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }


def _class_path() -> str:
    ours = map(str, spark_jars().glob("derby*.jar"))
    return os.pathsep.join([*resolved(_MODULE, "server"), *ours])


def main() -> int:
    """Fetch everything."""
    return 0 if _class_path() and resolved(_MODULE, "client") else 1


if __name__ == "__main__":
    sys.exit(main())
