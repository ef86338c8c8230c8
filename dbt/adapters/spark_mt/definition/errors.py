"""The root of every error that a user can see.

One class per condition: the class has the texts, an instance has the facts. Callers and tests read
`condition` and `parameters`, never the wording.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


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

    def name_table(self, table: str) -> None:
        """Say which table the error is about, unless it knows.

        What is found deep down, in a query or in a source, learns it from the statement.
        """
        if "table" not in self.parameters:
            self.parameters["table"] = table
            self.args = (self._render(),)

    def _render(self) -> str:
        silent = "table" in self.parameters and "{table}" not in self.text
        table = f"Materialized table {self.parameters['table']}: " if silent else ""
        lines = [f"[{self.condition}] {table}{self.text.format_map(self.parameters)}"]
        lines += [f"  - {violation}" for violation in self.violations]
        if self.remedy:
            lines.append(self.remedy.format_map(self.parameters))
        return "\n".join(lines)


@contextmanager
def about(table: object) -> Iterator[None]:
    """Name the table in every error of the block that does not.

    Args:
        table: Its name, as the user wrote it or in full.

    Raises:
        MaterializedTableError: The error of the block.
    """
    try:
        yield
    except MaterializedTableError as error:
        error.name_table(str(table))
        raise


class InvalidValueError(MaterializedTableError, ValueError):
    """A config, setting or clause holds a value that is never valid, whatever the table.

    It is one violation among others in the error of the config, settings or statement.
    """

    condition = "MATERIALIZED_TABLE_INVALID_VALUE"
    text = "{detail}"
