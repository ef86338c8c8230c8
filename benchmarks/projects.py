"""dbt projects that the benchmarks write, and how they are run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class DbtFailedError(RuntimeError):
    """dbt did not do what the benchmark asked."""


@dataclass(frozen=True, slots=True)
class Project:
    """A dbt project on disk, with its profile inside."""

    folder: Path

    @property
    def arguments(self) -> list[str]:
        """What every dbt command needs to find it."""
        folder = str(self.folder)
        return ["--project-dir", folder, "--profiles-dir", folder]


def write_project(folder: Path, profile: Mapping[str, Any], models: Mapping[str, str]) -> Project:
    """Write a project.

    Args:
        folder: Where; it is made.
        profile: The output of the profile's only target.
        models: SQL by model name.
    """
    (folder / "models").mkdir(parents=True, exist_ok=True)
    settings = {"name": "bench", "version": "1.0.0", "profile": "bench", "model-paths": ["models"]}
    target = {"bench": {"target": "bench", "outputs": {"bench": dict(profile)}}}
    (folder / "dbt_project.yml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    (folder / "profiles.yml").write_text(yaml.safe_dump(target), encoding="utf-8")
    for name, sql in models.items():
        (folder / "models" / f"{name}.sql").write_text(sql, encoding="utf-8")
    return Project(folder)


def run(project: Project, *arguments: str) -> float:
    """Run `dbt run` in this process and return the seconds that its one node took.

    Raises:
        DbtFailedError: The node failed.
    """
    from dbt.cli.main import dbtRunner  # noqa: PLC0415 - slow to import

    result = dbtRunner().invoke(
        ["--quiet", "--no-use-colors", "run", *arguments, *project.arguments]
    )
    if not result.success:
        raise DbtFailedError(str(result.exception or [r.message for r in _nodes(result)]))
    (node,) = _nodes(result)
    return float(node.execution_time)


def _nodes(result: Any) -> list[Any]:  # noqa: ANN401 - dbt's result type is a union of everything
    return list(getattr(result.result, "results", None) or [])
