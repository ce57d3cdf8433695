// The room Explore: small curves, the pairs of the curve that is pointed at, and the tokens of a pair. What is looked at
// is in the address, so that a view can be sent.
import {CurveChart, embed, lineColor, onScheme} from "/static/curves.js";
import {listPairs, openPair, showPair} from "/static/pairs.js";
import {Panels} from "/static/panels.js";
import {afterPause, ask, attempt, count, csv, download, fill, make, percent, place, query, saveAs, say, table} from "/static/common.js";

const PAGE = 50; // pairs of a list
const GROWS = 4000; // milliseconds between two looks for new checkpoints
const TESTED = 100; // curves whose shapes are tested without being asked to
const START = {by: "", split: "all", runs: null, curve: "", run: "", step: null, kind: "all", offset: 0, pair: null, linking: ""};

let state = {...START, benchmark: "", scorer: ""}; // what the address says
let preview = null; // {curve, step} that a reader points at
let facts = null, found = null, shapes = null, kinds = {}, benchmarks = [], listed = null, version = "", alone = null;

const api = (name, values) => ask("GET", `/explore/api/${name}?${query(values)}`);

// One request of a kind at a time; of those that come meanwhile the last one follows.
function latest(work) {
  let busy = null, again = false;
  return function run() {
    if (busy) {
      again = true;
      return busy;
    }
    busy = (async () => {
      do {
        again = false;
        await attempt(work);
      } while (again);
    })().finally(() => { busy = null; });
    return busy;
  };
}

// The address.

function readAddress() {
  const given = new URLSearchParams(location.search), whole = name => given.get(name) === null || given.get(name) === "" ? null : Number(given.get(name));
  const texts = Object.fromEntries(["benchmark", "scorer", "linking", "by", "curve", "run"].map(name => [name, given.get(name) ?? ""]));
  return {...START, ...texts, split: given.get("split") ?? START.split, kind: given.get("kind") ?? START.kind,
    runs: given.getAll("runs").length ? given.getAll("runs") : null, step: whole("step"), pair: whole("pair"), offset: whole("offset") ?? 0};
}

function addressOf(changes) {
  const shown = {...state, ...changes}, values = new URLSearchParams();
  for (const [name, value] of Object.entries(shown)) {
    const usual = value === START[name] || value === "" || value === null;
    if (name === "runs") for (const run of value ?? []) values.append("runs", run);
    else if (!usual) values.set(name, value);
  }
  return `${location.pathname}?${values}`;
}

// Changes what is looked at: a choice is a step that the back button undoes, a movement (``by``) is not.
function change(changes, {moves = false} = {}) {
  state = {...state, ...changes};
  history[moves ? "replaceState" : "pushState"](null, "", addressOf({}));
}

// What is looked at: the curve and checkpoint that a reader points at, or else those of the address.

const value = () => found.values.find(one => one.name === (preview?.curve ?? state.curve)) ?? found.values[0];

function runOf(curve) {
  const trained = facts.runs.filter(run => run.steps[0] >= 0 && (state.runs === null || state.runs.includes(run.run)));
  return trained.find(run => run.run === state.run) ?? trained.find(run => run.line === curve.line) ?? trained[0];
}

function stepOf(run, curve) {
  const wanted = preview?.step ?? state.step ?? (curve.dips ? curve.step : null);
  return run.steps.includes(wanted) ? wanted : wanted === null ? run.steps.at(-1) : nearest(run.steps, wanted);
}

const nearest = (steps, wanted) => steps.reduce((best, one) => Math.abs(one - wanted) < Math.abs(best - wanted) ? one : best);

function stepAt(run, tokens) {
  const distance = step => {
    const own = run.tokens[run.steps.indexOf(step)];
    return own > 0 ? Math.abs(Math.log(own / tokens)) : Math.abs(Math.log(firstTokens(run) / 2.2 / tokens));
  };
  return run.steps.reduce((best, one) => distance(one) < distance(best) ? one : best);
}

const firstTokens = run => run.tokens.find(tokens => tokens > 0) ?? 1;

