from gpudbg.debug.history.history import LaunchHistory as LaunchHistory
from gpudbg.debug.history.replay import Position as Position
