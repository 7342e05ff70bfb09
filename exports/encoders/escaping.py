"""Text that a spreadsheet would run as a formula, made safe in a way that can be undone.

Decided by a column's declared type, never by the look of a value: this is asked of text only. Text
is escaped with one leading apostrophe when its first character after blanks is one of `= + - @`,
full-width or not, or when it begins with a tab, CR or LF. Apostrophes at its start are looked
through, and text that had one before such a sign gets one more: `restore` is then exact for every
text. The rule is written twice, for Python and for SQL; a test holds them to each other.
"""

from __future__ import annotations

MARK = "'"
SIGNS = "=+-@＝＋－＠"
BREAKS = "\t\r\n"
# What spreadsheets, or the eye, take for nothing: blanks of every script, and marks without width.
BLANKS = (
    " \t\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0\u1680\u180e"
    + "".join(chr(code) for code in range(0x2000, 0x2010))
    + "\u2028\u2029\u202f\u205f\u2060\u3000\ufeff"
)


def leads_a_formula(text: str) -> bool:
    """Say whether a spreadsheet might take the text for a formula."""
    bare = text.lstrip(MARK)
    return bare.lstrip(BLANKS)[:1] in _SIGN_SET or bare[:1] in _BREAK_SET


def escape(text: str) -> str:
    """Return text that is only ever text."""
    return MARK + text if leads_a_formula(text) else text


def restore(text: str) -> str:
    """Return what `escape` was given."""
    return text[1:] if text.startswith(MARK) and leads_a_formula(text) else text


def sql_condition(text: str) -> str:
    """Write `leads_a_formula` in SQL over an expression of type text."""
    bare = f"ltrim({text}, '''')"
    # Most text begins with a letter or digit, and is done with after one look.
    plain = f"ascii({text}) BETWEEN 46 AND 60 OR ascii({text}) BETWEEN 65 AND 126"
    leads = f"ascii(ltrim({bare}, {_SQL_BLANKS})) IN ({_codes(SIGNS)}) OR ascii({bare}) IN ({_codes(BREAKS)})"
    return f"CASE WHEN {plain} THEN false ELSE {leads} END"


def _codes(letters: str) -> str:
    return ", ".join(str(ord(letter)) for letter in letters)


_SIGN_SET = frozenset(SIGNS)
_BREAK_SET = frozenset(BREAKS)
_SQL_BLANKS = "E'" + "".join(f"\\u{ord(letter):04x}" for letter in BLANKS) + "'"
