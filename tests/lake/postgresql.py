"""PostgreSQL server of a test run, with an empty database for a Hive Metastore.

`python -m tests.lake.postgresql` exits with 1 where PostgreSQL is not installed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

from tests.support.free_ports import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

USER = "hive"
DATABASE = "metastore"
_DEBIAN = Path("/usr/lib/postgresql")
_HOST = "127.0.0.1"
_STARTS_WITHIN_S = 60
_SETTINGS = {"listen_addresses": _HOST, "unix_socket_directories": "", "fsync": "off"}


@dataclass(frozen=True)
class Database:
    """A running server with an empty database.

    Args:
        port: On the loopback address.
        version: Of the server.
        programs: The directory of its programs.
    """

    port: int
    version: str
    programs: Path

    @property
    def url(self) -> str:
        """Its JDBC URL; it asks for no password."""
        return f"jdbc:postgresql://{_HOST}:{self.port}/{DATABASE}"

    def run(self, statements: str) -> None:
        """Run SQL statements, all or none of them."""
        where = ["-h", _HOST, "-p", str(self.port), "-U", USER, "-d", DATABASE]
        options = ["--quiet", "--no-psqlrc", "-v", "ON_ERROR_STOP=1", "--single-transaction"]
        subprocess.run(  # noqa: S603 - our own command
            [self.programs / "psql", *options, *where], input=statements, check=True, text=True
        )


@contextmanager
def running_database() -> Iterator[Database]:
    """Start a server in a directory of its own, and end it and remove the directory afterwards."""
    programs = postgresql_programs()
    assert programs is not None, "PostgreSQL is not installed: apt-get install postgresql"
    folder = Path(mkdtemp(prefix="lake-postgresql-"))  # a directory of pytest is its user's alone
    owner = _owner(folder)
    options = ["-D", folder / "data", "-U", USER, "-A", "trust", "--no-sync"]
    subprocess.run(  # noqa: S603 - our own command
        [programs / "initdb", *options], check=True, stdout=subprocess.DEVNULL, **owner
    )
    port = free_port()
    settings = [f"--{key}={value}" for key, value in _SETTINGS.items()]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(  # noqa: S603 - as above
            [programs / "postgres", "-D", folder / "data", "-p", str(port), *settings],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            **owner,
        )
    try:
        _create_database(programs, port, server)
        yield Database(port, (folder / "data" / "PG_VERSION").read_text().strip(), programs)
    finally:
        server.terminate()  # no new connections; those of a metastore that was killed end later
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
        shutil.rmtree(folder)


def postgresql_programs() -> Path | None:
    """Return the directory of the newest server that is installed; None without one."""
    found = sorted(_DEBIAN.glob("*/bin"), key=lambda path: float(path.parent.name))
    on_path = shutil.which("initdb")
    return found[-1] if found else Path(on_path).resolve().parent if on_path else None


def _create_database(programs: Path, port: int, server: subprocess.Popen[bytes]) -> None:
    where = ["-h", _HOST, "-p", str(port), "-U", USER]
    until = time.monotonic() + _STARTS_WITHIN_S
    while time.monotonic() < until and server.poll() is None:
        done = subprocess.run(  # noqa: S603 - our own command
            [programs / "createdb", *where, DATABASE], check=False, capture_output=True
        )
        if done.returncode == 0:
            return
        time.sleep(0.2)
    raise RuntimeError("PostgreSQL did not start")  # noqa: TRY003, EM101


def _owner(folder: Path) -> dict[str, Any]:
    """Return who runs the server, as it refuses to run as root: the user that Debian makes."""
    if os.geteuid() != 0:
        return {}
    shutil.chown(folder, "postgres", "postgres")
    return {"user": "postgres", "group": "postgres", "cwd": folder}


if __name__ == "__main__":
    sys.exit(0 if postgresql_programs() else 1)
