// What the test of shapes says of the curves that are drawn.
import {count, fill, make, percent, table} from "/static/common.js";

const LEAST = 0.001; // a smaller p is not written out
const shownP = p => p < LEAST ? `< ${LEAST}` : p.toFixed(3);

// What the test says of one curve, in a few words; nothing where it was not tested.
export function verdictOf(shapes, name) {
  const own = shapes?.classes.filter(one => one.value === name) ?? [];
  if (own.length > 1) {
    const turned = own.filter(one => one.class === "U-shaped").length;
    return turned ? `${turned} of ${own.length} lines are U-shaped` : "";
  }
  const [only] = own;
  if (!only) return "";
  const certainty = only.p === null ? "" : `, p ${only.p < LEAST ? "" : "= "}${shownP(only.p)}`;
  return `test of shape: ${only.shape}${certainty}`;
}

// Whether the dip that is told of a curve is shown by the test, in a list of no or one text.
export function isShown(shapes, {name, line, dips}) {
  if (!dips) return [];
  const own = shapes?.classes.find(one => one.value === name && one.line === line);
  if (!own?.shape.startsWith("U-shaped")) return [own ? "not shown: may be chance" : "not tested"];
  const reservation = /\((.*)\)/.exec(own.shape)?.[1] ?? "";
  return [reservation.includes("indicative") ? reservation : ["shown by the test", reservation].filter(Boolean).join(", ")];
}

// What the words in brackets after the shapes of a curve, or of all curves, mean.
export function meaningsOf(shapes, name = null) {
  const own = shapes?.classes.filter(one => name === null || one.value === name) ?? [];
  return [...new Set(own.flatMap(one => one.meanings))];
}

// The table of all verdicts, in the order of the curves, and what the test can say.
export function showShapes(box, shapes, titleOf) {
  const lines = new Set(shapes.classes.map(one => one.line)), places = new Map(shapes.order.map((name, position) => [name, position]));
  const columns = [
    {name: "value", title: "Curve", show: titleOf},
    {name: "line", title: "Line"},
    {name: "shape", title: "Shape", show: (shape, {meanings}) => make("span", {title: meanings.join(" ")}, shape)},
    {name: "p", title: "p (Holm)", number: true, show: p => p === null ? "–" : shownP(p)},
    {name: "depth", title: "Depth (points)", number: true, show: percent},
    {name: "place", title: "Place (tokens)", number: true, show: tokens => count(tokens === null ? null : Math.round(tokens))},
    {name: "runs", title: "Runs", number: true},
  ].filter(({name}) => name !== "line" || lines.size > 1);
  const rows = [...shapes.classes].sort((one, other) => places.get(one.value) - places.get(other.value));
  fill(box, rows.length ? table(columns, rows) : make("p", {}, "No curve can be tested."),
    ...meaningsOf(shapes).map(text => make("p", {class: "note"}, text)),
    make("details", {}, make("summary", {}, "What the test says, and what it does not"),
      ...shapes.notes.map(text => make("p", {class: "note"}, text))));
}
