from .rows import BreakpointRow as BreakpointRow
from .rows import LocationRow as LocationRow
from .rows import breakpoint_row as breakpoint_row
from .rows import located_row as located_row
from .table import Breakpoint as Breakpoint
from .table import BreakpointTable as BreakpointTable
from .watched import WatchKind as WatchKind
from .watched import line_of as line_of
