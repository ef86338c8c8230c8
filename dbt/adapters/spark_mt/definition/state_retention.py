"""What becomes of operator state when a query changes (seed 557 STATE_RETENTION)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from dbt.adapters.spark_mt.definition.errors import InvalidValueError
from dbt.adapters.spark_mt.definition.identifier import quote_text


class InvalidStateRetentionError(InvalidValueError):
    """The state retention's keyword and operators do not fit together."""

    condition = "MATERIALIZED_TABLE_INVALID_STATE_RETENTION"
    text = "STATE_RETENTION = {stateRetention} names no operators; only PTF_ONLY does."
    remedy = "Leave the operators out, or write PTF_ONLY('operator', …)."


class StateRetentionType(Enum):
    """The three forms of STATE_RETENTION."""

    ALL = "ALL"
    NONE = "NONE"
    PTF_ONLY = "PTF_ONLY"


@dataclass(frozen=True, slots=True)
class StateRetention:
    """A state retention as written; `operators` only for PTF_ONLY, empty meaning all of them."""

    type: StateRetentionType
    operators: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.operators and self.type is not StateRetentionType.PTF_ONLY:
            raise InvalidStateRetentionError(stateRetention=self.type.value)

    @property
    def sql(self) -> str:
        """The state retention as it stands in a statement."""
        if self.operators:
            return f"{self.type.value}({', '.join(quote_text(o) for o in self.operators)})"
        return self.type.value


KEEP_NONE = StateRetention(StateRetentionType.NONE)
