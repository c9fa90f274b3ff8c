"""Diverse beam search (Vijayakumar et al. 2018): groups of beams, each kept away from the ids of those before it.

In each step the groups choose one after another; an extension loses `diversity_penalty` for each beam of an earlier
group that takes the same id in this step (Hamming diversity). Scores are those of beam search, which one group equals.
"""

from __future__ import annotations

from collections.abc import Sequence

from slmmodel.errors import OptionError
from slmmodel.models.protocol import Model
from slmmodel.sampling import SamplingOptions, check_range
from slmmodel.sampling.beam import Beam, BeamGroup, run_beams


def diverse_beam_search(
    model: Model,
    prompt: Sequence[int],
    options: SamplingOptions | None = None,
    *,
    beams: int = 6,
    groups: int = 3,
    diversity_penalty: float = 0.5,
    max_new_tokens: int = 256,
    length_penalty: float = 1.0,
) -> list[Beam]:
    """The `beams` best continuations of all groups, best first; continuations that several groups find stand once.

    Of the options, bans, penalties and stop ids apply. Raises `InvalidInput`, `OptionError`.
    """
    check_range("beam", beams, 1)
    check_range("beam_groups", groups, 1, beams)
    check_range("diversity_penalty", diversity_penalty, 0)
    if beams % groups:
        raise OptionError(
            f"{beams} beams do not divide into {groups} groups",
            limit="a multiple",
            fix=f"{-(-beams // groups) * groups} beams",
            option="--beam-groups",
        )
    found = run_beams(
        model,
        prompt,
        options,
        BeamGroup,
        beams,
        max_new_tokens,
        length_penalty,
        groups=groups,
        diversity_penalty=diversity_penalty,
    )
    distinct = {(tuple(beam.ids), beam.ended): beam for beam in found}
    return sorted(distinct.values(), key=lambda beam: -beam.score)[:beams]
