"""Shows how far something is that takes long, on a terminal."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.cli_output import console, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.progress import Progress, TaskID

    from dbt.adapters.spark_mt.spark.progress import StageProgress

_LOOK_EVERY_S = 0.5


@contextmanager
def shown(title: str, look: Callable[[], StageProgress | None]) -> Iterator[None]:
    """Show a bar while the block runs; nothing where standard error is no terminal.

    Args:
        title: What goes on.
        look: Tells how far it is; called from another thread.
    """
    if not sys.stderr.isatty():
        yield
        return
    ended = Event()
    with _bar() as bar:
        task = bar.add_task(plain(title), total=None, tasks="")
        thread = Thread(target=_follow, args=(bar, task, look, ended), daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()


def _bar() -> Progress:
    from rich.progress import (  # noqa: PLC0415 - only on a terminal
        BarColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
    )

    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[tasks]}", markup=False),
        TimeElapsedColumn(),
        console=console(to_stderr=True),
        transient=True,
    )


def _follow(
    bar: Progress, task: TaskID, look: Callable[[], StageProgress | None], ended: Event
) -> None:
    while not ended.wait(_LOOK_EVERY_S):
        found = look()
        if found is None:
            bar.update(task, total=None, completed=0, tasks="")
        else:
            told = f"{found.ended} of {found.tasks} tasks"
            bar.update(task, total=found.tasks, completed=found.ended, tasks=told)
