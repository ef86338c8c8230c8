"""Items in the operators of Spark's plan text, and the names of aggregate functions.

A plan is text for people: names are printed without quotes and literals without marks. So an item
is used only if it matches what is known from another source.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_PAIRS = {")": "(", "]": "[", "}": "{"}
_WATERMARK = re.compile(r"(#\d+L?)-T\d+ms\b")
_ATTRIBUTE = re.compile(r"(?P<name>.*)#(?P<id>\d+)L?", re.DOTALL)
_PREFIXED = re.compile(r"[-~!]|NOT ")
_ID = re.compile(r"#(\d+)L?\b")
_MORE = re.compile(r"\.\.\. (\d+) more fields")
_UNNAMED = "?"


@dataclass(frozen=True, slots=True)
class Item:
    """An item of a list.

    Args:
        expression: How it is computed; the attribute itself where it is passed on.
        name: Its name.
        id: Its expression ID in Spark; 0 for one that the plan left out.
    """

    expression: str
    name: str
    id: int

    @property
    def attribute(self) -> int:
        """The attribute that it passes on under its own or another name; 0 if it computes."""
        return attribute_id(self.expression)


def lists_of(detail: str) -> tuple[tuple[str, ...], ...]:
    """Split the lists in brackets of an operator's text; none where they are ambiguous."""
    found: list[list[str]] = []
    open_: list[str] = []
    start = 0
    for place, char in enumerate(detail):
        if char == "[" and not open_:
            found.append([])
            start = place + 1
        ends = char == "," and len(open_) == 1 and open_[0] == "["
        if ends or (char == "]" and open_ == ["["]):
            found[-1].append(detail[start:place].strip())
            start = place + 1
        if char in _PAIRS.values():
            open_.append(char)
        elif char in _PAIRS and (not open_ or open_.pop() != _PAIRS[char]):
            return ()
    return () if open_ else tuple(tuple(items) for items in found)


def items_of(texts: tuple[str, ...]) -> tuple[Item, ...]:
    """Read the items of a list that names results; none where one of them is unclear."""
    items: list[Item] = []
    for text in texts:
        more = _MORE.fullmatch(text)
        if more is not None:
            items += [Item("", _UNNAMED, 0)] * int(more[1])
        elif (item := _item(text)) is not None:
            items.append(item)
        else:
            return ()
    return tuple(items)


def plain(expression: str) -> str:
    """Return an expression without the marks of watermarks."""
    return _WATERMARK.sub(r"\1", expression)


def attribute_id(expression: str) -> int:
    """Return the attribute that an expression is; 0 for any other expression."""
    match = _ATTRIBUTE.fullmatch(expression)
    if match is None or "#" in match["name"] or _PREFIXED.match(match["name"]):
        return 0
    return int(match["id"])


def attribute_name(expression: str) -> str:
    """Return the name of the attribute that an expression is; empty for any other expression."""
    return expression.rpartition("#")[0] if attribute_id(expression) else ""


def ids_in(text: str) -> frozenset[int]:
    """Return every attribute that a text names."""
    return frozenset(int(found) for found in _ID.findall(text))


def names(items: tuple[Item, ...], expected: tuple[str, ...]) -> bool:
    """Return whether items are those of the names, as far as the plan shows them."""
    return len(items) == len(expected) and all(
        item.id == 0 or item.name == name for item, name in zip(items, expected, strict=True)
    )


def _item(text: str) -> Item | None:
    text = plain(text)
    expression, as_, alias = text.rpartition(" AS ")
    match = _ATTRIBUTE.fullmatch(alias)
    if match is None:
        return None
    return Item(expression if as_ else text, match["name"], int(match["id"]))
