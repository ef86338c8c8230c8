"""What a dbt node says about its config, and where it was said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.config import ModelSettings, validate_config

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


def settings_of(node: Any, project_models: Mapping[str, Any]) -> ModelSettings:  # noqa: ANN401 - dbt-core's node
    """Validate the config of a model.

    Args:
        node: The parsed model.
        project_models: What `dbt_project.yml` says under `models`.

    Raises:
        InvalidConfigError: With every violation.
    """
    written = node.unrendered_config
    values = {key: _value(node, key, written[key]) for key in written}
    values["freshness_interval"] = node.config.get("freshness_interval")
    inherited = dict(inherited_config(project_models, node.fqn))
    own = {key for key in values if key not in inherited or inherited[key] != values[key]}
    return validate_config(node.name, values, own)


def inherited_config(models: Mapping[str, Any], fqn: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """The keys that a project sets for a model, outermost level first.

    Args:
        models: The `models` of a `dbt_project.yml`: nested folders, keys with or without a plus.
        fqn: The model's project, folders and name.
    """
    level: Any = models
    for folder in ("", *fqn):
        level = level if not folder else level.get(folder)
        if not isinstance(level, dict):
            return
        for key, value in level.items():
            if key.startswith("+") or not isinstance(value, dict):
                yield key.removeprefix("+").strip(), value


def _value(node: Any, key: str, written: object) -> object:  # noqa: ANN401
    """The rendered value.

    `freshness` arrives under our name, see `SparkMTCredentials.translate_aliases`; where it does
    not, dbt has swallowed something that is no interval, and what was written is judged.
    """
    if key == "freshness":
        return written if node.config.get("freshness_interval") is None else None
    return node.config.get(key)
