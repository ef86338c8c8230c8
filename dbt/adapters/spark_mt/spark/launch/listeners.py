"""Addresses at which a Spark driver listens, and who can reach them.

By default Spark listens on the machine's external address, without authentication. Whoever reaches
its ports can fetch the driver's files and run code.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import SparkSession


LOOPBACK = "127.0.0.1"
CONNECT_ADDRESS = "spark.connect.grpc.binding.address"
_HOST = "spark.driver.host"
_BIND = "spark.driver.bindAddress"
_AUTHENTICATE = "spark.authenticate"
_ENCRYPT = "spark.network.crypto.enabled"
_SHUFFLE_SERVICE = "spark.shuffle.service.enabled"
_ADDRESS_VARIABLE = "SPARK_LOCAL_IP"
_NAME_VARIABLE = "SPARK_LOCAL_HOSTNAME"
_LOCAL = re.compile(r"local(\[.*\])?")
_SECRET_OF_SPARK = re.compile(rf"{_LOCAL.pattern}|yarn|k8s://.*")
"""Masters with which Spark makes a secret of each application, and gives it to the executors."""
_CONNECT_SERVICE = "org.apache.spark.sql.connect.service.SparkConnectService$"
_CONNECT_PLUGIN = "SparkConnectPlugin"
_ALL_ADDRESSES = "0.0.0.0"  # noqa: S104 - the default of Spark


@dataclass(frozen=True, slots=True)
class Listener:
    """A port of a driver.

    Args:
        what: What is served there.
        address: Where it listens.
        port: The port.
        protection: What it asks of those who reach it; empty for nothing.
    """

    what: str
    address: str
    port: int
    protection: str = ""

    @property
    def is_open(self) -> bool:
        """Whether others than this machine's users reach it, and are asked for nothing."""
        return not self.protection and not is_loopback(self.address)

    def __str__(self) -> str:
        """The port, for people."""
        reach = "this machine only" if is_loopback(self.address) else "other machines"
        return (
            f"{self.what} on {self.address}:{self.port} "
            f"({reach}, {self.protection or 'no authentication'})"
        )


def is_loopback(address: str) -> bool:
    """Whether only processes of this machine reach an address; other names count as far."""
    if address.lower() == "localhost":
        return True
    try:
        return ip_address(address.strip("[]")).is_loopback
    except ValueError:
        return False


def is_local(master: str) -> bool:
    """Whether the executors of a master run on this machine."""
    return master.startswith("local")


def network_confs(known: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return the confs with which no other machine's users reach a driver unasked.

    A driver whose executors are on this machine listens on loopback, unless the user says where.
    One that others must reach asks for a secret of this start and encrypts, where Spark can give
    the secret to the executors. The daemons of a standalone cluster, and the shuffle service of
    YARN, would have to know it before.

    Args:
        known: The user's confs, with the master.
        environment: The variables of this process.
    """
    master = known.get("spark.master", "local")
    said = [known.get(_BIND), known.get(_HOST)]
    said += [environment.get(_NAME_VARIABLE), environment.get(_ADDRESS_VARIABLE)]
    address = next(filter(None, said), LOOPBACK if is_local(master) else _ALL_ADDRESSES)
    added = {} if any(said) or not is_local(master) else {_HOST: LOOPBACK, _BIND: LOOPBACK}
    has_service = known.get(_SHUFFLE_SERVICE, "").lower() == "true"
    if (
        not is_loopback(address)
        and _AUTHENTICATE not in known
        and _SECRET_OF_SPARK.fullmatch(master)
        and not has_service
    ):
        added |= {_AUTHENTICATE: "true", **({} if _ENCRYPT in known else {_ENCRYPT: "true"})}
    return added


def network_variables(known: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables with which Spark's page is on loopback, where executors are local.

    No conf says where the page listens.
    """
    is_far = not is_local(known.get("spark.master", "local"))
    return {} if is_far or environment.get(_ADDRESS_VARIABLE) else {_ADDRESS_VARIABLE: LOOPBACK}


def listeners(spark: SparkSession) -> tuple[Listener, ...]:
    """Return where the driver of this process listens."""
    context: Any = spark.sparkContext
    jvm: Any = context._jvm  # noqa: SLF001 - no public way to ask
    conf = dict(context.getConf().getAll())
    address = conf.get(_BIND) or conf.get(_HOST, "")
    secret = "a secret of this start" if conf.get(_AUTHENTICATE, "").lower() == "true" else ""
    blocks = int(context._jsc.sc().env().blockManager().blockManagerId().port())  # noqa: SLF001
    found = [
        Listener("Spark's driver (RPC)", address, int(conf["spark.driver.port"]), secret),
        Listener("Spark's block manager", address, blocks, secret),
    ]
    if context.uiWebUrl:
        local = jvm.java.lang.System.getenv(_ADDRESS_VARIABLE) or _ALL_ADDRESSES
        port = int(re.sub(r".*:(\d+).*", r"\1", context.uiWebUrl))
        found.append(Listener("Spark's page", local, port))
    if _CONNECT_PLUGIN in conf.get("spark.plugins", ""):
        service = getattr(getattr(jvm, _CONNECT_SERVICE), "MODULE$")
        port, at = int(service.localPort()), conf.get(CONNECT_ADDRESS, _ALL_ADDRESSES)
        found.append(Listener("Spark Connect", at, port, "a token"))
    return tuple(found)


def exposure(found: Iterable[Listener]) -> str:
    """Return a sentence about what is open to other machines without authentication, if any."""
    open_ones = [f"{each.what} on {each.address}:{each.port}" for each in found if each.is_open]
    if not open_ones:
        return ""
    return (
        f"Other machines reach {', '.join(open_ones)} of this process without authentication: they "
        f"can read the files that it serves, and may run code in it. Set `{_HOST}: {LOOPBACK}` and "
        f"`{_ADDRESS_VARIABLE}={LOOPBACK}` where all executors are on this machine; else "
        f"`{_AUTHENTICATE}: true` with a `{_AUTHENTICATE}.secret` that the cluster knows and "
        f"`{_ENCRYPT}: true`, or keep the network of the cluster to itself."
    )
