"""The jar of Spark's own tests: fetched, and read as an archive.

`python -m tests.corpus.jars` fetches it.
"""

from __future__ import annotations

import struct
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from zipfile import ZipFile

from tests.ivy import resolved

_MODULE = Path(__file__).with_name("ivy.xml")
_WIDTHS = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4}
_WIDTHS |= {18: 4, 19: 2, 20: 2}
"""The bytes that follow the tag of a constant, by the tag: the Java class file format, 4.4."""
_UTF8 = 1
_LONG = (5, 6)
_HEADER = 8


@dataclass(frozen=True)
class TestsJar:
    """The files of the jar of Spark's tests.

    Args:
        path: Where it is.
    """

    path: Path

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The files of the jar."""
        with ZipFile(self.path) as jar:
            return tuple(sorted(jar.namelist()))

    def text(self, name: str) -> str:
        """Return the text of a file."""
        with ZipFile(self.path) as jar:
            return jar.read(name).decode("utf-8")

    def constants(self, name: str) -> tuple[str, ...]:
        """Return the texts in the constant pool of a class, in their order."""
        with ZipFile(self.path) as jar:
            return texts_of_class(jar.read(name))


def texts_of_class(content: bytes) -> tuple[str, ...]:
    """Return the texts in the constant pool of a class file, in their order."""
    (count,) = struct.unpack_from(">H", content, _HEADER)
    found, at, number = [], _HEADER + 2, 1
    while number < count:
        tag = content[at]
        if tag == _UTF8:
            (length,) = struct.unpack_from(">H", content, at + 1)
            found.append(content[at + 3 : at + 3 + length].decode("utf-8", "replace"))
            at += 3 + length
        else:
            at += 1 + _WIDTHS[tag]
        number += 2 if tag in _LONG else 1
    return tuple(found)


def tests_jar() -> TestsJar:
    """Return the jar, which is fetched unless Ivy's cache has it."""
    (path,) = resolved(_MODULE, "tests")
    return TestsJar(Path(path))


def main() -> int:
    """Fetch the jar."""
    return 0 if tests_jar().names else 1


if __name__ == "__main__":
    sys.exit(main())
