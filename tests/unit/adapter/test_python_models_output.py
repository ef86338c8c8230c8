"""Output of a model, separated from that of others."""

from __future__ import annotations

import sys
from threading import Barrier, Thread

from dbt.adapters.spark_mt.adapter.python_models import printed_to


def test_lines_are_whole():
    seen = []
    with printed_to(seen.append):
        print("one", "two")  # noqa: T201 - what is tested
        print("a\n\nb", end="")  # noqa: T201
        print("c", end="")  # noqa: T201
    assert seen == ["one two", "a", "", "bc"]


def test_threads_do_not_mix(capsys):
    both_are_inside = Barrier(2, timeout=30)
    seen: dict[str, list[str]] = {"a": [], "b": []}

    def run(name):
        with printed_to(seen[name].append):
            both_are_inside.wait()
            print("from", name)  # noqa: T201
            both_are_inside.wait()

    stdout = sys.stdout
    threads = [Thread(target=run, args=(name,)) for name in seen]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    print("from nobody")  # noqa: T201
    assert seen == {"a": ["from a"], "b": ["from b"]}
    assert capsys.readouterr().out == "from nobody\n"
    assert sys.stdout is stdout


def test_other_threads_print_as_before(capsys):
    with printed_to([].append):
        thread = Thread(target=print, args=("outside",))
        thread.start()
        thread.join(30)
        assert sys.stdout.encoding
    assert capsys.readouterr().out == "outside\n"
