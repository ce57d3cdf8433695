// The chart of curves, for the rooms that show some.
export function points(found) {
  return found.rows.map(row => Object.fromEntries(found.columns.map((name, position) => [name, row[position]])));
}

export class CurveChart {
  // onPick is called with line, value and step of a point that was clicked.
  constructor(element, onPick = () => {}) {
    this.element = element;
    this.onPick = onPick;
    this.view = null;
    this.drawn = "";
    this.curves = {};
  }

  // Draws what /explore/api/curves gives; points that move redraw in place.
  async draw(found) {
    if (!Object.values(found.data).some(rows => rows.length)) throw new Error("There is no point to draw.");
    this.curves = found.curves;
    const chart = JSON.stringify(found.chart);
    if (this.drawn === chart) {
      for (const [name, rows] of Object.entries(found.data)) this.view.data(name, rows);
      await this.view.runAsync();
    } else await this.embed({...found.chart, datasets: {...found.chart.datasets, ...found.data}});
    this.drawn = chart;
    const lines = [...new Set(found.data.curves.map(row => row.curve))];
    this.element.setAttribute("aria-label", `Accuracy over training tokens: ${lines.slice(0, 12).join(", ")}.`);
  }

  async embed(chart) {
    const {view} = await window.vegaEmbed(this.element, chart, {ast: true, renderer: "svg", actions: false});
    this.view = view;
    view.addSignalListener("clicked", (_, value) => {
      if (value && value.step) this.onPick(...this.curves[value.curve[0]], value.step[0]);
    });
  }
}
