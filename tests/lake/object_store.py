"""S3 in a process of its own, and the confs by which a Spark keeps tables there.

`python -m tests.lake.object_store` fetches the jars.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote
from urllib.request import Request, urlopen
from xml.sax.saxutils import unescape

from tests.ivy import resolved

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
BUCKET = "lake"
_MODULE = Path(__file__).with_name("ivy.xml")
_PYTHON = ROOT / ".work" / "lake" / "bin" / "python"


@dataclass(frozen=True)
class ObjectStore:
    """A running S3 server with one bucket.

    Args:
        endpoint: Its address.
    """

    endpoint: str

    def confs(self, folder: str) -> dict[str, str]:
        """The confs of a Spark whose warehouse, and with it the checkpoints, is in the bucket."""
        jars = os.pathsep.join(s3_jars())
        return {
            "spark.driver.extraClassPath": jars,
            "spark.executor.extraClassPath": jars,
            "spark.sql.warehouse.dir": f"s3a://{BUCKET}/{folder}",
            "spark.hadoop.fs.s3a.endpoint": self.endpoint,
            "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
            "spark.hadoop.fs.s3a.path.style.access": "true",
            "spark.hadoop.fs.s3a.access.key": "lake",
            "spark.hadoop.fs.s3a.secret.key": "lake",
        }

    def folder(self, name: str) -> Folder:
        """A folder of the bucket."""
        return Folder(self, name)

    def keys(self, prefix: str) -> list[str]:
        """The keys that begin so; at most a thousand."""
        answer = self._call(f"{BUCKET}?list-type=2&prefix={quote(prefix)}").decode()
        return [unescape(key) for key in re.findall("<Key>(.*?)</Key>", answer)]

    def requests(self) -> list[tuple[str, str]]:
        """The requests since the last call: kind and key."""
        return [(kind, key) for kind, key in json.loads(self._call("--control/requests"))]

    def counted(self) -> Counter[str]:
        """The requests since the last call, by kind."""
        return Counter(kind for kind, _ in self.requests())

    def hold_commits(self, seconds: float) -> None:
        """Let the PUT of each commit wait, from now on."""
        self._call(f"--control/hold?seconds={seconds}")

    def _call(self, path: str, method: str = "GET") -> bytes:
        request = Request(f"{self.endpoint}/{path}", method=method)  # noqa: S310 - ours
        with urlopen(request, timeout=30) as answer:  # noqa: S310
            return bytes(answer.read())


@dataclass(frozen=True)
class Folder:
    """A folder of a bucket, as far as the checks of tests look into one."""

    store: ObjectStore
    path: str

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.path.rpartition("/")[2]

    def __truediv__(self, name: str) -> Folder:
        return Folder(self.store, f"{self.path}/{name}")

    def iterdir(self) -> list[Folder]:
        """What it holds; its own mark, which S3A keeps where it is empty, is none of it."""
        inner = (key.removeprefix(f"{self.path}/") for key in self.store.keys(f"{self.path}/"))
        return [
            self / name for name in dict.fromkeys(key.partition("/")[0] for key in inner if key)
        ]


@contextmanager
def running_store() -> Iterator[ObjectStore]:
    """Start a server with an empty bucket, and end it afterwards."""
    process = subprocess.Popen(  # noqa: S603 - our own command
        [_PYTHON, Path(__file__).with_name("s3_server.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        words = process.stdout.readline().decode().split()
        assert words[:1] == ["serving"], words
        store = ObjectStore(f"http://127.0.0.1:{words[1]}")
        store._call(BUCKET, "PUT")
        yield store
    finally:
        process.communicate()  # closes its standard input and waits


def s3_jars() -> tuple[str, ...]:
    """The jars of Hadoop's S3 file system."""
    return resolved(_MODULE, "s3")


if __name__ == "__main__":
    sys.exit(0 if s3_jars() else 1)
