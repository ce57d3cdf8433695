"""The frame of the report's page: its style, its one script, and what the browser may load (nothing)."""

import html

STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, "Noto Sans CJK SC", "WenQuanYi Zen Hei", sans-serif; color: #1b1b1b;
  background: #fff; max-width: 68rem; margin: 0 auto; padding: 1rem; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.25rem; margin-top: 2.2rem; border-bottom: 1px solid #ccc; }
p, figcaption { max-width: 48rem; } figcaption, .note { color: #444; font-size: .88rem; }
a { color: #0b4f8a; } nav ul { columns: 20rem; margin: 0; padding-left: 1.2rem; } nav li { break-inside: avoid; }
figure { margin: 1.2rem 0; } figure h3 { margin: 0 0 .3rem; font-size: 1.02rem; }
img { max-width: 100%; height: auto; }
@media screen and (max-width: 40rem) { .image { overflow-x: auto; } img.wide { max-width: none; } }
.table { overflow: auto; max-height: 75vh; margin: .8rem 0; }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; overflow-wrap: normal; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid #ddd; text-align: left; vertical-align: top; }
td { max-width: 26rem; }
thead th { position: sticky; top: 0; z-index: 1; background: #fff; box-shadow: inset 0 -1px #999; }
td.number, th.number { text-align: right; } td:is(.number, .name) { white-space: nowrap; }
th button { font: inherit; font-weight: 600; background: none; border: 0; padding: 0; cursor: pointer; color: #0b4f8a;
  text-align: inherit; }
th[aria-sort=ascending] button::after { content: " \\25B2"; }
th[aria-sort=descending] button::after { content: " \\25BC"; }
@media print { body { max-width: none; font-size: 10pt; padding: 0; }
  .table { overflow: visible; max-height: none; } table { font-size: 7.5pt; overflow-wrap: anywhere; }
  td.name { white-space: normal; }
  th, td { padding: .1rem .3rem; } table.many { font-size: 5.5pt; }
  table.many :is(th, td) { padding: .1rem .15rem; white-space: normal; }
  th button, a { color: inherit; text-decoration: none; }
  thead { display: table-header-group; } thead th { position: static; }
  figure, tr { break-inside: avoid; } h2, h3 { break-after: avoid; } }
"""

SCRIPT = """
function value(row, column) {
  const cell = row.cells[column];
  return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value || "NaN");
}
function compare(a, b, sign) {
  if (typeof a === "string") return sign * a.localeCompare(b, undefined, {numeric: true});
  if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b);
  return sign * (a - b);
}
document.querySelectorAll("th button").forEach(button => button.addEventListener("click", () => {
  const head = button.parentElement, body = head.closest("table").tBodies[0];
  const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
  head.parentElement.querySelectorAll("th").forEach(other => other.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort", sign === 1 ? "ascending" : "descending");
  const column = head.cellIndex;
  [...body.rows].sort((a, b) => compare(value(a, column), value(b, column), sign)).forEach(row => body.append(row));
}));
"""

# The policy makes the browser refuse anything that is not in the file.
_HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline';
 script-src 'unsafe-inline'">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
"""


def page(title: str, body: str) -> str:
    """Write a page that needs no other file.

    Args:
        title: plain text.
        body: HTML.
    """
    head = _HEAD.format(title=html.escape(title), style=STYLE)
    return f"{head}<h1>{html.escape(title)}</h1>\n{body}\n<script>{SCRIPT}</script>\n</body>\n</html>\n"
