"""One line per event, whoever logs it, and no secret in any of them."""

from __future__ import annotations

import io
import json
import logging
import sys
import threading
import warnings

import pytest
import structlog

from dbt.adapters.spark_mt.manager import logging as logs
from dbt.adapters.spark_mt.manager.logging import LogFormat, Redaction
from tests.unit.manager.http.client import BEARER, TABLES, TOKEN, AccessRules, Client


@pytest.fixture
def log():
    """Configures, and returns what reads the lines; afterwards everything is as before."""
    root, before = logging.getLogger(), structlog.get_config()
    handlers, level = list(root.handlers), root.level
    levels = {name: logging.getLogger(name).level for name in logs._LOUD}
    out = io.StringIO()

    def configure(log_format=LogFormat.JSON, level="info", secrets=()):
        logs.configure(log_format, level, secrets=secrets, stream=out)
        return lambda: out.getvalue().splitlines()

    hook = threading.excepthook
    yield configure
    threading.excepthook = hook
    logging.captureWarnings(capture=False)
    root.handlers[:] = handlers
    root.setLevel(level)
    for name, old in levels.items():
        logging.getLogger(name).setLevel(old)
    structlog.configure(**before)


def test_an_event_is_a_line_of_json(log):
    lines = log()
    structlog.get_logger("spark_mt.test").info("tick", tables=3, seconds=0.25, name="é\n")
    (event,) = map(json.loads, lines())
    assert event.pop("timestamp").endswith("Z")
    assert event == {
        "event": "tick",
        "level": "info",
        "logger": "spark_mt.test",
        "tables": 3,
        "seconds": 0.25,
        "name": "é\n",
    }


def test_logs_of_libraries_have_the_same_format(log):
    lines = log()
    logging.getLogger("uvicorn.error").warning("Cancel %s tasks", 2)
    (event,) = map(json.loads, lines())
    assert (event["event"], event["level"], event["logger"]) == (
        "Cancel 2 tasks",
        "warning",
        "uvicorn.error",
    )


def test_a_log_as_text_has_a_line_too(log):
    lines = log(LogFormat.CONSOLE)
    structlog.get_logger("spark_mt.test").warning("slow", table="a.b")
    (line,) = lines()
    assert "slow" in line
    assert "table=a.b" in line
    assert "\x1b[" not in line, "no colours where nobody sees them"


def test_levels(log):
    lines = log(level="WARNING")
    structlog.get_logger("spark_mt.test").info("not told")
    logging.getLogger("py4j").info("not told")
    structlog.get_logger("spark_mt.test").error("told")
    assert [json.loads(line)["event"] for line in lines()] == ["told"]


def test_verbose_libraries_are_logged_from_warnings_on(log):
    lines = log(level="DEBUG")
    logging.getLogger("py4j.clientserver").info("Closing down connection")
    logging.getLogger("urllib3.connectionpool").warning("missed")
    assert [json.loads(line)["event"] for line in lines()] == ["missed"]


def test_warnings_and_threads_that_fail_are_lines_too(log):
    lines = log()
    warnings.warn("soon gone", stacklevel=1)
    for target in ([].pop, sys.exit):
        thread = threading.Thread(target=target, name="worker")
        thread.start()
        thread.join()
    warned, failed = map(json.loads, lines())
    assert (warned["logger"], "soon gone" in warned["event"]) == ("py.warnings", True)
    assert (failed["event"], failed["thread"]) == ("a thread failed", "worker")
    assert failed["exception"].endswith("IndexError: pop from empty list")


def test_configuring_again_replaces_the_first(log):
    log()
    lines = log()
    structlog.get_logger("spark_mt.test").info("once")
    assert len(lines()) == 1


@pytest.mark.parametrize("log_format", LogFormat)
def test_a_stack_is_logged_without_variables(log, log_format):
    lines = log(log_format, secrets=[TOKEN])

    def fail(words: list[str]) -> None:
        password = "-".join(words)
        raise ValueError(TOKEN + password[:0])

    try:
        fail(["hunter", "two"])
    except ValueError:
        structlog.get_logger("spark_mt.test").exception("failed")
    text = "\n".join(lines())
    assert "ValueError: ***" in text
    assert "in fail" in text
    assert "hunter-two" not in text
    assert TOKEN not in text


@pytest.mark.parametrize(
    ("event", "shown"),
    [
        ({"token": "x"}, {"token": "***"}),
        ({"rest_token": "x", "Authorization": "y"}, {"rest_token": "***", "Authorization": "***"}),
        ({"headers": {"cookie": "a=b", "host": "h"}}, {"headers": {"cookie": "***", "host": "h"}}),
        ({"token": ""}, {"token": ""}),
        ({"password": None}, {"password": None}),
        ({"event": "got Bearer abc.def-1, ok"}, {"event": "got Bearer ***, ok"}),
        ({"url": "sc://h:1/;token=abc;x=y"}, {"url": "sc://h:1/;token=***;x=y"}),
        ({"url": "/a?access_token=abc&b=c"}, {"url": "/a?access_token=***&b=c"}),
        ({"list": ["s3cr3t", 1, None]}, {"list": ["***", 1, None]}),
        ({"error": ValueError("with s3cr3t")}, {"error": "with ***"}),
        ({"rows": 3, "ok": True, "lag": 0.5}, {"rows": 3, "ok": True, "lag": 0.5}),
    ],
)
def test_secrets_are_hidden(event, shown):
    assert Redaction(["s3cr3t", ""])(None, "info", event) == shown


def test_requests_are_logged_without_secrets(log):
    lines = log(level="DEBUG", secrets=[TOKEN])
    client = Client(rules=AccessRules(token=TOKEN))
    client.sign_in()
    client.get(f"{TABLES}?contains=x&token=abcdef", headers=BEARER)
    client.get("/livez")
    events = [json.loads(line) for line in lines()]
    recorded = [e for e in events if e["event"] == "request"]
    assert [(e["path"], e["status"], e["level"]) for e in recorded] == [
        ("/login", 303, "info"),
        (TABLES, 400, "info"),
        ("/livez", 200, "debug"),
    ]
    assert recorded[1]["visitor"] == "TOKEN"
    assert recorded[1]["bytes"] > 0
    assert recorded[1]["milliseconds"] >= 0
    text = "\n".join(lines())
    assert TOKEN not in text
    assert "abcdef" not in text
    assert next(iter(client.cookies.values())) not in text
