"""Where a step of a plan stands to the plan's commit point."""

from __future__ import annotations

from enum import Enum


class Phase(Enum):
    """Where a step stands to the commit point, and so what its failure means."""

    BEFORE = "nothing has changed; the step is undone where it left something behind"
    COMMIT = "happens whole or not at all"
    AFTER = "the new definition is in force; the next statement finishes the rest"
