"""A real Kafka broker for tests: one Java process in KRaft mode on free ports."""

from __future__ import annotations

import socket
import subprocess
import time
import uuid
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from tests.kafka.jars import broker_class_path, java
from tests.support.free_ports import free_ports

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_PATIENCE_S = 60.0
_PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={data}
num.partitions=2
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
log.retention.check.interval.ms=1000
log.segment.delete.delay.ms=0
"""


@contextmanager
def running_broker(home: Path) -> Iterator[str]:
    """Run a broker; topics that are named for the first time are made, with two partitions.

    Args:
        home: An empty directory for its data and its log.

    Yields:
        `kafka.bootstrap.servers`.
    """
    port, controller = free_ports(2)
    properties = home / "server.properties"
    properties.write_text(
        _PROPERTIES.format(port=port, controller=controller, data=home / "data"), encoding="utf-8"
    )
    cluster = uuid.uuid4().hex[:22]
    format_ = ("kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(properties))
    subprocess.run(_java(*format_), check=True, capture_output=True)  # noqa: S603 - our own
    log = home / "broker.log"
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 - our own arguments
            _java("kafka.Kafka", str(properties)), stdout=output, stderr=subprocess.STDOUT
        )
    try:
        _wait_until_ready(process, port, log)
        yield f"127.0.0.1:{port}"
    finally:
        process.kill()  # its data is thrown away: nothing to shut down in order
        process.wait()


def _java(*arguments: str) -> list[str]:
    options = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
    return [java(), *options, "-cp", broker_class_path(), *arguments]


def _wait_until_ready(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    end = time.monotonic() + _PATIENCE_S
    while time.monotonic() < end and process.poll() is None:
        with closing(socket.socket()) as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise RuntimeError(f"Kafka did not start:\n{log.read_text(encoding='utf-8')[-4000:]}")  # noqa: TRY003, EM102
