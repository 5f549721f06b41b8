"""Text of users in messages: URLs without the parts that may be secret, and no more of anything than a line can show.

Both take time proportional to the length of the text, because a stranger's file may choose it.
"""

import re

HIDDEN = "***"
LONGEST_WORD = 200  # characters that a message quotes of a text without white space
LONGEST = 2000  # characters of a message
# A URL from the end of its scheme; with one slash it is a path that was made of one. A chained URL has several of them, and a
# query hides what follows it.
_URL = re.compile(r"(?<=[A-Za-z0-9+.-])(?:(?<=[A-Za-z0-9+.-]{2})|(?=://)):/(?P<place>[^\s'\"<>?#]*)(?P<rest>[?#][^\s'\"<>]*)?")
_USER = re.compile(r"(?<=:/)(/?)[^/]*@")
_WORD = re.compile(rf"\S{{{LONGEST_WORD + 1},}}")


def redacted(text: str) -> str:
    """Replace user information, query and fragment of every URL in a text.

    All three may hold an access token, `https://TOKEN@host/graph.csv?signature=...`. A query hides what follows it in a chained
    URL, too. User information ends at the last `@` before the path. A path to which a URL was converted, `https:/TOKEN@host`, is
    treated alike.

    >>> redacted("simplecache::https://token@host/graph.csv?signature=1 was moved")
    'simplecache::https://***@host/graph.csv?*** was moved'
    """
    return _URL.sub(_hide, text)


def _hide(match: re.Match[str]) -> str:
    rest = match["rest"]
    return _USER.sub(rf"\1{HIDDEN}@", f":/{match['place']}") + (rest[0] + HIDDEN if rest else "")


def quoted(text: str) -> str:
    """A message, or a part of one, as it is shown: on one line, without secrets, and bounded.

    Characters that a terminal would obey or that cannot be printed are escaped as Python does. Of a text without white space at
    most `LONGEST_WORD` characters are shown, and of the whole at most `LONGEST`, always with its beginning and its end. The
    result stays as it is if this is called again.
    """
    text = "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in redacted(text))
    return _shortened(_WORD.sub(lambda word: _shortened(word[0], LONGEST_WORD), text), LONGEST)


def _shortened(text: str, most: int) -> str:
    """The beginning and the end of a text of more than `most` characters, with the number of those between them."""
    if len(text) <= most:
        return text
    begin, end = most // 2, most // 4
    return f"{text[:begin]}[... {len(text) - begin - end:,} characters ...]{text[-end:]}"
