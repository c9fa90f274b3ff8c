"""A profile for long runs of the property tests here: `pytest tests/formats --hypothesis-profile=fuzz`."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("fuzz", max_examples=20_000, suppress_health_check=list(HealthCheck))
