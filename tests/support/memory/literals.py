"""SQL literals of REFRESH PARTITION and of scheduled runs, as Python values."""

from __future__ import annotations

import ast
import re
from datetime import date
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


_TEXT = re.compile(r"(?:DATE\s*)?('(?:[^'\\]|\\.)*')", re.IGNORECASE | re.DOTALL)


def literal_value(literal: str, type_: str) -> object:
    """Return the value of a literal, cast to a type.

    Args:
        literal: A number, a text in quotes, or DATE and a text in quotes.
        type_: Spark DDL.

    Raises:
        ValueError: It has no value of that type.
    """
    match = _TEXT.fullmatch(literal)
    text = str(ast.literal_eval(match[1])) if match else literal
    cast = _CASTS.get(type_.partition("(")[0].upper())
    if cast is None:
        raise ValueError(type_)
    return cast(text)


_CASTS: dict[str, Callable[[str], object]] = {
    "STRING": str,
    "VARCHAR": str,
    "CHAR": str,
    "TINYINT": int,
    "SMALLINT": int,
    "INT": int,
    "BIGINT": int,
    "DATE": date.fromisoformat,
}
