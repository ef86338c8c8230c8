"""Results of queries of the corpora, kept in a file so that a run can continue."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass
from hashlib import sha256
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

STRICT, AUTO = "strict", "auto"
CREATED = (STRICT, AUTO)
REFUSED = "refused"
SPARK_REFUSES = "Spark refuses"
NO_TABLE = "reads no table"
LEFT_OUT = (SPARK_REFUSES, NO_TABLE)
"""Outcomes of queries that are no matter of ours."""
_WRITING = Lock()
COMPUTES_ALL = ("recompute", "")
CREATE = "create"


@dataclass(frozen=True)
class Round:
    """One refresh of a table.

    Args:
        name: What changed the sources: `insert`.
        strategy: How the rows were computed; empty where nothing was.
        rows: How many rows the query returns.
        is_compared: Whether the rows were compared with those of the query.
        is_changed: Whether the query returned other rows than in the round before.
        seconds: How long the query took, and the refresh.
    """

    name: str
    strategy: str
    rows: int
    is_compared: bool = True
    is_changed: bool = False
    seconds: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True)
class Result:
    """What was seen of one query.

    Args:
        query: The name of the query.
        text: Its text.
        seed: The seed of the rows and changes.
        outcome: `strict` or `auto` where its table was created, else why it was not.
        reasons: Codes: why it is not incremental, or the condition of the refusal.
        rounds: The refreshes.
        faults: What must not be: wrong rows, an exception that is not ours.
        seconds: How long it took.
    """

    query: str
    text: str
    seed: int
    outcome: str
    reasons: tuple[str, ...] = ()
    rounds: tuple[Round, ...] = ()
    faults: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def corpus(self) -> str:
        """The corpus of the query."""
        return self.query.partition("/")[0]

    @property
    def is_created(self) -> bool:
        """Whether there was a table."""
        return self.outcome in CREATED

    @property
    def is_incremental(self) -> bool:
        """Whether a refresh computed the change only."""
        return any(each.strategy not in COMPUTES_ALL for each in self.rounds)

    @property
    def is_always_incremental(self) -> bool:
        """Whether no refresh computed all rows; the statement that creates a table does."""
        refreshes = [each for each in self.rounds if each.name != CREATE]
        return self.is_incremental and all(r.strategy != "recompute" for r in refreshes)

    @property
    def is_right(self) -> bool:
        """Whether the table equalled its query each time."""
        return self.is_created and not self.faults and all(r.is_compared for r in self.rounds)


@dataclass(frozen=True)
class Store:
    """Results in a file, one a line.

    Args:
        path: The file.
    """

    path: Path

    def read(self) -> dict[str, Result]:
        """Return the results that are there, by query, with those of other shards."""
        files = sorted(self.path.parent.glob(f"{self.path.name.partition('.')[0]}.*"))
        lines = [line for file in files for line in _lines(file).splitlines()]
        return {found.query: found for found in map(_decoded, lines)}

    def add(self, result: Result) -> None:
        """Keep a result."""
        with _WRITING:
            self._add(result)

    def _add(self, result: Result) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        complete = len(_lines(self.path).encode())
        with self.path.open("a", encoding="utf-8") as file:
            file.truncate(complete)
            file.write(json.dumps(asdict(result)) + "\n")


def _lines(path: Path) -> str:
    """Return the complete lines: an interruption can have cut the last one off."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return text[: text.rfind("\n") + 1]


def _decoded(line: str) -> Result:
    found = json.loads(line)
    rounds = tuple(
        Round(**{**each, "seconds": tuple(each["seconds"])}) for each in found.pop("rounds")
    )
    listed = {name: tuple(found.pop(name)) for name in ("reasons", "faults")}
    return Result(**found, **listed, rounds=rounds)


def fingerprint(files: Mapping[str, bytes]) -> str:
    """Return a text that differs where a file does: results hold for the code that gave them."""
    digest = sha256()
    for name in sorted(files):
        digest.update(f"{name}\n{len(files[name])}\n".encode())
        digest.update(files[name])
    return digest.hexdigest()[:12]


@dataclass(frozen=True)
class Figures:
    """Counts of the queries of one corpus."""

    corpus: str
    queries: int
    created: int
    strict: int
    incremental: int
    always: int
    refreshes: int
    changed: int
    empty: int
    right: int
    undetermined: int
    faulty: int


def figures(results: Iterable[Result]) -> tuple[Figures, ...]:
    """Count results by corpus; queries that Spark refuses or that read no table are left out."""
    by_corpus: dict[str, list[Result]] = {}
    for result in results:
        if result.outcome not in LEFT_OUT:
            by_corpus.setdefault(result.corpus, []).append(result)
    return tuple(
        Figures(
            corpus,
            queries=len(found),
            created=sum(r.is_created for r in found),
            strict=sum(r.outcome == STRICT for r in found),
            incremental=sum(r.is_incremental for r in found),
            always=sum(r.is_always_incremental for r in found),
            refreshes=sum(len(r.rounds) for r in found),
            changed=sum(each.is_changed for r in found for each in r.rounds if each.name != CREATE),
            empty=sum(r.is_created and not any(each.rows for each in r.rounds) for r in found),
            right=sum(r.is_right for r in found),
            undetermined=sum(not all(each.is_compared for each in r.rounds) for r in found),
            faulty=sum(bool(r.faults) for r in found),
        )
        for corpus, found in sorted(by_corpus.items())
    )


def reasons(results: Iterable[Result]) -> Counter[tuple[str, str]]:
    """Count queries by what became of them and the code that says why."""
    return Counter(
        ("not created" if result.outcome == REFUSED else "recomputed", code)
        for result in results
        if result.outcome not in LEFT_OUT
        for code in dict.fromkeys(result.reasons)
    )


HEADER = (
    "corpus",
    "queries",
    "created",
    "accepted by `strict`",
    "incremental",
    "never recomputed",
    "refreshes compared",
    "after other rows",
    "without rows",
    "right",
    "not determined",
    "faulty",
)


def report(results: Iterable[Result]) -> Iterator[str]:
    """Yield lines of Markdown: the counts, and the reasons by code."""
    results = tuple(results)
    yield from _table(
        HEADER,
        (
            (
                f.corpus, f.queries, f.created, f.strict, f.incremental, f.always,
                f.refreshes, f.changed, f.empty, f.right, f.undetermined, f.faulty,
            )
            for f in figures(results)
        ),
    )  # fmt: skip
    counted = sorted(reasons(results).items(), key=lambda item: (-item[1], item[0]))
    if not counted:
        return
    yield ""
    yield from _table(
        ("queries", "outcome", "code"), ((n, what, f"`{code}`") for (what, code), n in counted)
    )


BEGIN, END = "<!-- written by make corpus -->", "<!-- end of corpus -->"


def with_report(page: str, lines: Iterable[str]) -> str:
    """Return a page with the lines of a report between its marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return "\n".join((before + BEGIN, *lines, END + after))


def _table(header: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> Iterator[str]:
    for line in (header, tuple("---" for _ in header), *rows):
        yield f"| {' | '.join(map(str, line))} |"
