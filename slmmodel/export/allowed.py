"""Which exports a configuration allows; known before anything is trained, from the configuration alone."""

from __future__ import annotations

from slmmodel.errors import UnsupportedExport
from slmmodel.export import TARGETS
from slmmodel.models import ModelConfig


def architecture(config: ModelConfig) -> str:
    """The target that a configuration can become. Raises `UnsupportedExport` with the reason of each that it cannot."""
    reasons = {name: target.mapper.refusal(config) for name, target in TARGETS.items()}
    for name, reason in reasons.items():
        if reason is None:
            return name
    said = "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
    raise UnsupportedExport(
        f"no architecture of Hugging Face is this {config.kind}",
        limit=said,
        fix="train a llama or a gpt2 without the settings named above; slm info RUN says what a run can become",
    )


def allowed(config: ModelConfig) -> dict[str, str]:
    """What a configuration can become, known before it is trained: `hf` to the architecture, or to why not."""
    try:
        return {"hf": architecture(config)}
    except UnsupportedExport as error:
        return {"hf": f"not possible ({error.limit})"}
