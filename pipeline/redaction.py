"""URLs without the parts that may be secret: for messages, logs, manifests and reports."""

import re

_URL = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*://)(?P<user>[^\s'\"<>/?#]*@)?(?P<path>[^\s'\"<>?#]*)(?P<rest>[?#][^\s'\"<>]*)?"
)
HIDDEN = "***"


def redacted(text: str) -> str:
    """Replace user information, query and fragment of every URL in a text.

    All three may hold an access token, `https://TOKEN@host/graph.csv?signature=...`. A query hides what follows it in a chained
    URL, too. User information ends at the last `@` before the path.

    >>> redacted("simplecache::https://token@host/graph.csv?signature=1: no such file")
    'simplecache::https://***@host/graph.csv?***'
    """

    def hide(url: re.Match[str]) -> str:
        scheme, user, path, rest = url["scheme"], url["user"], url["path"], url["rest"]
        # Of a chained URL the path holds the next one.
        return scheme + (f"{HIDDEN}@" if user else "") + redacted(path) + (rest[0] + HIDDEN if rest else "")

    return _URL.sub(hide, text)