function point() {
  const curve = value(), run = runOf(curve);
  return run ? {curve, run, step: stepOf(run, curve)} : {curve, run: null, step: null};
}

function asked() {
  return {benchmark: state.benchmark, scorer: state.scorer, linking: state.linking, by: state.by, split: state.split,
    runs: (state.runs ?? []).join("\n")};
}

const forPoint = ({curve, run, step}) => ({...asked(), values: state.by === "all" ? "" : curve.name, runs: "", run: run.run, step});

// Curves.

const panels = new Panels(place("panels"), {
  address: curve => addressOf({curve, pair: null, offset: 0}),
  open: curve => {
    const step = preview?.curve === curve && preview.step !== null ? preview.step : state.step;
    preview = null;
    change({curve, step, pair: null, offset: 0});
    showPoint();
    const title = place("point-title");
    if (title.getBoundingClientRect().top > innerHeight || !matchMedia("(min-width: 70rem)").matches) title.scrollIntoView();
  },
  see: (curve, tokens) => {
    if (curve === null) preview = null;
    else {
      const run = runOf(found.values.find(one => one.name === curve));
      preview = {curve, step: tokens === null || !run ? null : stepAt(run, tokens)};
    }
    mark();
    showSoon();
  },
});
const chart = new CurveChart(place("chart"), (line, step) => {
  const own = found.lines.find(one => one.name === line), members = facts.runs.filter(run => run.line === own?.line && run.steps.includes(step));
  const run = members.find(one => one.run === state.run) ?? members[0];
  if (run) change({run: run.run, step, pair: null, offset: 0});
  showPoint();
});
const showSoon = afterPause(130, () => showPoint());

function mark() {
  const {curve, step} = point();
  panels.set("at", step);
  for (const {element, name} of panels.panels.values()) element.classList.toggle("seen", preview !== null && name === curve.name);
}

const drawCurves = latest(async () => {
  const wanted = asked();
  found = await api("curves", wanted);
  say("");
  byValue = new Map();
  drawPanels();
  place("curve-notes").textContent = describe();
  document.body.dataset.drawn = String(Number(document.body.dataset.drawn || 0) + 1);
  await showPoint();
});

// The rows of one value, cut out of all once for each reply.
let byValue = new Map();
function rowsOf(name) {
  if (!byValue.has(name)) byValue.set(name, Object.fromEntries(Object.entries(found.data).map(([set, rows]) => [set, rows.filter(row => row.value === name)])));
  return byValue.get(name);
}

function verdictOf(name) {
  const own = shapes?.classes.filter(one => one.value === name) ?? [];
  if (own.length !== 1) return own.length && shapes.turned.includes(name) ? `${own.filter(one => one.class === "U-shaped").length} of ${own.length} lines are U-shaped` : "";
  return `test of shape: ${own[0].shape}${own[0].p === null ? "" : `, ${pValue(own[0].p)}`}`;
}

const titleOf = name => state.by === "all" ? "The whole benchmark" : ["phenomenon", "paradigm"].includes(state.by) ? name.replaceAll("_", " ") : `${state.by}: ${name}`;

function drawPanels() {
  const places = new Map((shapes?.order ?? []).map((name, position) => [name, position]));
  const ordered = [...found.values].sort((one, other) => (places.get(one.name) ?? 1e9) - (places.get(other.name) ?? 1e9));
  found.values = ordered;
  drawLegend();
  panels.draw(ordered.map(one => ({name: one.name, title: titleOf(one.name), says: one.says, sign: shapes?.turned.includes(one.name) ? "U" : "",
    tested: verdictOf(one.name)})),
  found.small, {of: rowsOf}, {at: point().step, alone});
  panels.choose(value().name);
  panels.filter(place("find").value);
}

