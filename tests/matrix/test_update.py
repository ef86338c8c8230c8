"""A wheel that is installed over one of an older release."""

from __future__ import annotations

import base64
import hashlib
import subprocess
import venv
import zipfile
from importlib import metadata
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

_GONE = "dbt/adapters/spark_mt/gone.py"
_OLD = "0.0.9"


def files(distribution: metadata.Distribution) -> dict[str, bytes]:
    """The files of the installed wheel, but for what pip adds."""
    found = {}
    for path in distribution.files or ():
        if path.parts[0] != ".." and "__pycache__" not in path.parts:
            found[str(path)] = path.read_binary()
    return found


def wheel(folder: Path, version: str, extra: dict[str, bytes]) -> Path:
    """Make a wheel of the installed package, with another version and more files."""
    distribution = metadata.distribution("dbt-spark-mt")
    here = f"dbt_spark_mt-{distribution.version}.dist-info"
    info = f"dbt_spark_mt-{version}.dist-info"
    record = f"{info}/RECORD"
    content = {}
    for name, data in {**files(distribution), **extra}.items():
        content[name.replace(here, info)] = data
    for name in ("INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json", "RECORD"):
        content.pop(f"{info}/{name}", None)
    text = content[f"{info}/METADATA"].decode()
    lines = text.replace(f"Version: {distribution.version}", f"Version: {version}").splitlines()
    of_info = [line for line in lines if not line.startswith("Requires-Dist")]
    content[f"{info}/METADATA"] = "\n".join(of_info).encode()
    module = "dbt/adapters/spark_mt/__version__.py"
    content[module] = content[module].replace(distribution.version.encode(), version.encode())
    rows = []
    for name, data in content.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.append(f"{name},sha256={digest},{len(data)}")
    path = folder / f"dbt_spark_mt-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in {**content, record: "\n".join([*rows, f"{record},,"]).encode()}.items():
            archive.writestr(name, data)
    return path


@pytest.fixture
def environment(tmp_path):
    """An empty environment: the package is loaded without dbt and PySpark, too."""
    home = tmp_path / "environment"
    venv.create(home, with_pip=True)
    return home / "bin" / "python"


def run(python: Path, *arguments: str) -> str:
    """Run Python; return what it printed."""
    done = subprocess.run(  # noqa: S603 - our own command
        (python, *arguments), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_nothing_is_left_of_the_older_release(environment, tmp_path):
    install = ("-m", "pip", "install", "--no-deps", "--no-index", "--disable-pip-version-check")
    version = metadata.version("dbt-spark-mt")
    shown = ("-I", "-c", "from dbt.adapters.spark_mt.__version__ import version; print(version)")
    old = wheel(tmp_path, _OLD, {_GONE: b"left = True\n"})
    run(environment, *install, str(old))
    assert run(environment, *shown).strip() == _OLD
    run(environment, "-I", "-c", "from dbt.adapters.spark_mt.gone import left")
    said = run(environment, *install, str(wheel(tmp_path, version, {})))
    assert f"Uninstalling dbt-spark-mt-{_OLD}" in said
    assert run(environment, *shown).strip() == version
    (packages,) = environment.parents[1].glob("lib/python*/site-packages")
    assert not (packages / _GONE).exists()
    assert [each.name for each in packages.glob("dbt_spark_mt-*")] == [
        f"dbt_spark_mt-{version}.dist-info"
    ]
