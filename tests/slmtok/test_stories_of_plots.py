"""Stories of some plots alone: those of the stream, in its order; plots that do not exist are refused."""

from __future__ import annotations

import io
from itertools import islice

import pytest

from slmtok.errors import UnknownName
from slmtok.stories import stories, story, write_stories
from slmtok.stories.assemble import plot_name
from slmtok.stories.plots import plots


def test_stories_of_some_plots_are_those_of_the_stream() -> None:
    chosen = {"kite_tree", "dark"}
    expected = [story(index, seed=4) for index in range(3 * len(plots())) if plot_name(index, 4) in chosen]
    assert len(expected) == 2 * 3
    assert list(islice(stories(seed=4, plots=chosen), 6)) == expected
    out = io.BytesIO()
    write_stories(out, 3000, seed=4, plots=chosen)
    assert out.getvalue().decode().startswith(expected[0] + "\n" + expected[1])
    for wrong, fact in (({"kite_three"}, "did you mean 'kite_tree'"), ((), "unknown plot ''")):
        with pytest.raises(UnknownName, match=fact):
            next(stories(plots=wrong))
