// A table whose headings are buttons that sort its rows.
import {make, table} from "/static/common.js";

const compare = (one, other) => {
  if (one === null || other === null) return (one === null) - (other === null);  // what is missing stands last
  return typeof one === "string" ? one.localeCompare(String(other)) : one - other;
};

// As ``table``; ``mark`` gets each row with its line of the table.
export function sortable(columns, rows, label, mark) {
  const box = make("div", {});
  const draw = (ordered, sorted) => {
    const drawn = table(columns, ordered);
    drawn.setAttribute("role", "region");
    drawn.setAttribute("aria-label", label);
    drawn.querySelectorAll("tbody tr").forEach((line, index) => mark(ordered[index], line));
    drawn.querySelectorAll("thead th").forEach((heading, index) => {
      const {name, title} = columns[index];
      const rising = sorted?.name === name && sorted.rising;
      if (sorted?.name === name) heading.setAttribute("aria-sort", rising ? "ascending" : "descending");
      const arrow = sorted?.name === name ? (rising ? " ▲" : " ▼") : "";
      const sort = () => {
        const sign = rising ? -1 : 1;
        draw([...rows].sort((one, other) => sign * compare(one[name], other[name])), {name, rising: !rising});
        box.querySelectorAll("thead button")[index].focus();
      };
      heading.replaceChildren(make("button", {type: "button", onclick: sort}, title + arrow));
    });
    box.replaceChildren(drawn);
  };
  draw(rows, null);
  return box;
}
