"""Which processes are gone."""

import subprocess
import sys
from dataclasses import dataclass, replace
from subprocess import PIPE

import pytest

from dbt.adapters.spark_mt.definition.job import Owner
from dbt.adapters.spark_mt.execution.context import LocalProcesses

PROCESSES = LocalProcesses()
needs_proc = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc")


SAYS_WHO_IT_IS = """
from dbt.adapters.spark_mt.execution.context import LocalProcesses
print(LocalProcesses().owner().process, flush=True)
input()
"""


@dataclass
class Other:
    """A process that waits until a test ends it."""

    process: subprocess.Popen
    owner: Owner

    def end(self):
        self.process.communicate(b"\n")


@pytest.fixture
def other():
    command = [sys.executable, "-c", SAYS_WHO_IT_IS]
    with subprocess.Popen(command, stdin=PIPE, stdout=PIPE) as process:  # noqa: S603 - our Python
        said = process.stdout.readline().decode().strip()
        yield Other(process, replace(PROCESSES.owner(), pid=process.pid, process=said))


def test_we_are_there():
    us = PROCESSES.owner()
    assert not PROCESSES.is_gone(us)
    assert us == PROCESSES.owner()
    assert str(us.pid) in str(us)


def test_another_process_is_there_until_it_ends(other):
    assert not PROCESSES.is_gone(other.owner)
    other.end()
    assert PROCESSES.is_gone(other.owner)


def test_a_process_of_another_machine_is_never_gone(other):
    other.end()
    assert not PROCESSES.is_gone(replace(other.owner, host="elsewhere"))


@needs_proc
def test_a_number_that_another_process_has_got_is_not_taken_for_it(other):
    us = PROCESSES.owner()
    assert PROCESSES.is_gone(replace(us, pid=other.owner.pid))
    assert PROCESSES.is_gone(replace(us, process=us.process + "1"))


@needs_proc
def test_a_process_of_another_container_is_never_gone(other):
    other.end()
    assert not PROCESSES.is_gone(replace(other.owner, process="pid:[1] 1"))
