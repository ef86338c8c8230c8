"""Examples of the design documents as data: tests run them, docs/conformance.md lists them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    _F = TypeVar("_F", bound=Callable[..., None])

IN_MEMORY = "tests/unit/flips/test_journeys.py"
TEXTS = "tests/unit/flips/test_texts.py"
ON_SPARK = "tests/functional/engine/test_journeys.py"


class ConformanceRow(NamedTuple):
    """A row of the page.

    Args:
        flip: The number of the design document.
        section: Its section, by number or heading.
        what: What a user does.
        test: Where it is tested; empty where it is not.
        differs: Where this project differs on purpose, and why; empty where it does not.
        spark: Whether the test runs on Spark and Delta too.
    """

    flip: int
    section: str
    what: str
    test: str
    differs: str = ""
    spark: bool = False


@dataclass(frozen=True)
class Journey:
    """The section and the example that a test function is about.

    Args:
        memory: Whether it runs in memory.
        spark: Whether it runs on Spark.
    """

    section: str
    what: str
    differs: str
    memory: bool
    spark: bool


def journey(
    section: str, what: str, differs: str = "", *, memory: bool = True, spark: bool = False
) -> Callable[[_F], _F]:
    """Mark a method of a FLIP's class as the test of an example in a section.

    Args:
        section: The section, by number or heading.
        what: What a user does.
        differs: Where we differ, and why.
        memory: Whether it runs in memory.
        spark: Whether it runs on Spark too.
    """

    def mark(test: _F) -> _F:
        test.journey = Journey(section, what, differs, memory, spark)  # type: ignore[attr-defined]
        return test

    return mark


def only(flip: type, where: str) -> type:
    """A test class with those journeys of a FLIP that run in memory, or on Spark.

    Args:
        flip: The FLIP's class.
        where: `memory` or `spark`.
    """
    hidden = {name: None for name, j in journeys(flip) if not getattr(j, where)}
    return type(f"Test{flip.__name__}", (flip,), {"__doc__": flip.__doc__, **hidden})


def journeys(flip: type) -> Iterator[tuple[str, Journey]]:
    """The test methods of a FLIP's class in the order of its text, each with its example."""
    for name, test in vars(flip).items():
        if name.startswith("test_"):
            yield name, test.journey


def rows(flip: type) -> Iterator[ConformanceRow]:
    """The rows of the page for a FLIP's journeys."""
    number = int(flip.__name__[len("Seed") :][:3])
    for name, j in journeys(flip):
        file = IN_MEMORY if j.memory else ON_SPARK
        test = f"{file}::Test{flip.__name__}::{name}"
        yield ConformanceRow(number, j.section, j.what, test, j.differs, j.spark)
