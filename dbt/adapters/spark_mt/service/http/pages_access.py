"""What the status page asks of the rules about who may see and do what (`access.py`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response


class PageAccess(Protocol):
    """Sessions of browsers: a token is typed once, a signed cookie stands for it afterwards."""

    @property
    def has_token(self) -> bool:
        """Whether the manager has a token at all; without one nobody can sign in."""
        ...

    def may_read(self, request: Request) -> bool:
        """Whether the request may see tables."""
        ...

    def is_signed_in(self, request: Request) -> bool:
        """Whether the request carries a session's cookie that is valid now."""
        ...

    def csrf_token(self, request: Request) -> str:
        """Return what every form of this session must carry; empty without a session."""
        ...

    def may_act(self, request: Request, csrf_token: str) -> bool:
        """Whether a form may change something: session, its CSRF token, and origin all fit."""
        ...

    def sign_in(self, request: Request, response: Response, token: str) -> bool:
        """Begin a session: put its cookie into the response if the token is right.

        False when it is not, or when the form came from another site.
        """
        ...

    def sign_out(self, request: Request, response: Response) -> None:
        """End the session: take its cookie away."""
        ...
