"""Problems of errors as parts of sentences."""

from __future__ import annotations

import re

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import BaselineBrokenError, MaterializedTableError

_STACKS = ("_stackTrace", "_stacktrace")
"""Where exceptions of PySpark keep the stack of the JVM: in this process, and over Connect."""
_SYSTEM_PROBLEMS = re.compile(
    "No space left on device|Disk quota exceeded|Read-only file system|Too many open files|"
    "Input/output error|Stale file handle|Permission denied|Cannot allocate memory"
)
_CAUSES = {
    conditions.SOURCE_REWRITTEN: (
        "rows of {source} were removed or changed after {after}, and {why}"
    ),
    conditions.SOURCE_HISTORY_GONE: "what happened to {source} after {after} can no longer be read",
    conditions.SOURCE_TYPES_CHANGED: "{changes} since {after}",
    conditions.SOURCE_RECREATED: "{source} was dropped and created again",
    conditions.POSITIONS_LOST: "up to where its rows reflect {source} is not known any more",
}


def problem_of(error: BaseException) -> str:
    """Return the text of `error`; of an error of another library the first line only.

    What the operating system said is added: it is often the innermost of many causes.
    """
    if isinstance(error, MaterializedTableError):
        return str(error.args[0])
    text = str(error).strip()
    if hasattr(error, "java_exception"):  # py4j's: which call failed, and then what was thrown
        text = text.partition("\n: ")[2] or text
    line = text.partition("\n")[0] or type(error).__name__
    stacks = (getattr(error, name, None) for name in _STACKS)
    return with_system_problem(line, text, *(str(stack or "") for stack in stacks))


def with_system_problem(message: str, *texts: str) -> str:
    """Add to a message what the operating system said, by texts that have the causes."""
    for text in texts:
        found = _SYSTEM_PROBLEMS.search(text)
        if found is not None and found[0] not in message:
            return f"{message.rstrip('.')} ({found[0]})"
    return message


def cause_of_suspension(error: BaselineBrokenError) -> str:
    """Return why a table is suspended, as part of a sentence."""
    return _CAUSES.get(error.kind, "{problem}").format_map(error.parameters)
