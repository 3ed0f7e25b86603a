from gpudbg.architectures import LISTED as LISTED
from gpudbg.architectures import RUN as RUN
from gpudbg.formats.reading import read_bytes as read_bytes

from .foreign import call_plugin as call_plugin
from .foreign import known_plugins as known_plugins
