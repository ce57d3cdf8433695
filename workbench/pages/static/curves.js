// The chart of curves, for the rooms that show some.
import {ask} from "/static/common.js";

export function points(found) {
  return found.rows.map(row => Object.fromEntries(found.columns.map((name, position) => [name, row[position]])));
}

// Where 0 stands on a logarithmic axis: left of the first tokens, by an eighth of its decades or twice as far left.
export function placeOfZero(positive) {
  const first = Math.min(...positive), last = Math.max(...positive);
  const zero = first / 10 ** Math.max(0.3, 0.12 * Math.log10(last / first));
  return {zero, middle: Math.sqrt(zero * first)};
}

// The name of a curve: what differs between the curves of the figure.
function namer(found) {
  const lines = new Set(points(found).map(row => row.group)), values = found.shown;
  return (line, value) => values.length === 1 && value === "all" ? line : lines.size <= 1 ? value : `${line}: ${value}`;
}

export class CurveChart {
  // onPick is called with line, value and step of a point that was clicked.
  constructor(element, onPick = () => {}) {
    this.element = element;
    this.onPick = onPick;
    this.view = null;
    this.axis = "";
  }

  // Draws what /explore/api/curves gives; points that move redraw in place.
  async draw(found) {
    const rows = points(found).filter(row => row.accuracy !== null), name = namer(found);
    const {zero, middle} = placeOfZero(rows.map(row => row.tokens).filter(value => value > 0));
    const curves = rows.map(row => ({
      curve: name(row.group, row.value), line: row.group, value: row.value, step: row.step, tokens: row.tokens,
      x: row.tokens > 0 ? row.tokens : zero, accuracy: 100 * row.accuracy, low: Math.max(0, 100 * row.low),
      high: Math.min(100, 100 * row.high), n: row.n, runs: row.runs}));
    const levels = found.levels.map(row => ({curve: name(row.run, row.value), accuracy: 100 * row.accuracy}));
    if (!curves.length && !levels.length) throw new Error("There is no point to draw.");
    const axis = `${zero} ${middle} ${levels.length > 0}`;
    if (this.axis === axis) {
      if (levels.length) this.view.data("levels", levels);
      await this.view.data("curves", curves).runAsync();
    } else await this.embed({curves, levels}, middle);
    this.axis = axis;
    const lines = [...new Set(curves.map(row => row.curve))];
    this.element.setAttribute("aria-label", `Accuracy over training tokens: ${lines.slice(0, 12).join(", ")}.`);
  }

  async embed(datasets, middle) {
    const spec = await ask("GET", "/explore/api/chart");
    spec.datasets = {...spec.datasets, ...datasets};
    if (!datasets.levels.length) spec.layer = spec.layer.filter(layer => layer.data?.name !== "levels");
    for (const layer of spec.layer) {
      const axis = layer.encoding?.x?.axis;
      if (axis) axis.labelExpr = `datum.value < ${middle} ? "" : format(datum.value, "~s")`;
    }
    const {view} = await window.vegaEmbed(this.element, spec, {ast: true, renderer: "svg", actions: false});
    this.view = view;
    view.addSignalListener("picked", (_, value) => {
      if (value && value.step) this.onPick(value.line[0], value.value[0], value.step[0]);
    });
  }
}
