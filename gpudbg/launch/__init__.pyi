from .flags import program_first as program_first
from .form import LaunchForm as LaunchForm
from .opening import Opening as Opening
from .prepare import kernel_name as kernel_name
from .templates import template as template
