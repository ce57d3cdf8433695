"""Finds what is drawn wrongly in the charts of a page: cut or overlapping texts, cut marks, lines that look alike."""

from typing import Any

_FAULTS = """charts => [...document.querySelectorAll(charts)].flatMap(svg => {
  const name = svg.closest("[data-name]")?.dataset.name ?? svg.closest("[id]")?.id, frame = svg.getBoundingClientRect(), faults = [];
  const box = one => one.getBoundingClientRect();
  const seen = one => getComputedStyle(one).opacity !== "0" && one.getAttribute("opacity") !== "0" && one.textContent.trim();
  const texts = [...svg.querySelectorAll("text")].filter(seen);
  const leaves = one => one.left < frame.left - 1 || one.right > frame.right + 1 || one.top < frame.top - 1 || one.bottom > frame.bottom + 1;
  for (const text of texts) if (leaves(box(text))) faults.push(`${name}: ${text.textContent} is cut`);
  texts.forEach((one, place) => texts.slice(place + 1).forEach(other => {
    const a = box(one), b = box(other);
    if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1)
      faults.push(`${name}: ${one.textContent} and ${other.textContent} overlap`);
  }));
  // Each mark belongs to the smallest plot that holds its middle; lines are compared within a plot.
  const plots = [...svg.querySelectorAll(".background")].map(box).sort((a, b) => a.width * a.height - b.width * b.height);
  const looks = new Map(plots.map(plot => [plot, []]));
  const unseen = "[fill=transparent][stroke-opacity='0']";
  for (const mark of svg.querySelectorAll(`.mark-line path, .role-mark.mark-symbol path:not(${unseen})`)) {
    const own = box(mark), x = (own.left + own.right) / 2, y = (own.top + own.bottom) / 2;
    const plot = plots.find(one => one.left - 1 <= x && x <= one.right + 1 && one.top - 1 <= y && y <= one.bottom + 1);
    const kind = mark.closest("g").getAttribute("class");
    if (!own.width) continue;
    if (!plot || own.left < plot.left - 1 || own.right > plot.right + 1 || own.top < plot.top - 1 || own.bottom > plot.bottom + 1)
      faults.push(`${name}: ${kind} is cut`);
    else if (mark.closest(".mark-line")) looks.get(plot).push(`${mark.getAttribute("stroke")} ${mark.getAttribute("stroke-dasharray")}`);
  }
  for (const own of looks.values()) if (new Set(own).size < own.length) faults.push(`${name}: lines look alike (${own.join(", ")})`);
  return faults;
})"""


def chart_faults(page: Any, charts: str) -> list[str]:
    """Return the faults of the charts that a selector finds (their ``svg`` elements), each in a few words."""
    found: list[str] = page.evaluate(_FAULTS, charts)
    return found


def count_lines(page: Any, charts: str) -> list[int]:
    """Return the number of lines in each of the charts."""
    script = "charts => [...document.querySelectorAll(charts)].map(svg => svg.querySelectorAll('.mark-line path').length)"
    found: list[int] = page.evaluate(script, charts)
    return found
