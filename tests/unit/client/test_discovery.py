"""Discovery of a manager: its file, the owner of the file, and whether a process answers."""

from __future__ import annotations

import json
import os
import socket
import stat
from contextlib import closing
from dataclasses import replace
from threading import Thread

import pytest

from dbt.adapters.spark_mt.client import discovery
from dbt.adapters.spark_mt.client.discovery import Discovered, NotFound
from dbt.adapters.spark_mt.execution.context import LocalProcesses

US = LocalProcesses().owner()
MANAGER = Discovered(US, "sc://localhost:15002", "s3cret", "http://localhost:8080", "t0ken")
SETTINGS = bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
posix = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="Windows has no such modes")


@pytest.fixture
def path(tmp_path):
    return discovery.place(tmp_path / "home" / "metastore_db")


def reason(path):
    found = discovery.read(path)
    assert isinstance(found, NotFound)
    return found.reason


def test_written_rows_are_read(path):
    discovery.write(path, MANAGER)
    assert discovery.read(path) == MANAGER
    assert (path.name, path.parent.name) == ("materialized-table-manager.json", "home")


def test_nothing_else_stays_in_the_directory(path):
    discovery.write(path, Discovered(US))
    discovery.write(path, MANAGER)
    assert [each.name for each in path.parent.iterdir()] == [path.name]


@posix
def test_only_its_owner_can_read_it_whatever_the_umask(path):
    before = os.umask(0)
    try:
        discovery.write(path, MANAGER)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_tokens_are_not_printed():
    assert "s3cret" not in repr(MANAGER)
    assert "t0ken" not in repr(MANAGER)


def test_there_is_none(path):
    assert reason(path) == f"there is no {path}"


@posix
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o602])
def test_a_file_that_others_may_read_or_write_is_refused(path, mode):
    discovery.write(path, MANAGER)
    path.chmod(mode)
    assert f"{mode:04o} instead of 0600" in reason(path)


@posix
def test_a_file_of_another_user_is_refused(path, monkeypatch):
    discovery.write(path, MANAGER)
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    assert "another user" in reason(path)


@posix
def test_a_link_is_refused(path, tmp_path):
    discovery.write(tmp_path / "elsewhere.json", MANAGER)
    path.parent.mkdir()
    path.symlink_to(tmp_path / "elsewhere.json")
    assert str(path) in reason(path)


@posix
def test_a_pipe_in_place_of_the_file_blocks_no_reader(path):
    path.parent.mkdir()
    os.mkfifo(path, 0o600)
    assert "not a regular file" in reason(path)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "7",
        "{}",
        '{"format": 2}',
        "\x00",
        json.dumps({"format": 1, "owner": {"host": "x", "pid": "y"}}),
        "[" * 60_000,
        *(
            json.dumps({"format": 1, "owner": {"host": US.host, "pid": pid}})
            for pid in (0, -1, 2**31, 2**70, 1.5, float("inf"), "7", None, [7])
        ),
        *(
            json.dumps({"format": 1, "owner": {"host": US.host, "pid": US.pid}, key: url})
            for key in ("connect_url", "rest_url")
            for url in ("nonsense", "sc://[::1", "sc://x:port", "sc://x:99999", "http://", "//")
        ),
        json.dumps(
            {
                "format": 1,
                "owner": {"host": US.host, "pid": US.pid},
                "connect_url": 1,
                "connect_token": "",
                "rest_url": "",
                "rest_token": "",
            }
        ),
    ],
)
def test_unreadable_content_is_refused(path, content):
    discovery.write(path, MANAGER)
    path.write_text(content, encoding="utf-8")
    assert "this version" in reason(path)


def test_a_later_version_may_add_to_it(path):
    discovery.write(path, MANAGER)
    known = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**known, "more": [1]}), encoding="utf-8")
    assert discovery.read(path) == MANAGER


def test_a_process_that_is_gone(path):
    gone = replace(US, pid=2**22 + 1)
    discovery.write(path, replace(MANAGER, owner=gone))
    assert "is gone" in reason(path)
    assert str(gone) in reason(path)


def test_a_manager_of_another_machine(path):
    discovery.write(path, replace(MANAGER, owner=replace(US, host="elsewhere")))
    assert "another machine" in reason(path)


def test_a_manager_removes_its_own_file_only(path):
    discovery.write(path, MANAGER)
    discovery.remove(path, replace(US, pid=US.pid + 1))
    assert discovery.read(path) == MANAGER
    discovery.remove(path, US)
    assert not path.exists()
    discovery.remove(path, US)


class Listener:
    """Something on a port of this machine that answers all requests with `answer`."""

    def __init__(self, answer: bytes) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._answer = answer
        self.received = b""
        self._thread = Thread(target=self._serve, daemon=True)
        self._thread.start()

    @property
    def manager(self) -> Discovered:
        return replace(MANAGER, connect_url=f"sc://127.0.0.1:{self._socket.getsockname()[1]}")

    def _serve(self) -> None:
        connection, _ = self._socket.accept()
        with connection:
            self.received = connection.recv(100)
            for byte in self._answer:
                connection.sendall(bytes((byte,)))

    def close(self) -> None:
        self._socket.close()
        self._thread.join()


@pytest.mark.parametrize(
    ("answer", "alive"),
    [(SETTINGS, True), (b"HTTP/1.1 ", False), (b"", False), (b"\0", False)],
)
def test_only_a_grpc_server_counts_as_alive(answer, alive):
    with closing(Listener(answer)) as listener:
        assert discovery.answers(listener.manager) is alive
        assert listener.received.startswith(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")


def test_a_listener_that_does_not_answer_is_not_alive():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        hanging = replace(MANAGER, connect_url=f"sc://127.0.0.1:{silent.getsockname()[1]}")
        assert not discovery.answers(hanging, timeout_s=0.05)


def test_no_process_listens():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert not discovery.answers(replace(MANAGER, connect_url=f"sc://127.0.0.1:{port}"))


def test_a_starting_manager_does_not_answer_yet():
    assert Discovered(US).is_starting
    assert not discovery.answers(Discovered(US))
