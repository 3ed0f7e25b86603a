from .findings import CHECKS as CHECKS
from .findings import DEFAULT_CHECKS as DEFAULT_CHECKS
from .findings import SEVERITIES as SEVERITIES
from .merging import merged as merged
from .report import CheckReport as CheckReport
from .run import check_plan as check_plan
