"""Launch of Spark's JVM, with its confs in a file that only its user can read.

PySpark writes each conf on the command line of the JVM, which all users of a machine can read. On
Linux the file has no name: nothing is left of it, however this process ends.
"""

from __future__ import annotations

import os
import shlex
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.releases import check_java
from dbt.adapters.spark_mt.spark.delta.releases import pyspark_version
from dbt.adapters.spark_mt.spark.formats.delta import PACKAGES_KEY
from dbt.adapters.spark_mt.spark.launch import jvm
from dbt.adapters.spark_mt.spark.launch.class_archive import archived_classes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


_SUBMIT_ARGUMENTS = "PYSPARK_SUBMIT_ARGS"
_SHELL = "pyspark-shell"
_CONF_OF_OPTION = {
    "--packages": PACKAGES_KEY,
    "--jars": "spark.jars",
    "--master": "spark.master",
}
"""Options of spark-submit that the confs of a session depend on."""
_CONF_OPTIONS = frozenset({"--conf", "-c"})
_FILE_OPTION = "--properties-file"
_DEFAULTS_OPTION = "--load-spark-defaults"
_JVM_OPTIONS = ("spark.driver.defaultJavaOptions", "spark.driver.extraJavaOptions")
_OF_THE_JVM_ITSELF = "-X"
"""Sizes and switches. Spark checks the one for the size, and the archive of classes is one."""
_OPEN_FILES = Path("/proc/self/fd")
_is_launched = False


