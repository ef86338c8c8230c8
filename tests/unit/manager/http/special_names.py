"""Tables whose names and texts are made to break a page."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tests.unit.manager.samples import CATALOG, full_name, sample_tables

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.manager.views import TableDetails

SCRIPT = "<script>document.title='broken'</script>"
QUOTES = 'it\'s "quoted" & `ticked`'
LONG = "a_name_without_any_place_to_break_" * 6
LOOP = ("ring_a", "ring_b", "ring_c")


def _like_the_first(name: str, **changes: object) -> TableDetails:
    first = sample_tables()[0]
    view = replace(first.view, name=name, **changes)
    return replace(first, view=view, statement=f"-- {SCRIPT}\n{first.statement}")


def tables_with_special_names() -> tuple[TableDetails, ...]:
    """Markup, quotes, dots, length and a ring of names; failures of 2,000 characters."""
    failing = {"failures": 2, "problem": f"{SCRIPT} {QUOTES} " + "x" * 2_000}
    ring = zip(LOOP, (*LOOP[1:], LOOP[0]), strict=True)
    return (
        _like_the_first(full_name(SCRIPT), reads=(f"kafka: {SCRIPT}",), **failing),
        _like_the_first(full_name(QUOTES), reason=SCRIPT, status_reason=SCRIPT),
        _like_the_first(full_name(LONG), reads=(full_name(SCRIPT),)),
        _like_the_first(full_name("dots.in.it?and=query#hash/slash 100%")),
        _like_the_first(full_name("ein_Übermaß_表"), activity=SCRIPT),
        _like_the_first(f"other_{CATALOG}.s.t", reads=(f"other_{CATALOG}.s.t",)),
        *(_like_the_first(full_name(one), reads=(full_name(other),)) for one, other in ring),
    )
