"""Styles, scripts and icon of the status page, read once; nothing else can be asked for."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.responses import PlainTextResponse, Response

if TYPE_CHECKING:
    from starlette.requests import Request

FOLDER = Path(__file__).parent / "static"
_KINDS = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file as it is sent."""

    content: bytes
    kind: str
    tag: str


def load() -> dict[str, StaticFile]:
    """Read every file that a page may ask for, by its path under `static/`."""
    return {
        path.relative_to(FOLDER).as_posix(): _read(path)
        for path in sorted(FOLDER.rglob("*"))
        if path.suffix in _KINDS
    }


def _read(path: Path) -> StaticFile:
    content = path.read_bytes()
    tag = f'"{hashlib.sha256(content).hexdigest()[:24]}"'
    return StaticFile(content, _KINDS[path.suffix], tag)


def send(request: Request, files: dict[str, StaticFile]) -> Response:
    """Answer with a file, or with 304 if the browser has it already."""
    found = files.get(request.path_params["path"])
    if found is None:
        return PlainTextResponse("There is no such file.\n", status_code=404)
    headers = {
        "etag": found.tag,
        "cache-control": "no-cache",
        "x-content-type-options": "nosniff",
    }
    if found.tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(found.content, media_type=found.kind, headers=headers)