function drawLegend() {
  const sample = (color, dash) => {
    const space = "http://www.w3.org/2000/svg", svg = document.createElementNS(space, "svg"), path = document.createElementNS(space, "path");
    for (const [key, text] of Object.entries({width: 34, height: 10, "aria-hidden": "true"})) svg.setAttribute(key, text);
    for (const [key, text] of Object.entries({d: "M1 5h32", stroke: color, "stroke-width": 2.2, "stroke-dasharray": dash.join(" ")})) path.setAttribute(key, text);
    svg.append(path);
    return svg;
  };
  const lines = found.lines.map(one => make("button", {type: "button", "aria-pressed": String(alone === one.name), title: "Show this line alone, or all again", onclick: () => {
    alone = alone === one.name ? null : one.name;
    panels.set("alone", alone);
    showAlone();
    drawLegend();
  }}, sample(lineColor(one.color), one.dash), one.name));
  const muted = "currentColor";
  fill(place("legend"), ...lines, make("span", {class: "key"}, sample(muted, [1, 3]), "chance (50 %)"), make("span", {class: "key"}, sample(muted, [4, 3]), "0: untrained"));
}

const counts = {half: "one half", wrong: "as wrong", right: "as right"};
const means = {macro: ", mean over paradigms", macro_phenomena: ", mean over phenomena"};

function describe() {
  return `${found.values.length === 1 ? "Accuracy" : `${found.values.length} curves, those that turn first, then those that are best at the end; accuracy`} from 0 to 100 % against training tokens. `
    + `Linking function ${found.linking}${means[found.overall] || ""}, ties count ${counts[found.ties_rule]}. ${found.band} `
    + `Point at a curve to see its pairs at that checkpoint, click or press Enter to keep it; the left and right arrow keys move through the checkpoints. ${found.notes.join(" ")}`;
}

// The test of shapes.

const pValue = p => p < 0.001 ? "p < 0.001" : `p = ${p.toFixed(3)}`;

const testShapes = latest(async () => {
  const wanted = asked(), key = JSON.stringify(wanted);
  fill(place("shapes"), make("p", {class: "note"}, "The shapes are being tested."));
  const tested = await api("shapes", wanted);
  if (key !== JSON.stringify(asked())) return;
  shapes = tested;
  showShapes();
  drawPanels();
  mark();
  showSays();
});

function showShapes() {
  const columns = [
    {name: "group", title: "Line"}, {name: "value", title: "Curve"}, {name: "shape", title: "Shape"},
    {name: "p", title: "p (Holm)", number: true, show: p => p === null ? "–" : p < 0.001 ? "< 0.001" : p.toFixed(3)},
    {name: "depth", title: "Depth (points)", number: true, show: percent},
    {name: "place", title: "Place (tokens)", number: true, show: tokens => count(tokens === null ? null : Math.round(tokens))},
    {name: "runs", title: "Runs", number: true},
  ];
  const notes = shapes.notes.map(text => make("p", {class: "note"}, text));
  fill(place("shapes"), shapes.classes.length ? table(columns, shapes.classes) : make("p", {}, "No curve can be tested."),
    make("details", {}, make("summary", {}, "What the test says, and what it does not"), ...notes));
}

const testLater = afterPause(700, () => {
  if (!found) return;
  const number = found.values.length * found.lines.length;
  if (number <= TESTED) testShapes();
  else fill(place("shapes"), make("button", {type: "button", class: "plain", onclick: testShapes}, `Test the shapes of ${count(number)} curves`),
    make("span", {class: "note"}, " This may take minutes."));
});

const refresh = async () => {
  shapes = null;
  await drawCurves();
  testLater();
};

// The pairs of a curve at a checkpoint.

