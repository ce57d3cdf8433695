// The room Explore: curves, the verdicts on their shapes, and the pairs behind a point.
import {CurveChart, points} from "/static/curves.js";
import {afterPause, ask, attempt, count, csv, download, fill, make, percent, place, query, saveAs, say, table} from "/static/common.js";

const state = {benchmarks: [], facts: null, curves: null, point: null, kind: "flipped", offset: 0, pairs: null, kinds: {}};
const chart = new CurveChart(place("chart"), pick);
const api = (name, values) => ask("GET", `/explore/api/${name}?${query(values)}`);

// One request of a kind at a time; of those that come meanwhile the last one follows.
function latest(work) {
  let busy = false, again = false;
  return async function run() {
    if (busy) { again = true; return; }
    busy = true;
    try {
      do { again = false; await attempt(work); } while (again);
    } finally { busy = false; }
  };
}

function chosenLinking() {
  const values = [...place("parameters").querySelectorAll("input")].map(input => Number(input.value));
  return [place("linking").value, ...values].join(":");
}

function marked(id) {
  return [...place(id).querySelectorAll("input:checked")].map(input => input.value);
}

function asked() {
  const one = state.benchmarks[place("benchmark").value];
  const runs = marked("runs");
  return {
    benchmark: one.benchmark, scorer: one.scorer, linking: chosenLinking(), by: place("by").value,
    split: place("split").value, values: marked("values").join("\n"),
    runs: runs.length === state.facts.runs.length ? "" : runs.join("\n"),
  };
}

const drawCurves = latest(async () => {
  const started = performance.now();
  const found = await api("curves", asked());
  state.curves = found;
  say("");
  showValues(found);
  await chart.draw(found);
  place("curve-notes").textContent = describe(found);
  place("timing").textContent = `${Math.round(performance.now() - started)} ms`;
  document.body.dataset.drawn = String(Number(document.body.dataset.drawn || 0) + 1);
  fillPoint(found);
});

const testShapes = latest(async () => {
  fill(place("shapes"), make("p", {class: "note"}, "The shapes are being tested."));
  const found = await api("shapes", asked());
  const columns = [
    {name: "group", title: "Line"}, {name: "value", title: "Curve"}, {name: "shape", title: "Shape"},
    {name: "p", title: "p (Holm)", number: true, show: value => value === null ? "–" : value.toFixed(4)},
    {name: "depth", title: "Depth (points)", number: true, show: percent},
    {name: "place", title: "Place (tokens)", number: true, show: value => count(value === null ? null : Math.round(value))},
    {name: "runs", title: "Runs", number: true},
  ];
  const notes = found.notes.map(text => make("p", {class: "note"}, text));
  fill(place("shapes"), found.classes.length ? table(columns, found.classes) : make("p", {}, "No curve can be tested."),
    make("details", {}, make("summary", {}, "What the test says, and what it does not"), ...notes));
});
const testLater = afterPause(700, testShapes);

const refresh = () => { drawCurves(); testLater(); if (state.point) showPairs(); };

const counts = {half: "one half", wrong: "as wrong", right: "as right"};
const means = {macro: ", mean over paradigms", macro_phenomena: ", mean over phenomena"};

function describe(found) {
  const bands = new Set(points(found).map(row => row.band));
  const more = found.values.length > found.shown.length
    ? ` ${found.shown.length} of ${found.values.length} values are drawn; choose others above.` : "";
  return `Linking function ${found.linking}${means[found.overall] || ""}, ties count ${counts[found.ties_rule]}. Band: ${[...bands].join("; ")}. Dotted: chance. `
    + `Step 0 stands at the left end of the axis. A click on a name in the legend isolates a curve.${more} ${found.notes.join(" ")}`;
}

function showValues(found) {
  const by = place("by").value, key = JSON.stringify([by, place("benchmark").value, place("split").value]);
  const box = place("values");
  if (box.dataset.key === key) return;
  box.dataset.key = key;
  place("values-title").textContent = by === "all" ? "Values" : `Values of ${by}`;
  const shown = new Set(found.shown);
  fill(box, ...found.values.map(value => choice("value", value.name, shown.has(value.name), `${value.name} (${count(value.n)})`)));
}

function choice(name, value, checked, text) {
  return make("label", {class: "choice"}, make("input", {type: "checkbox", name, value, checked, onchange: refresh}), ` ${text}`);
}

function fillPoint(found) {
  const runs = state.facts.runs.filter(run => run.steps[0] >= 0);
  keep("point-run", runs.map(run => [run.run, run.run]));
  keep("point-value", found.shown.map(value => [value, value]));
  fillSteps();
}

function fillSteps() {
  const run = state.facts.runs.find(one => one.run === place("point-run").value);
  keep("point-step", (run ? run.steps : []).map(step => [String(step), count(step)]));
}

