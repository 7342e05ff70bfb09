"""The parts of a workbook around its rows: what lists the sheets, names their types and styles."""

from __future__ import annotations

import re
from html import escape

from exports.columns import Kind

GENERAL, TEXT, HEADER = 0, 1, 2
STYLES = {Kind.DATE: 3, Kind.INSTANT: 4, Kind.WALL_TIME: 4, Kind.TIME: 5}
SHEET_TAIL = "</sheetData></worksheet>"
LONGEST_NAME = 31
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_TYPES = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
# A spreadsheet refuses these in a sheet's name, XML the control characters.
_NOT_IN_NAMES = re.compile(r"[\[\]:*?/\\\x00-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


def letters(at: int) -> str:
    """Return the name of the column at this place: A, B, ... Z, AA."""
    name = ""
    at += 1
    while at:
        at, rest = divmod(at - 1, 26)
        name = chr(ord("A") + rest) + name
    return name


def sheet_name(title: str, number: int) -> str:
    """Name a sheet after the title, as far as a spreadsheet takes it; the second and later ones with their number."""
    end = "" if number == 1 else f" {number}"
    name = " ".join(_NOT_IN_NAMES.sub(" ", title).split()).strip("'")
    room = LONGEST_NAME - len(end)
    while len(name.encode("utf-16-le")) // 2 > room:
        name = name[:-1]
    name = name.strip(" '")
    if not name or name.casefold() == "history":  # a name that Excel keeps for itself
        name = "Rows"
    return name + end


def sheet_head(columns: int) -> str:
    """Begin a sheet: its first row stays in sight, and its columns are wide enough for an instant."""
    return (
        f'{_XML}<worksheet xmlns="{_MAIN}"><sheetViews><sheetView workbookViewId="0">'
        '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews>'
        f'<cols><col min="1" max="{max(columns, 1)}" width="20" customWidth="1"/></cols><sheetData>'
    )


def frame(*, title: str, sheets: int) -> dict[str, str]:
    """Return every part but the sheets, by its place in the file."""
    numbers = range(1, sheets + 1)
    listed = "".join(f'<sheet name="{escape(sheet_name(title, n))}" sheetId="{n}" r:id="rId{n}"/>' for n in numbers)
    overrides = "".join(
        f'<Override PartName="/xl/worksheets/sheet{n}.xml" ContentType="{_TYPES}.worksheet+xml"/>' for n in numbers
    )
    related = "".join(
        f'<Relationship Id="rId{n}" Type="{_OFFICE}/worksheet" Target="worksheets/sheet{n}.xml"/>' for n in numbers
    )
    return {
        "xl/workbook.xml": f'{_XML}<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><bookViews><workbookView/></bookViews>'
        f"<sheets>{listed}</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'{_XML}<Relationships xmlns="{_PACKAGE}/relationships">{related}'
        f'<Relationship Id="rId{sheets + 1}" Type="{_OFFICE}/styles" Target="styles.xml"/></Relationships>',
        "xl/styles.xml": _STYLESHEET,
        "_rels/.rels": f'{_XML}<Relationships xmlns="{_PACKAGE}/relationships">'
        f'<Relationship Id="rId1" Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "[Content_Types].xml": f'{_XML}<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPES}.sheet.main+xml"/>'
        f'<Override PartName="/xl/styles.xml" ContentType="{_TYPES}.styles+xml"/>{overrides}</Types>',
    }


# The cell formats in the order of their numbers above. A text cell that is edited stays text: quotePrefix says so.
_STYLESHEET = (
    f'{_XML}<styleSheet xmlns="{_MAIN}"><numFmts count="3"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd"/>'
    '<numFmt numFmtId="165" formatCode="yyyy\\-mm\\-dd\\ hh:mm:ss"/><numFmt numFmtId="166" formatCode="hh:mm:ss"/>'
    '</numFmts><fonts count="2"><font><sz val="11"/><name val="Calibri"/></font>'
    '<font><b/><sz val="11"/><name val="Calibri"/></font></fonts>'
    '<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill>'
    '</fills><borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>'
    '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs><cellXfs count="6">'
    '<xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>'
    '<xf numFmtId="49" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1" quotePrefix="1"/>'
    '<xf numFmtId="49" fontId="1" fillId="0" borderId="0" xfId="0" applyNumberFormat="1" applyFont="1"/>'
    + "".join(
        f'<xf numFmtId="{n}" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>'
        for n in (164, 165, 166)
    )
    + '</cellXfs><cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>'
)