const showPoint = latest(async () => {
  if (!found) return;
  const shown = point(), {curve, run, step} = shown;
  panels.choose(value().name);
  mark();
  showSays();
  await chart.draw({chart: large(found.chart), data: rowsOf(curve.name)});
  await showAlone();
  for (const id of ["steps", "kinds", "pairs", "pages"]) place(id).hidden = !run;
  if (!run) return;
  showSteps(shown);
  const values = {...forPoint(shown), kind: state.kind, offset: state.offset}, key = JSON.stringify([values, version]);
  if (listed?.key !== key) {
    const reply = await api("pairs", values);
    listed = {...reply, key, point: shown};
    showKinds();
    const focused = document.activeElement?.closest?.("li.pair")?.dataset.pair;
    listPairs(place("pairs"), listed, {place: listed.steps.indexOf(step), address: pair => addressOf({curve: curve.name, step, pair}), open: choosePair});
    if (focused) place("pairs").querySelector(`[data-pair="${focused}"] a`)?.focus({preventScroll: true});
    if (!listed.rows.length) fill(place("pairs"), make("li", {class: "note"}, "No pair is of this kind here."));
    place("place").textContent = `${listed.offset + Math.min(1, listed.rows.length)} to ${listed.offset + listed.rows.length} of ${count(listed.counts[state.kind])}`;
    place("back").disabled = listed.offset === 0;
    place("next").disabled = listed.offset + listed.rows.length >= listed.counts[state.kind];
    document.body.dataset.listed = String(Number(document.body.dataset.listed || 0) + 1);
  }
  await showOne();
});

// A chart of one line has nothing to show alone.
const showAlone = () => found.lines.length > 1 ? chart.view?.signal("alone", alone).runAsync() : null;

// The chart of one curve as it stands here: its legend is that of all curves.
const large = chart => ({...JSON.parse(JSON.stringify(chart, (key, value) => key === "legend" && value?.orient ? null : value)), height: 230});

function showSays() {
  const {curve} = point();
  place("point-title").textContent = titleOf(curve.name);
  place("point-says").textContent = `${[curve.says, verdictOf(curve.name)].filter(Boolean).join("; ")}. ${count(curve.n)} pairs.`;
}

function showSteps({run, step}) {
  const trained = facts.runs.filter(one => one.steps[0] >= 0 && (state.runs === null || state.runs.includes(one.run)));
  keep("run", trained.map(one => [one.run, one.run]), run.run);
  place("run-label").hidden = trained.length < 2;
  const slider = place("step"), position = run.steps.indexOf(step), tokens = run.tokens[position];
  slider.max = String(run.steps.length - 1);
  slider.value = String(position);
  const text = `step ${count(step)}${tokens === null ? "" : ` (${shortCount(tokens)} tokens)`}, ${position + 1} of ${run.steps.length}`;
  place("step-text").textContent = text;
  slider.setAttribute("aria-valuetext", text);
}

const shortCount = tokens => new Intl.NumberFormat("en", {notation: "compact", maximumSignificantDigits: 3}).format(tokens);

function showKinds() {
  fill(place("kinds"), make("legend", {}, `Pairs of ${listed.point.run.run} at step ${count(listed.point.step)} that are`),
    ...Object.entries(kinds).map(([kind, meaning]) => make("label", {class: "choice", title: meaning},
      make("input", {type: "radio", name: "kind", value: kind, checked: kind === state.kind, onchange: () => {
        change({kind, offset: 0, pair: null});
        showPoint();
        place("kinds").querySelector(`[value=${kind}]`).focus();
      }}), ` ${kind} (${count(listed.counts[kind])})`)),
    make("p", {class: "note"}, `${state.kind}: ${kinds[state.kind]}.`));
  if (!document.activeElement || document.activeElement === document.body) place("kinds").querySelector(":checked[data-back]")?.focus();
}

function choosePair(pair) {
  const {curve, run, step} = point(), before = state.pair;
  change({curve: curve.name, run: run.run, step, pair: before === pair ? null : pair});
  preview = null;
  showOne();
}

// Opens the pair of the address in the list, with its values and tokens at this checkpoint.
async function showOne() {
  const shown = preview ? null : state.pair, details = openPair(place("pairs"), shown);
  if (!details) return;
  const wanted = {...forPoint(point()), pair: shown}, key = JSON.stringify(wanted);
  if (details.dataset.key === key) return;
  details.dataset.key = key;
  const tokens = api("tokens", wanted);
  tokens.catch(() => {}); // said where the tokens would be
  const history = await attempt(() => api("pair", wanted));
  if (history && details.dataset.key === key) await showPair(details, history, tokens);
}

