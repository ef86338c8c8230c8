"""Forms of the status page: small, urlencoded, read with a bound; and where they lead back to."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

if TYPE_CHECKING:
    from starlette.requests import Request

LARGEST = 256 * 1024
_MOST_FIELDS = 20
_KIND = "application/x-www-form-urlencoded"


_TEXTS = {
    400: "The form cannot be read.",
    413: f"The form is larger than {LARGEST // 1024} kB.",
    415: "This address takes forms only.",
}


class FormError(ValueError):
    """A form that no page of ours sends; its text says what is wrong with it.

    Args:
        status: The HTTP status that fits.
    """

    def __init__(self, status: int) -> None:
        super().__init__(_TEXTS[status])
        self.status = status


async def read_form(request: Request) -> dict[str, str]:
    """Read the fields of a form; of one that is there twice, the last.

    Raises:
        FormError: It is too large, of another kind, or no UTF-8.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != _KIND:
        raise FormError(415)
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > LARGEST:
            raise FormError(413)
    try:
        text = body.decode("ascii")
        fields = parse_qsl(
            text, keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict"
        )
    except ValueError as error:
        raise FormError(400) from error
    return dict(fields)


def local_path(wanted: str) -> str:
    """Return where to go after signing in: a path of this site, `/` for anything else."""
    elsewhere = wanted.startswith("//") or "\\" in wanted or not wanted.isprintable()
    return wanted if wanted.startswith("/") and not elsewhere else "/"
