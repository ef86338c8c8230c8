"""The root of every error that a user can see.

One class per condition: the class holds the texts, an instance holds the facts. Callers and tests
look at `condition` and `parameters`, never at the wording.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Sequence


class MaterializedTableError(Exception):
    """An operation on a materialized table cannot be done.

    Subclasses set `condition`, `text` (what happened, on which table) and `remedy` (what to do and
    what it costs); both texts are `str.format` templates over the parameters.

    Args:
        violations: Every single reason, where there are several.
        parameters: The facts that the texts name, by name.
    """

    condition: ClassVar[str] = "MATERIALIZED_TABLE_ERROR"
    text: ClassVar[str] = "{detail}"
    remedy: ClassVar[str] = ""

    def __init__(self, *, violations: Sequence[str] = (), **parameters: object) -> None:
        self.parameters = {name: str(value) for name, value in parameters.items()}
        self.violations = tuple(violations)
        super().__init__(self._render())

    def _render(self) -> str:
        lines = [f"[{self.condition}] {self.text.format_map(self.parameters)}"]
        lines += [f"  - {violation}" for violation in self.violations]
        if self.remedy:
            lines.append(self.remedy.format_map(self.parameters))
        return "\n".join(lines)


class InvalidValueError(MaterializedTableError, ValueError):
    """A clause or config holds a value that is never valid, whatever the table."""

    condition = "MATERIALIZED_TABLE_INVALID_VALUE"
    text = "{detail}"
