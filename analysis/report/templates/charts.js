// Draws every chart where it stands. With ast its expressions are interpreted, so that the page can forbid eval.
document.querySelectorAll(".chart").forEach(place => {
  vegaEmbed(place, JSON.parse(place.nextElementSibling.textContent), {
    mode: "vega-lite", ast: true, renderer: "svg", downloadFileName: place.dataset.name,
    bind: place.previousElementSibling,
    actions: {export: true, source: false, compiled: false, editor: false},
  }).then(() => {
    place.parentElement.querySelector(".hint").hidden = false;
    place.querySelector("summary")?.setAttribute("aria-label", `Save ${place.dataset.name} as SVG or PNG`);
  }).catch(error => { place.textContent = `The chart was not drawn: ${error.message}`; });
});
