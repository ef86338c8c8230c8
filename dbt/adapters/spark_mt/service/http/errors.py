"""Why a request is refused, or the HTTP server does not start."""

from __future__ import annotations

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError


class TokenRequiredError(MaterializedTableError):
    """The manager shall be reached from other machines, and has no token."""

    condition = "MATERIALIZED_TABLE_TOKEN_REQUIRED"
    text = "The manager does not listen at {host} without a token: {reason}."
    remedy = (
        "Give it a token of {length} characters or more in a file (--token-file) or in "
        "SPARK_MT_TOKEN, or let it listen at 127.0.0.1, where only this machine reaches it."
    )


class WeakTokenError(MaterializedTableError):
    """A token that is easily guessed, or cannot be sent in a header."""

    condition = "MATERIALIZED_TABLE_WEAK_TOKEN"
    text = "The token of the manager cannot be used: {reason}."
    remedy = (
        "Use {length} or more letters, digits and signs without blanks, such as the output of "
        "`openssl rand -hex 32`; nothing else depends on the token."
    )


class AddressTakenError(MaterializedTableError):
    """The manager cannot listen where it should."""

    condition = "MATERIALIZED_TABLE_ADDRESS_TAKEN"
    text = "The manager cannot listen at {host}, port {port}: {problem}."
    remedy = "Stop what listens there, or choose another port or address; port 0 takes a free one."


class ServerNotStartedError(MaterializedTableError):
    """The HTTP server did not come up."""

    condition = "MATERIALIZED_TABLE_HTTP_SERVER_NOT_STARTED"
    text = "The HTTP server at {host}, port {port} did not start: {problem}."
    remedy = "The manager's log tells more. No table was touched; start the manager again."


class UnauthenticatedError(MaterializedTableError):
    """A request carries no token or session that is valid, and needs one."""

    condition = "MATERIALIZED_TABLE_UNAUTHENTICATED"
    text = "This request needs the manager's token."
    remedy = (
        "Send it in the header `Authorization: Bearer`, or sign in on the status page. On the "
        "manager's machine `spark-mt token` prints it."
    )


class ForeignRequestError(MaterializedTableError):
    """A browser asks for a change, and nothing shows that the manager's own page began it."""

    condition = "MATERIALIZED_TABLE_FOREIGN_REQUEST"
    text = "The manager takes no changes from this page: {reason}."
    remedy = (
        "Use the buttons of the status page after signing in, or send the manager's token in the "
        "header `Authorization: Bearer`. Nothing was done."
    )


class UnknownHostError(MaterializedTableError):
    """The manager was addressed by a name that is not its own, as by a page that rebinds DNS."""

    condition = "MATERIALIZED_TABLE_UNKNOWN_HOST"
    text = "The manager is not known under the name that the request has in its Host header."
    remedy = (
        "Address it as 127.0.0.1 or localhost, or start it with the names under which it shall "
        "answer and with a token. Nothing was done."
    )


class InvalidRequestError(MaterializedTableError):
    """The body or the query of a request is not what the route takes."""

    condition = "MATERIALIZED_TABLE_INVALID_REQUEST"
    text = "The request is not valid; nothing was done."
    remedy = "Correct it as /openapi.json says, and send it again."


class UnsupportedMediaTypeError(MaterializedTableError):
    """A request that changes something is not sent as JSON."""

    condition = "MATERIALIZED_TABLE_UNSUPPORTED_MEDIA_TYPE"
    text = "The request is of the media type '{found}', not application/json; nothing was done."
    remedy = "Send the header `Content-Type: application/json`, without a body too."


class RequestTooLargeError(MaterializedTableError):
    """The body of a request is longer than any that makes sense."""

    condition = "MATERIALIZED_TABLE_REQUEST_TOO_LARGE"
    text = "The body of the request is longer than {limit} bytes; nothing was done."
    remedy = "Send less, or run the statement with `spark-mt sql`."


class NoSuchRouteError(MaterializedTableError):
    """There is nothing at this path."""

    condition = "MATERIALIZED_TABLE_NO_SUCH_ROUTE"
    text = "There is nothing at {path}."
    remedy = "/openapi.json lists what there is."


class WrongMethodError(MaterializedTableError):
    """There is something at this path, but not for this method."""

    condition = "MATERIALIZED_TABLE_METHOD_NOT_ALLOWED"
    text = "{path} does not take {method}; nothing was done."
    remedy = "It takes {allowed}; /openapi.json tells what for."


class ManagerBusyError(MaterializedTableError):
    """So many requests are being carried out that another one would only wait."""

    condition = "MATERIALIZED_TABLE_MANAGER_BUSY"
    text = "The manager is carrying out {limit} requests already; nothing was done."
    remedy = "Send the request again in a few seconds."


class ManagerStoppingError(MaterializedTableError):
    """The manager stops, and does not wait any longer for what a request began."""

    condition = "MATERIALIZED_TABLE_MANAGER_STOPPING"
    text = "The manager stops; whether the request is carried out is not known."
    remedy = (
        "Ask again when it runs: SHOW JOBS and the page of the table tell what was done. Repeating "
        "a request does no harm."
    )


class InternalError(MaterializedTableError):
    """The manager failed at a request in a way that it does not know."""

    condition = "MATERIALIZED_TABLE_INTERNAL_ERROR"
    text = "The manager failed at this request; whether anything was done is not known."
    remedy = (
        "Its log has the details under the request's id; SHOW JOBS and the page of the table tell "
        "what was done. Repeating a request does no harm."
    )


class ScheduleTimeMissingError(MaterializedTableError):
    """A periodic refresh does not say for when (message of Flink)."""

    condition = "MATERIALIZED_TABLE_SCHEDULE_TIME_MISSING"
    text = (
        "The scheduler time must not be null during the periodic refresh of the materialized "
        "table {table}."
    )
    remedy = (
        "Send scheduleTime, in the format of scheduleTimeFormat and the table's time zone; or send "
        "isPeriodic = false, which computes the whole table."
    )