// Fills a list and keeps what was chosen in it.
function keep(id, options) {
  const list = place(id), before = list.value;
  fill(list, ...options.map(([value, text]) => make("option", {value}, text)));
  if (options.some(([value]) => value === before)) list.value = before;
}

function pick(line, value, step) {
  const members = state.facts.runs.filter(run => run.line === line && run.steps.includes(step));
  if (!members.length) return;
  const before = place("point-run").value;
  place("point-run").value = members.some(run => run.run === before) ? before : members[0].run;
  fillSteps();
  place("point-step").value = String(step);
  place("point-value").value = value;
  choosePoint();
}

function choosePoint() {
  state.point = {run: place("point-run").value, step: Number(place("point-step").value), value: place("point-value").value};
  state.offset = 0;
  showPairs();
}

const forPoint = () => ({...asked(), values: state.point.value === "all" ? "" : state.point.value,
  runs: "", run: state.point.run, step: state.point.step});

const showPairs = latest(async () => {
  const found = await api("pairs", {...forPoint(), kind: state.kind, offset: state.offset});
  state.pairs = found;
  showKinds(found);
  const number = value => value === null ? "–" : value.toFixed(3);
  const columns = [
    {name: "pair", title: "Pair", number: true}, {name: "paradigm", title: "Paradigm"},
    {name: "good", title: "Good"}, {name: "bad", title: "Bad"},
    {name: "good_value", title: "Good value", number: true, show: number},
    {name: "bad_value", title: "Bad value", number: true, show: number},
    {name: "before", title: "Before"}, {name: "verdict", title: "Here"},
    {name: "trace", title: "Over training", show: trace},
  ];
  fill(place("pairs"), found.rows.length
    ? table(columns, found.rows, row => make("button", {type: "button", class: "plain", "aria-label": `Look at pair ${row.pair}`, onclick: () => showOne(row.pair)}, "look"))
    : make("p", {}, "No pair is of this kind here."));
  place("pages").hidden = false;
  place("place").textContent = `${found.offset + Math.min(1, found.rows.length)} to ${found.offset + found.rows.length} of ${count(found.counts[state.kind])}`;
  place("back").disabled = found.offset === 0;
  place("next").disabled = found.offset + found.rows.length >= found.counts[state.kind];
  document.body.dataset.listed = String(Number(document.body.dataset.listed || 0) + 1);
});

function showKinds(found) {
  const box = place("kinds");
  box.hidden = false;
  fill(box, make("legend", {}, `Pairs of ${state.point.run} at step ${count(state.point.step)} that are`),
    ...Object.entries(state.kinds).map(([kind, meaning]) => make("label", {class: "choice", title: meaning},
      make("input", {type: "radio", name: "kind", value: kind, checked: kind === state.kind, onchange: () => {
        state.kind = kind;
        state.offset = 0;
        showPairs();
      }}), ` ${kind} (${count(found.counts[kind])})`)),
    make("p", {class: "note"}, `${state.kind}: ${state.kinds[state.kind]}.`));
}

// The verdicts over training: high is right, low is wrong, the middle is a tie.
function trace(digits) {
  const name = {0: "wrong", 1: "tied", 2: "right"}, width = Math.min(140, 6 * digits.length);
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  for (const [key, value] of Object.entries({width, height: 18, viewBox: `0 0 ${digits.length} 2.6`, preserveAspectRatio: "none", role: "img"})) svg.setAttribute(key, value);
  svg.setAttribute("aria-label", digits.length > 30 ? `right at ${[...digits].filter(one => one === "2").length} of ${digits.length} checkpoints` : [...digits].map(one => name[one]).join(", "));
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", [...digits].map((one, step) => `M${step} ${2.3 - one}h1`).join(""));
  path.setAttribute("stroke", "#0b4f8a");
  path.setAttribute("stroke-width", "0.5");
  svg.append(path);
  return svg;
}

async function showOne(pair) {
  const wanted = {...forPoint(), pair};
  const found = await attempt(() => api("pair", wanted));
  if (!found) return;
  place("one").hidden = false;
  place("one-title").textContent = `Pair ${found.pair} of ${wanted.benchmark}, ${wanted.run}`;
  fill(place("members"), make("strong", {}, "Good: "), found.good, make("br"), make("strong", {}, "Bad: "), found.bad);
  await window.vegaEmbed(place("history"), found.chart, {ast: true, renderer: "svg", actions: false});
  place("one-title").focus();
  fill(place("tokens"), make("p", {class: "note"}, "The checkpoint is being asked for the tokens."));
  try {
    const scores = await api("tokens", wanted);
    fill(place("tokens"), make("h3", {}, `Log probability of each token at step ${count(wanted.step)}`), tokenTable(scores));
  } catch (error) {
    fill(place("tokens"), make("p", {class: "note"}, `No tokens: ${error.message}`));
  }
}

