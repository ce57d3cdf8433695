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
