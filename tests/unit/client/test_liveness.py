"""What is said of a manager that does not answer, and when; nothing waits here."""

from __future__ import annotations

import socket
import threading
from datetime import datetime

import pytest

from dbt.adapters.spark_mt.client import liveness
from dbt.adapters.spark_mt.client.discovery import Discovered
from dbt.adapters.spark_mt.client.liveness import Silence, silent_servers, watched
from dbt.adapters.spark_mt.execution.context import LocalProcesses

US = LocalProcesses().owner()
MANAGER = Discovered(US, "sc://localhost:1", "t", "http://127.0.0.1:2", "t")
BOTH = (MANAGER.connect_url, MANAGER.rest_url)


def silence(**arguments):
    return Silence(MANAGER, clock=lambda: datetime(2026, 3, 1, 9, 30, 5), **arguments)  # noqa: DTZ001 - the time of day here


def test_a_short_time_without_an_answer_is_not_reported():
    quiet = silence(say_after_s=10)
    assert [quiet.note(BOTH, now) for now in (0, 5, 9.9)] == ["", "", ""]
    assert quiet.note((), 10) == ""


def test_whom_it_waits_for_since_when_and_how_to_stop_it():
    said = silence(say_after_s=0).note(BOTH, 100)
    for part in (str(US), *BOTH, "2026-03-01 09:30:05", f"kill -KILL {US.pid}", "Ctrl-C"):
        assert part in said
    assert "kill -CONT" not in said, "this process is not stopped"


def test_a_stopped_process_can_continue(monkeypatch):
    monkeypatch.setattr(liveness, "_stopped", lambda pid: f": its process {pid} is stopped")
    said = silence(say_after_s=0).note(BOTH, 100)
    assert f"is stopped. `kill -CONT {US.pid}`" in said


def test_a_line_is_printed_each_minute_until_the_manager_answers():
    quiet = silence(say_after_s=10)
    said = [now for now in range(0, 200, 5) if quiet.note(BOTH, now)]
    assert said == [10, 70, 130, 190]
    assert "answers again" in quiet.note((), 200)
    assert quiet.note((), 205) == ""
    assert quiet.note(BOTH, 210) == "", "a new silence has a new beginning"


def test_each_server_is_probed():
    with socket.create_server(("127.0.0.1", 0)) as hanging:  # connects, and says nothing
        url = f"http://127.0.0.1:{hanging.getsockname()[1]}"
        manager = Discovered(US, "", "", url)
        assert silent_servers(manager, 0.05) == (url,)
    with socket.create_server(("127.0.0.1", 0)) as alive:

        def answer() -> None:
            connection, _ = alive.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        manager = Discovered(US, "", "", f"http://127.0.0.1:{alive.getsockname()[1]}")
        assert silent_servers(manager, 5) == ()
        thread.join()


@pytest.mark.parametrize("is_silent", [True, False])
def test_a_wait_is_watched(monkeypatch, is_silent):
    monkeypatch.setattr(liveness, "_SAY_AFTER_S", 0)
    said, probed = [], threading.Event()

    def probe(_: Discovered) -> tuple[str, ...]:
        if said or not is_silent:
            probed.set()
        return BOTH if is_silent else ()

    monkeypatch.setattr(liveness.Silence.__init__, "__defaults__", (0, datetime.now))
    with watched(MANAGER, said.append, 0.001, probe):
        assert probed.wait(10)
    assert len(said) == int(is_silent)