function tokenTable(scores) {
  const length = Math.max(scores.good.length, scores.bad.length);
  const rows = [...Array(length).keys()].map(position => ({position: position + 1, good: scores.good[position], bad: scores.bad[position]}));
  const text = (value, row) => value === undefined ? "" : row.good && row.bad && row.good.token !== row.bad.token
    ? make("strong", {}, value.token) : value.token;
  const number = value => value === undefined || value.logprob === null ? "–" : value.logprob.toFixed(3) + (value.scored ? "" : " (not counted)");
  const columns = [
    {name: "position", title: "Token", number: true},
    {name: "good", title: "Good", show: text}, {name: "good", title: "log p", number: true, show: number},
    {name: "bad", title: "Bad", show: text}, {name: "bad", title: "log p", number: true, show: number},
  ];
  const sums = make("p", {class: "note"}, `Sums: good ${scores.sums.good.toFixed(4)}, bad ${scores.sums.bad.toFixed(4)} (stored: ${scores.stored.good.toFixed(4)}, ${scores.stored.bad.toFixed(4)}).`);
  return make("div", {}, table(columns, rows), sums);
}

// Forgets the values and the point that were chosen.
function forget() {
  fill(place("values"));
  delete place("values").dataset.key;
  state.point = null;
}

async function chooseBenchmark() {
  const one = state.benchmarks[place("benchmark").value];
  state.facts = await api("benchmark", {benchmark: one.benchmark, scorer: one.scorer});
  keep("linking", state.facts.linkings.map(linking => [linking.name, linking.name]));
  if (!place("linking").dataset.chosen) place("linking").value = state.facts.linkings[0].name;
  keep("by", state.facts.columns.map(name => [name, name === "all" ? "benchmark" : name]));
  fill(place("runs"), ...state.facts.runs.map(run => choice("run", run.run, true, run.run)));
  forget();
  fill(place("pairs"));
  place("kinds").hidden = place("pages").hidden = place("one").hidden = true;
  showParameters();
}

function showParameters() {
  const linking = state.facts.linkings.find(one => one.name === place("linking").value);
  fill(place("parameters"), ...linking.parameters.map(parameter => {
    const shown = make("output", {}, String(parameter.value));
    const slider = make("input", {type: "range", min: parameter.low, max: parameter.high, step: parameter.step, value: parameter.value, "aria-label": parameter.name,
      oninput: () => { shown.textContent = slider.value; refresh(); }});
    return make("label", {}, make("span", {}, `${parameter.name} = `, shown), slider);
  }));
}

function listen() {
  place("benchmark").addEventListener("change", () => attempt(async () => { await chooseBenchmark(); refresh(); }));
  place("linking").addEventListener("change", () => { place("linking").dataset.chosen = "yes"; showParameters(); refresh(); });
  for (const id of ["by", "split"]) place(id).addEventListener("change", () => {
    forget();
    refresh();
  });
  for (const id of ["controls", "point"]) place(id).addEventListener("submit", event => event.preventDefault());
  place("point-run").addEventListener("change", () => { fillSteps(); choosePoint(); });
  for (const id of ["point-step", "point-value"]) place(id).addEventListener("change", choosePoint);
  place("values-filter").addEventListener("input", event => {
    const wanted = event.target.value.toLowerCase();
    for (const label of place("values").children) label.hidden = !label.textContent.toLowerCase().includes(wanted);
  });
  const turn = by => { state.offset += by; showPairs(); };
  place("back").addEventListener("click", () => turn(-50));
  place("next").addEventListener("click", () => turn(50));
  place("save-csv").addEventListener("click", () => download("curves.csv", csv(state.curves.columns, points(state.curves))));
  place("pairs-csv").addEventListener("click", () => download("pairs.csv",
    csv(["pair", "paradigm", "good", "bad", "good_value", "bad_value", "before", "verdict", "trace"], state.pairs.rows)));
  for (const kind of ["svg", "png"]) place(`save-${kind}`).addEventListener("click", () => attempt(async () => {
    saveAs(await chart.view.toImageURL(kind, kind === "png" ? 3 : 1), `curves.${kind}`);
  }));
}

await attempt(async () => {
  const found = await api("runs", {});
  state.kinds = found.kinds;
  const names = new Map();
  for (const run of found.runs) for (const one of run.scored) names.set(`${one.benchmark}, scored by ${one.scorer}`, one);
  state.benchmarks = [...names.values()];
  if (!state.benchmarks.length) throw new Error("None of the runs has stored scores; score.py makes them.");
  keep("benchmark", [...names.keys()].map((name, position) => [String(position), name]));
  const wanted = new URLSearchParams(location.search).get("benchmark");
  const position = state.benchmarks.findIndex(one => one.benchmark === wanted);
  if (position >= 0) place("benchmark").value = String(position);
  listen();
  await chooseBenchmark();
  refresh();
});
