"""Finds text that cannot be read in a page: cut off, beyond the edge of the screen, or lying over other text."""

_FIND = """() => {
  const faults = [], boxes = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), range = document.createRange();
  while (walker.nextNode()) {
    const node = walker.currentNode, parent = node.parentElement, text = node.data.trim().slice(0, 60);
    if (!text || !parent.checkVisibility({visibilityProperty: true}) || parent.closest("option, textarea, #slots thead, .hidden-text")) continue;
    range.selectNodeContents(node);
    for (const rect of range.getClientRects()) {
      if (rect.width < 2 || rect.height < 2) continue;
      let scrolls = false, hidden = false;
      for (let one = parent; one !== document.body; one = one.parentElement) {
        const overflow = getComputedStyle(one).overflowX, edge = one.getBoundingClientRect();
        if (overflow === "visible") continue;
        if (overflow !== "auto" && overflow !== "scroll") {
          if (!(one instanceof SVGElement) && (rect.right > edge.right + 1 || rect.left < edge.left - 1)) faults.push(`cut off: ${text}`);
          continue;
        }
        scrolls = true;
        hidden ||= rect.bottom > edge.bottom || rect.top < edge.top || rect.left > edge.right;
      }
      if (!scrolls && (rect.right > innerWidth + 1 || rect.left < -1)) faults.push(`beyond the edge: ${text}`);
      // Letters fill the middle of their line.
      if (!hidden) boxes.push({text, parent, left: rect.left, right: rect.right, top: rect.top + rect.height / 4, bottom: rect.bottom - rect.height / 4});
    }
  }
  for (const button of document.querySelectorAll("button, select, summary")) {
    if (button.checkVisibility() && button.scrollWidth > button.clientWidth + 1) faults.push(`wider than its box: ${button.textContent.trim().slice(0, 60)}`);
  }
  for (const [at, one] of boxes.entries()) for (const other of boxes.slice(at + 1)) {
    const wide = Math.min(one.right, other.right) - Math.max(one.left, other.left), high = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
    if (one.parent !== other.parent && wide > 2 && high > 2) faults.push(`over each other: ${one.text} | ${other.text}`);
  }
  return faults;
}"""


def text_faults(page):
    """The faults of the texts that a page shows now, each in a few words."""
    return page.evaluate(_FIND)
