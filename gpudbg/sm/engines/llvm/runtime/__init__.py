"""The run-time library: functions that compiled kernels call, made once for a host."""
