"""Start options of a manager."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


DEFAULT_PORT = 8765


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """How to serve.

    Args:
        home: The folder of warehouse and metastore, unless the confs say otherwise.
        confs: Of the Spark that the manager starts.
        origin: Where the confs come from, for people.
        catalog: Whose tables to keep fresh; None for Spark's current one.
        host: The address of REST and page.
        port: Their port; 0 for a free one.
        names: Further names under which the HTTP server answers, as behind a proxy.
        token: What REST and page ask for; empty to make one up, which only loopback allows.
        connect: Whether to serve Spark Connect, on the same address.
        connect_port: Its port; 0 for a free one.
        log_format: `json` or `console`.
        log_level: As the levels of `logging`, in lower case.
        log_folder: Where what the JVM prints is written.
        tick_seconds: The time between two looks at everything.
        takeover_after_seconds: For how long another manager must be silent before this one
            takes over.
        give_up_after: After how many failures of the same cause in a row a table is suspended; 0
            for never.
        stop_within_seconds: How long running refreshes have to end when the manager is
            stopped.
    """

    home: Path
    log_folder: Path
    confs: Mapping[str, str] = field(default_factory=dict)
    origin: str = ""
    catalog: str | None = None
    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    names: tuple[str, ...] = ()
    token: str = field(default="", repr=False)
    connect: bool = True
    connect_port: int = 0
    log_format: str = "console"
    log_level: str = "info"
    tick_seconds: float = 5.0
    takeover_after_seconds: float = 60.0
    give_up_after: int = 20
    stop_within_seconds: float = 30.0
