"""Pictures of the status page in docs/, of the sample tables.

`.venv/bin/python -m tests.functional.pages.screenshots` takes them again.
"""

from __future__ import annotations

import subprocess
from datetime import datetime, timezone

import time_machine
from playwright.sync_api import sync_playwright

from tests.functional.pages.conftest import ROOT, Server
from tests.unit.manager.fake import FakeManager
from tests.unit.manager.samples import NOW_MS, sample_tables

PICTURES = {
    "status-page.png": ({"width": 1200, "height": 1000}, "light"),
    "status-page-phone.png": ({"width": 375, "height": 720}, "dark"),
}
NOW = datetime.fromtimestamp(NOW_MS / 1000, timezone.utc)
"""The instant of the sample; the page shows how long ago things were."""


def main() -> None:
    found = subprocess.run(  # noqa: S603 - our own script
        [ROOT / "tools" / "browser.sh"], capture_output=True, text=True, check=True
    )
    server = Server(FakeManager(sample_tables()), open_reads=True)
    server.start()
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=found.stdout.strip())
            for name, (viewport, scheme) in PICTURES.items():
                page = browser.new_page(
                    base_url=server.url, viewport=viewport, color_scheme=scheme, locale="en-GB"
                )
                page.clock.install(time=NOW)
                with time_machine.travel(NOW, tick=False):
                    page.goto("/")
                page.screenshot(path=ROOT / "docs" / name)
            browser.close()
    finally:
        server.stop()


if __name__ == "__main__":
    main()
