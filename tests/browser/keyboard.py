"""What a day by keyboard alone needs: a watch over pointers and stolen keys, and Tab until an element has the focus."""

from __future__ import annotations

from playwright.sync_api import Locator, Page

WATCH = """
for (const kind of ["pointerdown", "mousedown", "touchstart"])
  window.addEventListener(kind, () => sessionStorage.setItem("pointed", kind), true);
window.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.altKey || event.metaKey) && event.defaultPrevented)
    sessionStorage.setItem("stolen", event.key);
});
"""


def tab_to(page: Page, wanted: Locator, *, key: str = "Tab") -> None:
    """Press Tab until the element has the focus, and see that the focus is drawn."""
    for _step in range(80):
        page.keyboard.press(key)
        if wanted.evaluate("element => element === document.activeElement"):
            ring = wanted.evaluate("element => getComputedStyle(element).outlineStyle")
            assert ring != "none", "the focus is not drawn"
            return
    raise AssertionError("Tab never comes there")


def nothing_was_pointed_at(page: Page) -> bool:
    """Say whether no pointer was used and no chord of the browser's was taken."""
    return bool(page.evaluate("!sessionStorage.getItem('pointed') && !sessionStorage.getItem('stolen')"))
