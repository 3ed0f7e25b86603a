"""Hypothesis in all tests: a loaded machine fails none."""

from __future__ import annotations

from hypothesis import HealthCheck, settings


def test_slow_examples_fail_no_test() -> None:
    every, few = settings(), settings(max_examples=3)
    for found in (every, few):
        assert found.deadline is None
        assert HealthCheck.too_slow in found.suppress_health_check
