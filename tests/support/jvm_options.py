"""Options of the Sparks that tests start: they write small files, and end soon."""

from __future__ import annotations

import sys

OPTIONS = "spark.driver.extraJavaOptions"
_FORKS = ("-Djdk.lang.Process.launchMechanism=VFORK",) * sys.platform.startswith("linux")
"""Hadoop runs `chmod` and `readlink` for local files, some fifty times a test. Otherwise the JVM
starts each of them by a helper program, which takes as long as they do."""
_START = ("-XX:+UseSerialGC", "-XX:MetaspaceSize=256m", *_FORKS)
"""Without the size, a start collects garbage each time that its classes need more memory."""
_YOUNG = "-Xmn512m"
"""Of two gigabytes and more: most of what a test makes is garbage at its end."""
_FIRST_COMPILER = ("-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=240m")
"""With it alone, the JVM would keep 48 MB of compiled code."""
COMMON = " ".join((*_START, _YOUNG))
"""For suites of an hour."""
SHORT = " ".join((*_START, _YOUNG, *_FIRST_COMPILER))
"""For a JVM of up to some twenty minutes: the second compiler takes a third of the first ten, and
what it saves later is less."""
SMALL = " ".join((*_START, *_FIRST_COMPILER))
"""The same for a JVM with one gigabyte."""
INTERPRETED = ("spark.sql.codegen.wholeStage=false", "spark.sql.codegen.factoryMode=NO_CODEGEN")
"""Confs for few rows: compiling classes for each query is a quarter of the time."""