// Moves through the checkpoints of the run.
function move(by) {
  const {run, step, curve} = point();
  if (!run) return;
  const at = by === -Infinity ? 0 : by === Infinity ? run.steps.length - 1 : Math.max(0, Math.min(run.steps.length - 1, run.steps.indexOf(step) + by));
  goTo(run.steps[at], curve);
}

function goTo(step, curve) {
  if (preview) preview = {curve: curve.name, step};
  change({step, offset: 0}, {moves: true});
  mark();
  showSoon();
}

// The controls.

// Fills a list of choices and chooses one of them.
function keep(id, options, chosen) {
  const list = place(id), key = JSON.stringify(options);
  if (list.dataset.key !== key) {
    list.dataset.key = key;
    fill(list, ...options.map(([value, text]) => make("option", {value}, text)));
  }
  if (options.some(([value]) => value === chosen)) list.value = chosen;
}

function chosenLinking() {
  const values = [...place("parameters").querySelectorAll("input")].map(input => Number(input.value));
  return [place("linking").value, ...values].join(":");
}

function showParameters() {
  const [name, ...given] = state.linking.split(":"), linking = facts.linkings.find(one => one.name === name);
  fill(place("parameters"), ...linking.parameters.map((parameter, position) => {
    const value = given[position] ?? parameter.value, shown = make("output", {}, String(value));
    const slider = make("input", {type: "range", min: parameter.low, max: parameter.high, step: parameter.step, value, "aria-label": parameter.name,
      oninput: () => {
        shown.textContent = slider.value;
        change({linking: chosenLinking()}, {moves: true});
        refresh();
      }});
    return make("label", {}, make("span", {}, `${parameter.name} = `, shown), slider);
  }));
}

// Sets the controls to what the address says; what it does not say, or says wrongly, is as usual.
async function openBenchmark() {
  const one = benchmarks.find(one => one.benchmark === state.benchmark && (!state.scorer || one.scorer === state.scorer)) ?? benchmarks[0];
  state = {...state, benchmark: one.benchmark, scorer: one.scorer};
  facts = await api("benchmark", {benchmark: one.benchmark, scorer: one.scorer});
  version = (await api("changes", {benchmark: one.benchmark, scorer: one.scorer})).version;
  const [name] = state.linking.split(":");
  if (!facts.linkings.some(linking => linking.name === name)) {
    const first = facts.linkings[0];
    state.linking = [first.name, ...first.parameters.map(parameter => parameter.value)].join(":");
  }
  if (!facts.columns.includes(state.by)) state.by = facts.phenomena.length > 1 ? "phenomenon" : "all";
  if (!(state.kind in kinds)) state.kind = START.kind;
  keep("benchmark", benchmarks.map((one, position) => [String(position), `${one.benchmark}, scored by ${one.scorer}`]), String(benchmarks.indexOf(one)));
  keep("linking", facts.linkings.map(linking => [linking.name, linking.name]), state.linking.split(":")[0]);
  keep("by", facts.columns.map(name => [name, name === "all" ? "benchmark" : name]), state.by);
  place("split").value = state.split;
  fillRuns();
  showParameters();
}

function fillRuns() {
  const names = facts.runs.map(run => run.run);
  if (state.runs) state.runs = state.runs.filter(run => names.includes(run));
  if (state.runs && !state.runs.length) state.runs = null;
  fill(place("runs"), ...names.map(run => make("label", {class: "choice"}, make("input", {type: "checkbox", value: run, checked: !state.runs || state.runs.includes(run), onchange: () => {
    const chosen = [...place("runs").querySelectorAll("input:checked")].map(input => input.value);
    change({runs: chosen.length && chosen.length < names.length ? chosen : null});
    refresh();
  }}), ` ${run}`)));
  showTraining(facts.runs);
}

// Runs that are being trained.

function showTraining(runs) {
  const growing = runs.filter(run => run.status === "running");
  place("training").hidden = !growing.length;
  place("training").textContent = growing.length ? `In training: ${growing.map(run => `${run.run} (${count(run.steps.length ?? run.steps)} checkpoints scored)`).join(", ")}. New checkpoints are drawn as they come.` : "";
}

