"""The tools: functions of a workshop and typed arguments; their signatures are the schemas."""
