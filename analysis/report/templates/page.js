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

// Unfolds what an address such as #shapes names, and all of it for print.
const folds = [...document.querySelectorAll("details")], sections = folds.filter(one => one.id);
function reveal() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  for (let one = target; one; one = one.parentElement) if (one.tagName === "DETAILS") one.open = true;
  target.scrollIntoView();
}
addEventListener("hashchange", reveal);
document.querySelectorAll("nav a").forEach(link => link.addEventListener("click", () => setTimeout(reveal)));
reveal();
let closed = [];
addEventListener("beforeprint", () => { closed = folds.filter(one => !one.open); closed.forEach(one => { one.open = true; }); });
addEventListener("afterprint", () => closed.forEach(one => { one.open = false; }));
const all = document.getElementById("all");
if (all) {
  all.hidden = false;
  all.addEventListener("click", () => {
    const open = sections.some(one => !one.open);
    sections.forEach(one => { one.open = open; });
    all.textContent = open ? "Close all sections" : "Open all sections";
  });
}

// Says of a table that is wider than the page that it goes on; one in a closed section has no width yet.
const widths = new ResizeObserver(entries => entries.forEach(({target}) => {
  const cue = target.previousElementSibling;
  if (cue.classList.contains("cue")) cue.hidden = target.scrollWidth <= target.clientWidth + 1;
}));
document.querySelectorAll(".table").forEach(table => widths.observe(table));