def usable_folder(folder: Path) -> None:
    """Make a folder if it is missing, and see whether it can be written.

    Raises:
        MaterializedTableError: It cannot.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        problem = error.strerror or str(error)
        raise conditions.UNUSABLE_FOLDER(folder=str(folder), problem=problem) from error


@dataclass(frozen=True, slots=True)
class Submitted:
    """What the user says in PYSPARK_SUBMIT_ARGS.

    Args:
        confs: Those of `--conf` and of a file of properties.
        words: All other options, in their order.
        reads_defaults: Whether Spark reads `spark-defaults.conf`: a file replaces it.
    """

    confs: Mapping[str, str]
    words: tuple[str, ...]
    reads_defaults: bool

    @property
    def known(self) -> dict[str, str]:
        """All confs, also those that have options of their own."""
        named = {}
        for option, value in _options(self.words):
            if option in _CONF_OF_OPTION and value is not None:
                named[_CONF_OF_OPTION[option]] = value
        return {**self.confs, **named}


def submitted() -> Submitted:
    """Read PYSPARK_SUBMIT_ARGS."""
    file, confs, words, loads = None, {}, [], False
    for option, value in _options(shlex.split(os.environ.get(_SUBMIT_ARGUMENTS, ""))):
        if option in _CONF_OPTIONS and value is not None:
            key, _, setting = value.partition("=")
            confs[key] = setting
        elif option == _FILE_OPTION and value is not None:
            file = Path(value)
        elif option == _DEFAULTS_OPTION:
            loads = True
        else:
            words += [option] if value is None else [option, value]
    of_file = read_properties(file) if file is not None else {}
    return Submitted({**of_file, **confs}, tuple(words), file is None or loads)


def read_properties(file: Path) -> dict[str, str]:
    """Return the confs of a file such as `spark-defaults.conf`; none where there is no file.

    A line is a key, whitespace or `=`, and a value.
    """
    confs: dict[str, str] = {}
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    for line in (each.strip() for each in lines):
        if line and not line.startswith("#"):
            key, _, value = line.replace("=", " ", 1 if " " not in line else 0).partition(" ")
            confs[key] = value.strip()
    return confs


def launch(confs: Mapping[str, str], log: Path, variables: Mapping[str, str]) -> object:
    """Launch the JVM, with what it prints, Ivy's report among it, in a log; return its gateway.

    Args:
        confs: What Spark starts with.
        log: The file.
        variables: Of the JVM's environment, which else is that of this process.

    Raises:
        MaterializedTableError: Java is not installed.
        MaterializedTableError: Spark does not run in the Java that is.
        MaterializedTableError: The log cannot be written.
        MaterializedTableError: The JVM ended at once.
    """
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway

    if (file := jvm.java()) is None:
        raise conditions.JAVA_MISSING(javaHome=os.environ.get("JAVA_HOME") or "not set")
    check_java(jvm.java_version(file), file, pyspark_version())
    global _is_launched  # noqa: PLW0603 - a process has one JVM of Spark
    usable_folder(log.parent)
    with log.open("wb") as output, _private_files() as files, archived_classes(confs):
        given = {_SUBMIT_ARGUMENTS: shlex.join(_submit_words(confs, files)), **variables}
        to_jvm = {"stdout": output, "stderr": output, "pass_fds": files.descriptors}
        try:
            with _launch_variables(given):
                gateway: object = launch_gateway(popen_kwargs=to_jvm)  # type: ignore[no-untyped-call]
        except PySparkRuntimeError as error:
            raise conditions.SPARK_DID_NOT_START(log=log, violations=jvm.end_of_log(log)) from error
    _is_launched = True
    return gateway


def has_launched() -> bool:
    """Whether this process launched its JVM here, with what it prints in a log."""
    return _is_launched


def _options(words: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """Yield each option with its value, the next word or a part of its own; None without one."""
    rest = list(words)
    while rest:
        word = rest.pop(0)
        option, is_joined, value = word.partition("=")
        if word.startswith("--") and is_joined:
            yield option, value
        elif word in _CONF_OPTIONS | {_FILE_OPTION, *_CONF_OF_OPTION} and rest:
            yield word, rest.pop(0)
        else:
            yield word, None


def _submit_words(confs: Mapping[str, str], files: _PrivateFiles) -> list[str]:
    """Return the arguments of spark-submit, which name the file with the confs."""
    users = submitted()
    text = properties_text(_hidden({**users.confs, **confs}, files))
    file = files.write("spark.properties", text)
    defaults = [_DEFAULTS_OPTION] if users.reads_defaults else []
    return [_FILE_OPTION, file, *defaults, *(users.words or (_SHELL,))]


def _hidden(confs: Mapping[str, str], files: _PrivateFiles) -> dict[str, str]:
    """Return confs whose Java options are in a file of arguments, but for those of the JVM itself.

    Spark writes these options on the command line, system properties with passwords among them.
    """
    hidden = dict(confs)
    for key in _JVM_OPTIONS:
        try:
            words = shlex.split(confs.get(key, ""))
        except ValueError:  # Spark refuses to start with them, and says why
            continue
        secret = [word for word in words if not word.startswith(_OF_THE_JVM_ITSELF)]
        if secret:
            open_ones = [word for word in words if word.startswith(_OF_THE_JVM_ITSELF)]
            file = files.write(f"{key}.arguments", arguments_text(secret))
            hidden[key] = shlex.join([*open_ones, f"@{file}"])
    return hidden


def properties_text(confs: Mapping[str, str]) -> str:
    """Return confs in the format of `java.util.Properties`."""
    return "".join(f"{_escaped(key)}={_escaped(value)}\n" for key, value in confs.items())


def _escaped(text: str) -> str:
    return "".join(map(_escaped_character, text))


def _escaped_character(character: str) -> str:
    if character in "\\=:#! ":
        return f"\\{character}"
    if " " < character <= "~":
        return character
    units = character.encode("utf-16-be")
    return "".join(f"\\u{high:02x}{low:02x}" for high, low in zip(*[iter(units)] * 2, strict=True))


def arguments_text(words: Sequence[str]) -> str:
    """Return arguments in the format of the files that `java @file` reads."""
    quoted = (word.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") for word in words)
    return "".join(f'"{word}"\n' for word in quoted)


class _PrivateFiles:
    """Files for a process that is launched, which no other user can read.

    Args:
        folder: Where they are; None for files in memory without a name, which the process inherits.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._open: list[int] = []

    @property
    def descriptors(self) -> tuple[int, ...]:
        """The open files that the process inherits."""
        return tuple(self._open)

    def write(self, name: str, text: str) -> str:
        """Write a file, and return the path under which the process finds it."""
        if self._folder is not None:
            path = self._folder / name
            path.touch(mode=0o600)
            path.write_text(text, encoding="utf-8")
            return str(path)
        file = os.memfd_create(name)
        self._open.append(file)
        with os.fdopen(os.dup(file), "w", encoding="utf-8") as stream:
            stream.write(text)
        return str(_OPEN_FILES / str(file))

    def close(self) -> None:
        """Empty the files in memory: the process that was launched has them open to its end."""
        for file in self._open:
            os.ftruncate(file, 0)
            os.close(file)


@contextmanager
def _private_files() -> Iterator[_PrivateFiles]:
    if hasattr(os, "memfd_create") and _OPEN_FILES.is_dir():
        files = _PrivateFiles(None)
        try:
            yield files
        finally:
            files.close()
    else:
        with tempfile.TemporaryDirectory(prefix="dbt-spark-mt-") as folder:
            yield _PrivateFiles(Path(folder))


@contextmanager
def _launch_variables(variables: Mapping[str, str]) -> Iterator[None]:
    if not variables:
        yield
        return
    (name, value), *others = variables.items()
    with jvm.launch_variable(name, value), _launch_variables(dict(others)):
        yield
