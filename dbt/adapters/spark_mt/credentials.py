"""What a profile of `type: spark_mt` says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from dbt.adapters.contracts.connection import Credentials
from dbt_common.dataclass_schema import StrEnum
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.spark_mt.ways import server_url


class ConnectionMethod(StrEnum):
    """How dbt gets at Spark."""

    auto = "auto"
    session = "session"
    connect = "connect"


@dataclass
class SparkMTCredentials(Credentials):
    """A target of the profile; `schema` is all that it needs.

    Args:
        database: The catalog, called `catalog` in the profile.
        schema: Where models go that name no schema of their own.
        method: `session` runs Spark in dbt's own process, `connect` uses a Spark Connect server;
            `auto` uses the Spark of the refresh manager that serves the same warehouse, and runs
            its own if there is none.
        host: Of the Spark Connect server, as a name or as `sc://name`.
        port: Of the Spark Connect server.
        token: What the Spark Connect server asks for, if it does.
        use_ssl: Whether the Spark Connect server speaks TLS.
        server_side_parameters: Spark confs by name, for the Spark that is started or the session
            that is opened.
    """

    _ALIASES: ClassVar[dict[str, str]] = {"catalog": "database"}

    database: str = "spark_catalog"
    schema: str = ""
    method: ConnectionMethod = ConnectionMethod.auto
    host: str | None = None
    port: int = 15002
    token: str | None = None
    use_ssl: bool = False
    server_side_parameters: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the values against each other.

        Raises:
            DbtRuntimeError: The profile cannot work; everything that is wrong with it is named.
        """
        problems = list(self._problems())
        if problems:
            raise DbtRuntimeError("; ".join(problems))
        self.server_side_parameters = {
            str(key): _conf_value(value) for key, value in self.server_side_parameters.items()
        }

    def _problems(self) -> list[str]:
        problems = []
        if not self.schema:
            problems.append("the profile needs `schema`, the schema that models go to")
        if "." in self.schema:
            catalog, _, schema = self.schema.partition(".")
            problems.append(
                f"`schema: {self.schema}` holds a catalog; write `catalog: {catalog}` and "
                f"`schema: {schema}`"
            )
        if self.method == ConnectionMethod.connect and not self.host:
            problems.append("`method: connect` needs `host`, where the Spark Connect server runs")
        return problems

    @classmethod
    def translate_aliases(cls, kwargs: dict[str, Any], recurse: bool = False) -> dict[str, Any]:  # noqa: FBT001, FBT002 - dbt's signature
        """Apply the synonyms of keys; dbt asks for it at every level of a node's config, too.

        That makes it the one place where a model's `freshness` can be rescued: dbt knows the key
        for another purpose and drops every value but `{build_after: ...}` without a word. It is
        kept as `freshness_interval`, rendered and with dbt's own precedence.
        """
        translated: dict[str, Any] = super().translate_aliases(kwargs, recurse)
        asked = translated.get("freshness")
        if not _is_interval(asked):
            return translated
        if translated.get("freshness_interval", asked) != asked:
            raise DbtRuntimeError("freshness and freshness_interval mean the same and differ")  # noqa: EM101, TRY003 - dbt's error class takes a text
        return {**translated, "freshness_interval": asked}

    @property
    def type(self) -> str:
        """The adapter's name in profiles."""
        return "spark_mt"

    @property
    def unique_field(self) -> str:
        """What dbt hashes to tell installations apart."""
        return self.host or self.method.value

    @property
    def connect_url(self) -> str:
        """The Spark Connect URL, with the token in it."""
        return server_url(self.host or "", self.port, self.token, use_ssl=self.use_ssl)

    def _connection_keys(self) -> tuple[str, ...]:
        """What `dbt debug` prints."""
        server = ("host", "port") if self.method == ConnectionMethod.connect else ()
        return ("method", *server, "database", "schema", "server_side_parameters")


def _is_interval(freshness: object) -> bool:
    """Whether it is meant for a materialized table, rather than for the check of a source."""
    if isinstance(freshness, dict):
        return "build_after" in freshness or "count" in freshness
    return freshness is not None


def _conf_value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
