"""Opens pages in a headless Chromium and checks them: `python benchmarks/pages.py page.html ... [--shots DIR]`.

For each page, in a wide window and at 390 px, light and dark: time until it is drawn, errors of the console, network
requests, sideways scrolling, findings of axe-core; and whether Tab reaches every control. Needs Chromium, and
`pip install playwright axe-playwright-python`, which the package itself does not.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SIZES = {"wide": (1280, 900), "phone": (390, 844)}
MAX_TABS = 400
CONTROLS = "button:not([disabled]), input, select, textarea, a[href], summary, [tabindex='0']"
_NOTE_FOCUS = "(set) => document.activeElement === document.body || !set.add(document.activeElement)"


@contextmanager
def launch() -> Iterator[Any]:
    """A headless Chromium, that of the PATH."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("no Chromium on the PATH")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])


def check(browser: Any, path: Path, shots: Path | None) -> bool:
    """Prints one line for each look at a page; false where one of them has a fault."""
    from axe_playwright_python.sync_playwright import Axe

    fine = True
    for name, (width, height) in SIZES.items():
        for theme in ("light", "dark"):
            page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=theme)
            faults: list[str] = []
            page.on("console", lambda message, faults=faults: faults.append(f"console: {message.text}"))
            page.on("pageerror", lambda error, faults=faults: faults.append(f"error: {error}"))
            page.on("request", lambda request, faults=faults: _note_request(request, faults))
            start = time.perf_counter()
            page.goto(path.absolute().as_uri(), wait_until="load")
            page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)))")
            _wait_for_data(page)
            seconds = time.perf_counter() - start
            if page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
                faults.append("the page scrolls sideways")
            # axe is code of another origin, so it runs in a copy of the page without the policy.
            found = Axe().run(page).response["violations"]
            faults += [f"axe: {one['id']} ({one['impact']}), {one['nodes'][0]['html'][:120]}" for one in found]
            if theme == "light":
                faults += _untouched(page)
            if shots is not None:
                page.screenshot(path=shots / f"{path.stem}-{name}-{theme}.png", full_page=True)
            page.close()
            print(
                json.dumps(
                    {"page": path.name, "size": name, "theme": theme, "seconds": round(seconds, 2), "faults": faults}
                )
            )
            fine &= not faults
    return fine


def _note_request(request: Any, faults: list[str]) -> None:
    if not request.url.startswith("file:"):
        faults.append(f"request: {request.url[:80]}")


def _wait_for_data(page: Any) -> None:
    """Until the script of the page has drawn: it fills what was empty."""
    if page.query_selector("#tokens-body"):
        page.wait_for_selector("#tokens-body tr", timeout=20000)
    elif page.query_selector("#panels"):
        page.wait_for_selector("#panels .panel", timeout=20000)


def _untouched(page: Any) -> list[str]:
    """The visible controls that Tab does not reach."""
    page.evaluate("document.activeElement.blur()")
    reached = page.evaluate_handle("new Set()")
    for _ in range(MAX_TABS):
        page.keyboard.press("Tab")
        if page.evaluate(_NOTE_FOCUS, reached):
            break
    script = f"""(set) => [...document.querySelectorAll({CONTROLS!r})]
        .filter((e) => e.checkVisibility() && !set.has(e) && !(e.type === "radio" && !e.checked))
        .map((e) => e.outerHTML.slice(0, 100))"""
    return [f"keyboard: {each}" for each in page.evaluate(script.replace("\\'", "'"), reached)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="+", type=Path)
    parser.add_argument("--shots", type=Path, help="folder for screenshots")
    given = parser.parse_args()
    with launch() as browser:
        results = [check(browser, path, given.shots) for path in given.pages]
        return 0 if all(results) else 1


if __name__ == "__main__":
    raise SystemExit(main())
