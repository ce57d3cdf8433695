// Draws every chart where it stands. With ast its expressions are interpreted, so that the page can forbid eval.
function draw(place) {
  const chart = JSON.parse(place.nextElementSibling.textContent);
  if (chart.facet) chart.columns = Math.max(1, Math.floor((place.clientWidth - 70) / (chart.spec.width + 15))); // panels beside each other
  vegaEmbed(place, chart, {
    mode: "vega-lite", ast: true, renderer: "svg", downloadFileName: place.dataset.name,
    bind: place.previousElementSibling,
    actions: {export: true, source: false, compiled: false, editor: false},
  }).then(() => {
    document.querySelectorAll(".hint").forEach(hint => { hint.hidden = false; });
    place.querySelector("summary")?.setAttribute("aria-label", `Save ${place.dataset.name} as SVG or PNG`);
  }).catch(error => { place.textContent = `The chart was not drawn: ${error.message}`; });
}
// A chart is as wide as its place, which has no width before its section is opened.
const places = new ResizeObserver(entries => entries.forEach(({target}) => {
  if (!target.clientWidth) return;
  places.unobserve(target);
  draw(target);
}));
document.querySelectorAll(".chart").forEach(place => places.observe(place));
