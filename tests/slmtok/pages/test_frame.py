"""The frame of pages, and the drawings that are made without a library."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode

import numpy as np
from shared_data import peer

from slmtok.pages.frame import frame, visible
from slmtok.pages.pictures import mask_picture, row_bars


def test_a_browser_runs_the_script_of_the_page_alone() -> None:
    page = frame("t", "<p>b</p>", scripts=("tokenizer.js",), data={"a": 1})
    policy = re.search(r'content="(default-src[^"]*)"', page)
    script = re.search(r"<script>(.*)</script>", page, re.DOTALL)
    assert policy is not None and script is not None
    digest = b64encode(hashlib.sha256(script[1].encode()).digest()).decode()
    assert policy[1] == f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    assert "script" not in frame("t", "")


def test_fields_in_a_text_are_not_filled() -> None:
    page = frame("{{ body }}\u202e<b>", "{{ title }} {{ script }}")
    assert "<h1>{{ body }}\\u202e&lt;b&gt;</h1>\n{{ title }} {{ script }}" in page
    assert visible("a\n\x00é") == "a\n\\u0000é"


def test_rows_of_a_batch() -> None:
    svg = row_bars([[0, 0, 1, 1], [0, 0, 0, -1]], width=40)
    bars = re.findall(r'<rect x="([\d.]+)" y="(\d+)" width="([\d.]+)" height="14" fill="var\(--series-(\d)\)"', svg)
    assert bars == [("0.00", "0", "20.00", "0"), ("20.00", "0", "20.00", "1"), ("0.00", "18", "30.00", "0")]


def test_a_mask_is_drawn_by_the_share_of_allowed_pairs() -> None:
    causal = np.tril(np.ones((4, 4), dtype=bool))
    cells = re.findall(
        r'<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="4.00" fill="[^"]*" fill-opacity="([\d.]+)"',
        mask_picture(causal, 2, 8),
    )
    # Of the two cells on the diagonal, three of four pairs are allowed; below it all.
    assert cells == [("0.00", "0.00", "4.00", "0.75"), ("0.00", "4.00", "4.00", "1"), ("4.00", "4.00", "4.00", "0.75")]


def test_columns_of_numbers_stand_right() -> None:
    peer("jinja2")
    from slmtok.pages.sections import Section, Table, report_page

    table = Table("<c>", ["", "x", "y"], [["a", "1,234", "one"], ["b", "-2.5e-07", "<two>"], ["c", "", "3"]])
    assert table.left == [True, False, True]
    sections = [Section("s", "S", [table]), Section("e", "Empty", [])]
    page = report_page("t", sections, footer="f", fix="", option="").html
    assert '<td class="words">&lt;two&gt;</td>' in page
    assert "<td>1,234</td>" in page
    assert "Empty" not in page
