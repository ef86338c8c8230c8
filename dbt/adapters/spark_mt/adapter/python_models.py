"""Python models, run in dbt's process in the session of the dbt connection.

dbt passes the model's file with its own helpers below it (`dbtObj`, `ref`, `config` …) and one line
that calls the model. The result of that line becomes a temporary view. From there on, the same SQL
writes a Python model as any other model. What a model prints becomes lines of dbt's log.
"""

from __future__ import annotations

import linecache
import sys
import traceback
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock, local
from types import ModuleType
from typing import TYPE_CHECKING, Any, TextIO

from dbt_common.events.functions import fire_event
from dbt_common.events.types import Note
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.spark_mt.adapter import python_frames
from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError, UnsupportedFrameError
from dbt.adapters.spark_mt.handle import logger, one_line
from dbt.adapters.spark_mt.spark.session.errors import failure_of, is_spark_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import CodeType

    from pyspark.sql import SparkSession


_lock = Lock()
_NOT_SHOWN = frozenset({"pyspark", "py4j", "spark_mt"})


class _Lines:
    """Takes text in pieces and gives it out in lines."""

    def __init__(self, emit: Callable[[str], None]) -> None:
        self._emit = emit
        self._rest = ""

    def write(self, text: str) -> None:
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            self._emit(line)

    def close(self) -> None:
        if self._rest:
            self.write("\n")


class _Router:
    """Replacement of the standard output, with lines by thread.

    There is one standard output for all models that run at the same time, and for dbt.
    """

    def __init__(self, stdout: TextIO) -> None:
        self.stdout = stdout
        self.users = 0
        self.by_thread = local()

    def write(self, text: str) -> int:
        lines = getattr(self.by_thread, "lines", None)
        if lines is None:
            return self.stdout.write(text)
        lines.write(text)
        return len(text)

    def __getattr__(self, name: str) -> object:
        return getattr(self.stdout, name)


@contextmanager
def printed_to(emit: Callable[[str], None]) -> Iterator[None]:
    """Give what this thread prints in the block to `emit`, line by line."""
    with _lock:
        router = sys.stdout if isinstance(sys.stdout, _Router) else _Router(sys.stdout)
        router.users += 1
        sys.stdout = router
    lines = router.by_thread.lines = _Lines(emit)
    try:
        yield
    finally:
        lines.close()
        router.by_thread.lines = None
        with _lock:
            router.users -= 1
            if not router.users and sys.stdout is router:
                sys.stdout = router.stdout


@dataclass(frozen=True, slots=True)
class ModelCode:
    """A Python model as it runs.

    Args:
        path: The model's file, as in dbt's messages.
        text: The code, with every line of the file where it is in the file.
    """

    model: str
    unique_id: str
    path: str
    text: str

    @classmethod
    def of(cls, parsed_model: Mapping[str, Any], compiled: str, project_root: Path) -> ModelCode:
        """Find the lines of the model's file in what dbt made of it.

        dbt strips the file; its lines are found again by the number of blank lines at its start.
        """
        path = str(parsed_model["original_file_path"])
        before, found, after = compiled.partition(parsed_model["raw_code"])
        text = found + after if found and not before.strip() else compiled
        blank, file = 0, project_root / path
        if file.is_file():  # that of a package may be elsewhere
            written = file.read_text(encoding="utf-8")
            blank = written[: len(written) - len(written.lstrip())].count("\n")
        name, unique_id = str(parsed_model["name"]), str(parsed_model["unique_id"])
        return cls(name, unique_id, path, "\n" * blank + text)

    def compiled(self) -> CodeType:
        """The code object; tracebacks show the model's own lines."""
        lines = self.text.splitlines(keepends=True)
        linecache.cache[self.path] = (len(self.text), None, lines, self.path)
        return compile(self.text, self.path, "exec", dont_inherit=True)


def require_sql(model: Mapping[str, Any], materialized: str) -> None:
    """Refuse a Python model.

    dbt makes the view that points to a model's latest version with the node of that model, in SQL.

    Raises:
        MaterializedTableError: It is one.
    """
    if model["language"] == "python" and model["config"]["materialized"] == materialized:
        path = model["original_file_path"]
        raise conditions.PYTHON_MODEL(model=model["name"], path=path, materialized=materialized)


def submit(spark: SparkSession, code: ModelCode) -> None:
    """Run a model's code, which ends with `to_temp_view(model(...), "name")`.

    The code finds the session as `spark`. What it prints goes to dbt's log.

    Raises:
        DbtRuntimeError: The model raised an exception, or returned no DataFrame.
    """
    try:
        _run(spark, code)
    except MaterializedTableError as error:
        raise DbtRuntimeError(str(error)) from error


def _run(spark: SparkSession, code: ModelCode) -> None:

    def to_temp_view(returned: object, view: str) -> None:
        python_frames.create_view(spark, python_frames.spark_frame(returned, code.model), view)

    module = ModuleType(code.unique_id)
    vars(module).update(spark=spark, to_temp_view=to_temp_view, __file__=code.path)
    try:
        with (
            printed_to(lambda line: fire_event(Note(msg=f"{code.model}: {line}"))),
            python_frames.known_module(module),
        ):
            python_frames.activate(spark)
            exec(code.compiled(), vars(module))  # noqa: S102 - a Python model is code to run
    except UnsupportedFrameError:
        raise
    except (Exception, SystemExit) as error:
        logger.debug("".join(traceback.format_exception(error)))
        text = (
            one_line(failure_of(error))
            if is_spark_error(error)
            else "".join(traceback.format_exception_only(error)).strip()
        )
        trail = _trail(error, code.path)
        raise conditions.PYTHON_MODEL_FAILED(model=code.model, error=text, trail=trail) from error


def _trail(error: BaseException, path: str) -> str:
    """The calls from the model on, without those inside of PySpark and of this package."""
    frames = traceback.extract_tb(error.__traceback__)
    shown = [f for f in frames if _NOT_SHOWN.isdisjoint(Path(f.filename).parts)]
    its_own = [f for f in shown if f.filename == path]
    calls_model = len(its_own) > 1 and its_own[0].name == "<module>"
    start = shown.index(its_own[1 if calls_model else 0]) if its_own else 0
    return "".join(traceback.format_list(shown[start:])).rstrip("\n")
