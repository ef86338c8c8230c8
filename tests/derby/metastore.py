"""A Derby server, so that several Sparks of a test can share one metastore.

`python -m tests.derby.metastore` fetches its jars.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.ivy import java, resolved, spark_jars
from tests.support.free_ports import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

_MODULE = Path(__file__).with_name("ivy.xml")
_CONTROL = "org.apache.derby.drda.NetworkServerControl"


@contextmanager
def shared_metastore(folder: Path) -> Iterator[dict[str, str]]:
    """Run a server; yields the confs by which a Spark uses it, and a warehouse next to it."""
    port = free_port()
    arguments = ["start", "-h", "localhost", "-p", str(port), "-noSecurityManager"]
    log = (folder / "derby-server.log").open("wb")
    server = subprocess.Popen(  # noqa: S603 - our own arguments
        [java(), "-Xmx256m", "-XX:+UseSerialGC", "-cp", _class_path(), _CONTROL, *arguments],
        cwd=folder,
        stdout=log,
        stderr=log,
        stdin=subprocess.DEVNULL,
    )
    try:
        _wait_for(port, server)
        yield _confs(folder, port)
    finally:
        server.terminate()
        server.wait()
        log.close()


def _confs(folder: Path, port: int) -> dict[str, str]:
    (client,) = resolved(_MODULE, "client")
    url = f"jdbc:derby://localhost:{port}/{folder / 'shared_metastore'};create=true"
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


def _wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until and server.poll() is None:
        if _answers(port):
            return
        time.sleep(0.1)
    raise RuntimeError("the Derby server did not start")  # noqa: TRY003, EM101


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("localhost", port), 1).close()
    except OSError:
        return False
    return True


def main() -> int:
    """Fetch everything."""
    return 0 if _class_path() and resolved(_MODULE, "client") else 1


if __name__ == "__main__":
    sys.exit(main())
