from __future__ import annotations

import hashlib
import re

import pytest

from dbt.adapters.spark_mt.manager.http.pages import FOLDER
from tests.unit.manager.fake import FakeManager
from tests.unit.manager.http.site import Site

VENDOR = FOLDER / "vendor"
README = (FOLDER.parent / "static.md").read_text(encoding="utf-8")
KINDS = (".css", ".js", ".svg", ".txt")
FILES = sorted(str(path.relative_to(FOLDER)) for path in FOLDER.rglob("*") if path.suffix in KINDS)


@pytest.fixture
def site():
    return Site(FakeManager())


@pytest.mark.parametrize("name", FILES)
def test_every_file_is_sent_with_its_kind(site, name):
    response = site.client.get(f"/static/{name}")
    assert response.status_code == 200
    assert response.content == (FOLDER / name).read_bytes()
    assert response.headers["content-type"].partition(";")[0] in {
        "text/css",
        "text/javascript",
        "application/javascript",  # before Python 3.12
        "image/svg+xml",
        "text/plain",
    }
    again = site.client.get(f"/static/{name}", headers={"if-none-match": response.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize(
    "path", ["", "README.md", "../pages.py", "%2e%2e/pages.py", "vendor/", "/etc/passwd", "vendor"]
)
def test_nothing_else_is_sent(site, path):
    assert site.client.get(f"/static/{path}").status_code == 404


def test_vendored_files_are_those_that_were_published():
    sums = (VENDOR / "SHA256SUMS").read_text(encoding="ascii").split()
    expected = dict(zip(sums[1::2], sums[::2], strict=True))
    found = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in VENDOR.iterdir()
        if path.name != "SHA256SUMS"
    }
    assert found == expected


def test_the_readme_names_versions_and_licences_as_the_script_takes_them():
    script = (FOLDER.parents[5] / "tools" / "vendor_static.sh").read_text(encoding="utf-8")
    taken = re.findall(r"^take (\S+)@(\S+) ", script, re.MULTILINE)
    assert len(taken) == 3
    for package, version in taken:
        assert re.search(rf"\| `{re.escape(package)}` \| {re.escape(version)} \| \S+", README)


def test_our_scripts_load_nothing_from_elsewhere():
    for path in [*FOLDER.glob("*.js"), *FOLDER.glob("*.css"), *VENDOR.glob("*.css")]:
        text = path.read_text(encoding="utf-8")
        elsewhere = set(re.findall(r"https?://[^\s\"')]+", text)) - {"http://www.w3.org/2000/svg"}
        assert elsewhere == set(), path.name
        assert "innerHTML" not in text
        assert not re.search(r"\beval\(|new Function", text)
