// Charts of curves in the colors of the page, for the rooms that show some.
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const dark = matchMedia("(prefers-color-scheme: dark)");

export const onScheme = work => dark.addEventListener("change", work);

// The palette is made for white paper; on a dark page its dark colors are lighter, and remain as different.
const LIGHTER = {"#0072B2": "#4a9fe0", "#56B4E9": "#b5e0fa", "#009E73": "#2fc39a", "#D55E00": "#f0803c", "#000000": "#e6e8eb"};
const BAND = 0.18, DARK_BAND = 0.32; // opacity of a band, as the charts have it, and one that is seen on a dark page
export const lineColor = color => dark.matches ? LIGHTER[color] ?? color : color;

// A chart with the colors of the page; the charts of the report name in their configuration all that depends on it.
export function themed(chart) {
  const ink = css("--ink"), muted = css("--muted"), line = css("--line"), paper = css("--paper");
  const {config} = chart;
  let text = JSON.stringify(chart).replace(/"(#[0-9A-F]{6})"/g, (_, color) => JSON.stringify(lineColor(color)));
  if (dark.matches) text = text.replaceAll(`"fillOpacity":${BAND}`, `"fillOpacity":${DARK_BAND}`).replaceAll(`"value":${BAND}}`, `"value":${DARK_BAND}}`);
  const style = {chance: {color: muted}, untrained: {color: muted}, ring: {color: ink}, level: {color: ink}, chosen: {color: ink},
    "untrained-label": {...config.style["untrained-label"], color: muted}, partial: {fill: paper}};
  return {...JSON.parse(text), background: "transparent", config: {...config, style,
    axis: {...config.axis, labelColor: muted, titleColor: ink, gridColor: line, domainColor: muted, tickColor: muted},
    legend: {...config.legend, labelColor: ink}, title: {...config.title, color: ink}}};
}

// Draws a chart with its data and returns its view.
export async function embed(element, chart, data = {}) {
  const given = themed({...chart, datasets: {...chart.datasets, ...data}});
  return (await window.vegaEmbed(element, given, {ast: true, renderer: "svg", actions: false})).view;
}

export class CurveChart {
  // onPick is called with the line and the step of a point that was clicked.
  constructor(element, onPick = () => {}) {
    this.element = element;
    this.onPick = onPick;
    this.view = null;
    this.drawn = "";
  }

  // Draws the curves that /explore/api/curves gives; points that move redraw in place.
  async draw(found) {
    if (!Object.values(found.data).some(rows => rows.length)) throw new Error("There is no point to draw.");
    const {chart} = found, drawn = JSON.stringify([chart, dark.matches]);
    if (this.drawn === drawn) {
      for (const [name, rows] of Object.entries(found.data)) this.view.data(name, rows);
      await this.view.runAsync();
    } else {
      this.view?.finalize();
      this.view = await embed(this.element, chart, found.data);
      this.view.addSignalListener("clicked", (_, value) => {
        if (value && value.step) this.onPick(value.line[0], value.step[0]);
      });
    }
    this.drawn = drawn;
    const lines = [...new Set(found.data.curves.map(row => row.line))];
    this.element.setAttribute("aria-label", `Accuracy over training tokens: ${lines.slice(0, 12).join(", ")}.`);
  }
}