let lost = false;
const grow = latest(async () => {
  if (document.hidden || !found) return;
  const before = lost;
  lost = true;
  const now = await api("changes", {benchmark: state.benchmark, scorer: state.scorer});
  lost = false;
  if (before) say("");
  if (now.version === version) return;
  try {
    await api("curves", asked()); // a score may be there before the table of its run is written
  } catch {
    return;
  }
  version = now.version;
  facts = await api("benchmark", {benchmark: state.benchmark, scorer: state.scorer});
  fillRuns();
  await refresh();
});

function listen() {
  const choose = (id, changes) => place(id).addEventListener("change", event => attempt(async () => {
    change(changes(event.target.value));
    if (id === "benchmark") await openBenchmark();
    if (id === "linking") showParameters();
    await refresh();
  }));
  choose("benchmark", position => ({...START, benchmark: benchmarks[position].benchmark, scorer: benchmarks[position].scorer}));
  choose("linking", name => ({linking: [name, ...facts.linkings.find(one => one.name === name).parameters.map(parameter => parameter.value)].join(":")}));
  choose("by", by => ({by, curve: "", pair: null, offset: 0}));
  choose("split", split => ({split, pair: null, offset: 0}));
  for (const id of ["controls", "steps"]) place(id).addEventListener("submit", event => event.preventDefault());
  place("run").addEventListener("change", event => { change({run: event.target.value, pair: null, offset: 0}); showPoint(); });
  place("step").addEventListener("input", event => {
    const {run, curve} = point();
    goTo(run.steps[Number(event.target.value)], curve);
  });
  const moves = {ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity};
  place("panels").addEventListener("keydown", event => {
    if (!(event.key in moves) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    move(moves[event.key]);
  });
  place("find").addEventListener("input", event => panels.filter(event.target.value));
  const turn = by => { change({offset: Math.max(0, state.offset + by), pair: null}); showPoint(); };
  place("back").addEventListener("click", () => turn(-PAGE));
  place("next").addEventListener("click", () => turn(PAGE));
  place("save-csv").addEventListener("click", () => attempt(async () => {
    const {columns, rows} = await api("table", asked());
    download("curves.csv", csv(columns, rows.map(row => Object.fromEntries(columns.map((name, position) => [name, row[position]])))));
  }));
  place("pairs-csv").addEventListener("click", () => download("pairs.csv",
    csv(["pair", "paradigm", "good", "bad", "good_value", "bad_value", "before", "verdict", "trace"], listed.rows)));
  for (const kind of ["svg", "png"]) place(`save-${kind}`).addEventListener("click", () => attempt(async () => {
    const {view} = await window.vegaEmbed(make("div"), await api("figure", asked()), {ast: true, renderer: "svg", actions: false, width: 760});
    saveAs(await view.toImageURL(kind, kind === "png" ? 3 : 1), `curves.${kind}`);
    view.finalize();
  }));
  addEventListener("popstate", () => attempt(async () => {
    const before = JSON.stringify(asked());
    preview = null;
    state = {...state, ...readAddress()};
    await openBenchmark();
    if (JSON.stringify(asked()) === before) await showPoint();
    else await refresh();
  }));
  onScheme(() => { if (found) { drawPanels(); listed = null; showPoint(); } });
  setInterval(grow, GROWS);
  document.addEventListener("visibilitychange", grow);
}

await attempt(async () => {
  const given = await api("runs", {});
  kinds = given.kinds;
  const names = new Map();
  for (const run of given.runs) for (const one of run.scored) names.set(`${one.benchmark}\n${one.scorer}`, one);
  benchmarks = [...names.values()];
  if (!benchmarks.length) throw new Error("None of the runs has stored scores; score.py makes them.");
  state = readAddress();
  listen();
  await openBenchmark();
  history.replaceState(null, "", addressOf({}));
  await refresh();
  document.body.dataset.ready = "yes";
});
