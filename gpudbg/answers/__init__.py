"""What commands answer: typed records, and their renderers.

A command returns one of the answers of `records`: a table of rows, a listing, a card, a notice, a
printed text, or several of those.  Rows are frozen dataclasses whose fields say how they are shown
(`columns`, `formats`).  Every form of an answer is made from the same record: text (`text`), the
data of `--json` (`data`), GDB/MI's fields (`gpudbg.frontends.mi.shown`) and what widgets draw.
"""

from gpudbg.answers.columns import Column, column, computed, shown_columns, typed_row
from gpudbg.answers.data import data_of
from gpudbg.answers.formats import ABSENT, COUNT, HERE, LIST, ROWS, YES, Format
from gpudbg.answers.records import (
    NOTHING,
    Answer,
    Card,
    Listing,
    Notice,
    Printed,
    Sections,
    Table,
    TableStyle,
)
from gpudbg.answers.text import align_of, lines_of, width_of
from gpudbg.answers.words import (
    coordinates,
    dim,
    extents,
    lane_list,
    lane_marks,
    plain_coordinates,
    significant,
)

__all__ = [
    "ABSENT",
    "COUNT",
    "HERE",
    "LIST",
    "NOTHING",
    "ROWS",
    "YES",
    "Answer",
    "Card",
    "Column",
    "Format",
    "Listing",
    "Notice",
    "Printed",
    "Sections",
    "Table",
    "TableStyle",
    "align_of",
    "column",
    "computed",
    "coordinates",
    "data_of",
    "dim",
    "extents",
    "lane_list",
    "lane_marks",
    "lines_of",
    "plain_coordinates",
    "shown_columns",
    "significant",
    "typed_row",
    "width_of",
]
