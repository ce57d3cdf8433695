// The room Explore: small curves, the pairs of the curve that is pointed at, and the tokens of a pair.
import {addressOf, readAddress, START} from "/static/address.js";
import {CurveChart, onScheme} from "/static/curves.js";
import {showLegend} from "/static/legend.js";
import {listPairs, markOpen} from "/static/pairs.js";
import {Panels} from "/static/panels.js";
import {PinnedPair} from "/static/pinned.js";
import {isShown, meaningsOf, showShapes, verdictOf} from "/static/shapes.js";
import {
  afterPause, ask, attempt, count, csv, download, fill, heard, latest, make, place, query, Refusal, rowsShown, saveAs, say, shortCount,
} from "/static/common.js";

const BOTH = "sentence,pll"; // scorers: each run has the first one that it was scored by
const PAGE = 50; // pairs of a list
const GROWS = 4000; // milliseconds between two looks for new runs and checkpoints
const TESTED = 100; // curves whose shapes are tested without being asked to
const FIGURE_WIDTH = 760;
const TURNED = {sign: "U", means: "U-shaped by the test of shape"};

let view = START; // what the address says
let preview = null; // {curve, step} that a reader points at; the step is null where only the curve is meant
let benchmarks = [], kinds = {}; // what can be chosen: {benchmark, scorer}, and the meaning of each kind of pairs
let facts = null; // of the benchmark: its linking functions, columns and runs
let found = null, rowsOf = null; // the curves, and the function that gives the data of the chart of one
let shapes = null; // what the test says of them, once it has
let listed = null; // the pairs in the list, with the request that they answer
let alone = null; // the name of the line that is shown alone
let version = ""; // changes when a run goes on

const api = (name, values) => ask("GET", `/explore/api/${name}?${query(values)}`);

// Changes what is looked at: the back button undoes a choice, and not each movement on the way to it.
function change(changes, {moves = false} = {}) {
  view = {...view, ...changes};
  history[moves ? "replaceState" : "pushState"](null, "", addressOf(view));
}

const choose = changes => change({...changes, pair: null, offset: 0}); // other pairs
const turnTo = changes => change({...changes, offset: 0}); // other sides of the pair that is open

// Which curve, run and checkpoint are shown: those that a reader points at, or else those of the address.

const curveNamed = name => found.values.find(one => one.name === name);
const shownCurve = () => curveNamed(preview?.curve) ?? curveNamed(view.curve) ?? found.values[0];

const levelKey = (factor, level) => `${factor}=${level}`;
const isHidden = run => Object.entries(run.levels).some(([factor, level]) => view.hide.includes(levelKey(factor, level)));
const isDrawn = run => (view.runs === null || view.runs.includes(run.run)) && !isHidden(run);
const trainedRuns = () => facts.runs.filter(run => run.steps[0] >= 0 && isDrawn(run));

function runOf(curve) {
  const runs = trainedRuns();
  return runs.find(run => run.run === view.run) ?? runs.find(run => run.line === curve.line) ?? runs[0] ?? null;
}

const nearest = (steps, distance) => steps.reduce((best, one) => distance(one) < distance(best) ? one : best);

function stepOf(run, curve) {
  const wanted = preview?.step ?? view.step ?? (curve.dips ? curve.step : run.steps.at(-1));
  return nearest(run.steps, step => Math.abs(step - wanted));
}

// The checkpoint that is nearest on the logarithmic axis, on which the untrained model stands before the first one.
function stepAt(run, tokens) {
  const untrained = (run.tokens.find(one => one > 0) ?? 1) / 2.2;
  return nearest(run.steps, step => Math.abs(Math.log((run.tokens[run.steps.indexOf(step)] || untrained) / tokens)));
}

function shownPoint() {
  const curve = shownCurve(), run = runOf(curve);
  return {curve, run, step: run && stepOf(run, curve)};
}

// Requests.

const drawnRuns = () => facts.runs.every(isDrawn) ? "" : facts.runs.filter(isDrawn).map(run => run.run).join("\n");
const ofBenchmark = () => ({benchmark: view.benchmark, scorer: view.scorer});
const ofCurves = () => ({...ofBenchmark(), linking: view.linking, by: view.by, split: view.split, runs: drawnRuns()});
const inColors = () => ({...ofCurves(), color: view.color});
const ofPairs = ({curve, run, step}) => ({...ofCurves(), values: view.by === "all" ? "" : curve.name, runs: "", run: run.run, step});

// Curves.

const panels = new Panels(place("panels"), {
  address: curve => addressOf({...view, curve, pair: null, offset: 0}),
  open: openCurve,
  see: pointAt,
});
const chart = new CurveChart(place("chart"), openPoint);
const pinned = new PinnedPair(place("pinned"), {api, close: () => { change({pair: null}); showPoint(); }});

function openCurve(curve) {
  const step = (preview?.curve === curve ? preview.step : null) ?? view.step;
  preview = null;
  choose({curve, step});
  showPoint();
  const title = place("point-title"), isBeside = matchMedia("(min-width: 70rem)").matches;
  if (!isBeside || title.getBoundingClientRect().top > innerHeight) title.scrollIntoView();
}

function pointAt(name, tokens) {
  if (!found) return;
  const curve = curveNamed(name), run = curve && runOf(curve);
  preview = curve ? {curve: name, step: tokens === null || !run ? null : stepAt(run, tokens)} : null;
  mark();
  showSoon();
}

// A point of the chart is one of a line: if the run that is shown is not of that line, one that is takes its place.
function openPoint(name, step) {
  const line = found.lines.find(one => one.name === name)?.line;
  const runs = facts.runs.filter(run => run.line === line && run.steps.includes(step));
  const run = runs.find(one => one.run === view.run) ?? runs[0];
  if (run) turnTo({run: run.run, step});
  showPoint();
}

const showSoon = afterPause(130, () => showPoint());

// Marks the curve that is pointed at, and in all charts the checkpoint.
function mark() {
  const {curve, step} = shownPoint();
  panels.set("at", step);
  for (const {element, name} of panels.panels.values()) element.classList.toggle("seen", preview !== null && name === curve.name);
}

const drawCurves = latest(async () => {
  const key = JSON.stringify(ofCurves());
  found = {...await api("curves", inColors()), key};
  say("");
  place("waiting").hidden = true;
  place("drawn").hidden = false; // before the charts, which are as wide as their place
  rowsOf = separated(found.data);
  drawPanels();
  fill(place("curve-notes"), ...withTerms(describe()));
  await showPoint();
});

// Gives the rows of one curve; they are looked for once, so that equal rows are the same object.
function separated(data) {
  const known = new Map();
  const cut = name => Object.fromEntries(Object.entries(data).map(([set, rows]) => [set, rows.filter(row => row.value === name)]));
  return name => known.get(name) ?? known.set(name, cut(name)).get(name);
}

function titleOf(name) {
  if (view.by === "all") return "The whole benchmark";
  const isName = ["phenomenon", "paradigm"].includes(view.by);
  return isName ? name.replaceAll("_", " ") : `${view.by}: ${name}`;
}

function drawPanels() {
  if (shapes) found.values = shapes.order.map(curveNamed);
  drawLegend();
  const values = found.values.map(curve => ({
    name: curve.name, says: sentenceOf(curve), title: titleOf(curve.name), sign: shapes?.turned.includes(curve.name) ? TURNED : null,
    tested: verdictOf(shapes, curve.name),
  }));
  panels.draw(values, found.small, {of: rowsOf}, {at: shownPoint().step, alone});
  panels.choose(shownCurve().name);
  panels.filter(place("find").value);
}

function drawLegend() {
  const signs = shapes?.turned.length ? [TURNED] : [];
  showLegend(place("legend"), found.lines, signs, alone, name => {
    alone = name;
    panels.set("alone", alone);
    showAlone();
    drawLegend();
  });
}

// A text whose words lead to their explanation, by the name that it has in the list at the end of the page.
const TERMS = {band: "band", "Linking function": "linking", "test of shape": "shape", "shown by the test": "shape", edits: "edit"};
const withTerms = text => text.split(new RegExp(`(${Object.keys(TERMS).join("|")})`))
  .map(part => part in TERMS ? make("a", {class: "term", href: `#term-${TERMS[part]}`}, part) : part);

const TIES = {half: "one half", wrong: "as wrong", right: "as right"};
const MEANS = {macro: ", mean over paradigms", macro_phenomena: ", mean over phenomena"};

function describe() {
  const what = found.values.length === 1 ? "Accuracy"
    : `${found.values.length} curves, those that turn first, then those that are best at the end; accuracy`;
  return [
    `${what} from 0 to 100 % against training tokens.`,
    `Linking function ${found.linking}${MEANS[found.overall] ?? ""}, ties count ${TIES[found.ties_rule]}.`,
    found.band,
    "Point at a curve to see its pairs at that checkpoint, click or press Enter to keep it; the left and right arrow keys move through the checkpoints.",
    ...found.notes,
  ].join(" ");
}

// The test of shapes.

const testShapes = latest(async () => {
  const wanted = ofCurves(), key = JSON.stringify(wanted);
  const isWanted = () => key === JSON.stringify(ofCurves()) && key === found.key; // no others are on the page, nor on their way
  const tested = await whileTesting(() => api("shapes", wanted));
  if (!isWanted()) return;
  shapes = tested;
  showShapes(place("shapes"), shapes, titleOf);
  drawPanels();
  await showPoint(); // without a chosen curve it is that of the first one, which may be another now
});

// Says above the curves, and in the place of the table, that the test runs: it may take longer than the curves.
async function whileTesting(work) {
  const curves = found.values.length;
  place("testing").textContent = `Testing the shapes of ${count(curves)} curve${curves === 1 ? "" : "s"} …`;
  fill(place("shapes"), make("p", {class: "note"}, "The shapes are being tested."));
  try {
    return await work();
  } finally {
    place("testing").textContent = "";
    fill(place("shapes"));
  }
}

const testLater = afterPause(700, () => {
  if (!found) return;
  const number = found.values.length * found.lines.length;
  if (number <= TESTED) testShapes();
  else fill(place("shapes"), make("button", {type: "button", class: "plain", onclick: testShapes}, `Test the shapes of ${count(number)} curves`),
    make("span", {class: "note"}, " This may take minutes."));
});

async function refresh() {
  shapes = null;
  await drawCurves();
  testLater();
}

// The pairs of a curve at a checkpoint.

const showPoint = latest(async () => {
  if (!found) return;
  const shown = shownPoint();
  panels.choose(shown.curve.name);
  mark();
  showSays();
  await chart.draw({chart: largeChart(found.chart), data: rowsOf(shown.curve.name)});
  await chart.view.signal("at", shown.step).runAsync();
  await showAlone();
  for (const id of ["steps", "kinds", "pairs", "pages"]) place(id).hidden = !shown.run;
  if (!shown.run) return pinned.show(null); // a model without checkpoints
  showSteps(shown);
  await Promise.all([showList(shown), showOpenPair(shown)]);
});

// A chart of one line has nothing to show alone.
const showAlone = () => found.lines.length > 1 ? chart.view?.signal("alone", alone).runAsync() : null;

// The chart of one curve as it stands here: its legend is that of all curves, and a rule marks the checkpoint.
function largeChart(large) {
  const chart = JSON.parse(JSON.stringify(large, (key, value) => key === "legend" && value?.orient ? null : value));
  const {x} = chart.layer.find(one => one.encoding?.x?.scale && !one.data).encoding;
  const rule = {mark: {type: "rule", style: "chosen", aria: false}, transform: [{filter: "datum.step === at"}], encoding: {x}};
  return {...chart, height: chartHeight(), layer: [...chart.layer, rule], params: [...chart.params ?? [], {name: "at", value: null}]};
}

// On a low screen the pairs below it are to be seen too.
const chartHeight = () => Math.max(96, Math.min(230, innerHeight - 795));

function showSays() {
  const {curve} = shownPoint();
  place("point-title").textContent = titleOf(curve.name);
  fill(place("point-says"), ...withTerms(`${[sentenceOf(curve), verdictOf(shapes, curve.name)].filter(Boolean).join("; ")}.`));
  place("point-says").title = meaningsOf(shapes, curve.name).join(" ");
}

// What a curve does, of how many pairs it is, and whether the test of shape shows the dip that is told.
const sentenceOf = curve => `${curve.says} (${[`${count(curve.n)} pair${curve.n === 1 ? "" : "s"}`, ...isShown(shapes, curve)].join("; ")})`;

function showSteps({run, step}) {
  const runs = trainedRuns();
  offer("run", runs.map(one => [one.run, one.name]), run.run);
  place("run-label").hidden = runs.length < 2;
  const slider = place("step"), position = run.steps.indexOf(step), tokens = run.tokens[position];
  slider.max = String(run.steps.length - 1);
  slider.value = String(position);
  const text = `step ${count(step)}${tokens === null ? "" : ` (${shortCount(tokens)} tokens)`}, ${position + 1} of ${run.steps.length}`;
  place("step-text").textContent = text;
  slider.setAttribute("aria-valuetext", text);
}

const ofList = shown => ({...ofPairs(shown), kind: view.kind, text: view.text, offset: view.offset});
const listKey = shown => JSON.stringify([ofList(shown), version]);

async function showList(shown) {
  const key = listKey(shown);
  if (listed?.key === key) return;
  const answer = await api("pairs", ofList(shown));
  if (listKey(shownPoint()) !== key) return; // the reader has gone on, and the list of that point is asked for next
  listed = {...answer, key};
  const {curve, run, step} = shown, {rows, offset, steps, counts} = listed, all = counts[view.kind];
  showKinds(run, step);
  const focused = document.activeElement?.closest?.("li.pair")?.dataset.pair;
  const address = pair => addressOf({...view, curve: curve.name, run: run.run, step, pair});
  listPairs(place("pairs"), listed, {place: steps.indexOf(step), address, open: choosePair});
  if (focused) place("pairs").querySelector(`[data-pair="${focused}"] a`)?.focus({preventScroll: true});
  markOpen(place("pairs"), view.pair);
  if (!rows.length) fill(place("pairs"), make("li", {class: "note"}, `No pair is of this kind${view.text ? " with this text" : ""} here.`));
  place("place").textContent = rowsShown(offset, rows.length, all);
  place("back").disabled = offset === 0;
  place("next").disabled = offset + rows.length >= all;
}

function showKinds(run, step) {
  const hadFocus = place("kinds").contains(document.activeElement);
  const choice = ([kind, meaning]) => make("label", {class: "choice", title: meaning},
    make("input", {type: "radio", name: "kind", value: kind, checked: kind === view.kind, onchange: () => { turnTo({kind}); showPoint(); }}),
    kind, heard(": "), make("b", {}, count(listed.counts[kind])));
  fill(place("kinds"), make("legend", {class: "hidden-text"}, `Pairs of ${run.name} at step ${count(step)} that are`), ...Object.entries(kinds).map(choice),
    make("p", {class: "note"}, `${view.kind}: ${kinds[view.kind]}.`));
  if (hadFocus) place("kinds").querySelector(":checked").focus();
}

// Opens a pair of the list. If the reader has gone on, and the next list is on its way, the link leads where it says.
function choosePair(pair, address) {
  const shown = shownPoint(), {curve, run, step} = shown;
  if (listed.key !== listKey(shown)) {
    location.assign(address);
    return;
  }
  change({curve: curve.name, run: run.run, step, pair: view.pair === pair ? null : pair});
  preview = null;
  showOpenPair(shownPoint()).then(() => place("pinned").scrollIntoView({block: "nearest"}));
}

// Shows the pair of the address at this checkpoint, whatever the list has.
async function showOpenPair(shown) {
  markOpen(place("pairs"), view.pair);
  const wanted = {...ofBenchmark(), linking: view.linking, runs: drawnRuns(), run: shown.run.run, pair: view.pair};
  await pinned.show(view.pair === null ? null : wanted, shown.step, !preview);
}

// Moves by so many checkpoints of the run, at most to the first or the last one.
function move(by) {
  const {run, step, curve} = shownPoint();
  if (!run) return;
  const position = Math.max(0, Math.min(run.steps.length - 1, run.steps.indexOf(step) + by));
  goTo(run.steps[position], curve);
}

function goTo(step, curve) {
  if (preview) preview = {curve: curve.name, step};
  change({step, offset: 0}, {moves: true});
  mark();
  showSoon();
}

// The controls.

// Fills a list of choices, unless it has them already, and chooses one.
function offer(id, options, chosen) {
  const list = place(id), key = JSON.stringify(options);
  if (list.dataset.key !== key) {
    list.dataset.key = key;
    fill(list, ...options.map(([value, text]) => make("option", {value}, text)));
  }
  list.value = chosen;
}

const linkingNamed = name => facts.linkings.find(one => one.name === name);
const withUsualParameters = ({name, parameters}) => [name, ...parameters.map(parameter => parameter.value)].join(":");

async function listBenchmarks() {
  const {runs, kinds: meanings} = await api("runs", {});
  kinds = meanings;
  const named = runs.flatMap(run => run.scored).map(one => [`${one.benchmark}\n${one.scorer}`, one]);
  benchmarks = [...withBoth(runs), ...new Map(named).values()];
  if (!benchmarks.length) throw new Refusal("None of the runs has stored scores yet; score.py makes them.");
}

// Causal models are scored by sentence and masked ones by pll; a benchmark with both has one chart of all of them too.
function withBoth(runs) {
  const names = [...new Set(runs.flatMap(run => run.scored).map(one => one.benchmark))];
  const scorers = benchmark => runs.map(run => run.scored.filter(one => one.benchmark === benchmark).map(one => one.scorer));
  const isMixed = of => of.some(own => own.includes("sentence")) && of.some(own => own.includes("pll") && !own.includes("sentence"));
  return names.filter(name => isMixed(scorers(name))).map(benchmark => ({benchmark, scorer: BOTH}));
}

const nameOf = ({benchmark, scorer}) => scorer === BOTH ? `${benchmark}, causal and masked models` : `${benchmark}, scored by ${scorer}`;

// Opens the benchmark of the address; what the address does not say, or says wrongly, is as usual.
async function openBenchmark() {
  const {benchmark, scorer} = benchmarks.find(one => one.benchmark === view.benchmark && (!view.scorer || one.scorer === view.scorer)) ?? benchmarks[0];
  view = {...view, benchmark, scorer};
  ({version} = await api("changes", ofBenchmark()));
  await readFacts();
  if (!linkingNamed(view.linking.split(":")[0])) view.linking = withUsualParameters(facts.linkings[0]);
  if (!facts.columns.includes(view.by)) view.by = facts.phenomena.length > 1 ? "phenomenon" : "all";
  if (![...place("split").options].some(option => option.value === view.split)) view.split = START.split;
  if (!(view.kind in kinds)) view.kind = START.kind;
  showControls();
}

async function readFacts() {
  facts = await api("benchmark", ofBenchmark());
  const runs = view.runs?.filter(name => facts.runs.some(run => run.run === name));
  view.runs = runs?.length ? runs : null;
  const levels = Object.entries(facts.factors).flatMap(([factor, all]) => all.map(level => levelKey(factor, level)));
  view.hide = view.hide.filter(level => levels.includes(level));
  if (!facts.runs.some(isDrawn)) view.hide = [];
  if (!(view.color in facts.factors)) view.color = "";
}

function showControls() {
  place("chosen").hidden = false;
  showBenchmarks();
  offer("linking", facts.linkings.map(({name}) => [name, name]), view.linking.split(":")[0]);
  offer("by", facts.columns.map(name => [name, name === "all" ? "benchmark" : name]), view.by);
  place("split").value = view.split;
  showRuns();
  showFactors();
  showParameters();
  place("text").value = view.text;
}

function showBenchmarks() {
  const isOpen = one => one.benchmark === view.benchmark && one.scorer === view.scorer;
  offer("benchmark", benchmarks.map((one, position) => [String(position), nameOf(one)]), String(benchmarks.findIndex(isOpen)));
}

function showParameters() {
  const [name, ...given] = view.linking.split(":");
  fill(place("parameters"), ...linkingNamed(name).parameters.map((parameter, position) => parameterSlider(parameter, given[position] ?? parameter.value)));
}

function parameterSlider({name, low, high, step}, value) {
  const shown = make("output", {}, String(value));
  const slider = make("input", {type: "range", min: low, max: high, step, value, "aria-label": name, oninput: () => {
    shown.textContent = slider.value;
    change({linking: chosenLinking()}, {moves: true});
    refresh();
  }});
  return make("label", {}, make("span", {}, make("a", {class: "term", href: `#term-${name}`}, name), " = ", shown), slider);
}

function chosenLinking() {
  const values = [...place("parameters").querySelectorAll("input")].map(input => Number(input.value));
  return [place("linking").value, ...values].join(":");
}

function showRuns() {
  const box = run => make("input", {type: "checkbox", value: run.run, checked: isDrawn(run), onchange: chooseRuns});
  fill(place("runs"), ...facts.runs.map(run => make("label", {class: "choice", title: run.run}, box(run), ` ${run.name}`)));
  const training = facts.runs.filter(run => run.status === "running").map(run => `${run.run} (${count(run.steps.length)} checkpoints scored)`);
  place("training").hidden = !training.length;
  place("training").textContent = training.length ? `In training: ${training.join(", ")}. New checkpoints are drawn as they come.` : "";
}

function chooseRuns() {
  const chosen = [...place("runs").querySelectorAll("input:checked")].map(input => input.value);
  change({runs: chosen.length && chosen.length < facts.runs.length ? chosen : null});
  refresh();
}

// A button for each level of the factors that vary, which shows or hides its lines; the last lines stay.
function showFactors() {
  const names = Object.keys(facts.factors);
  place("factors").hidden = !names.length;
  fill(place("levels"), ...names.map(factor => make("span", {role: "group", "aria-label": `Levels of ${factor}`},
    make("span", {class: "note"}, `${factor} `), ...facts.factors[factor].map(level => levelButton(factor, level)))));
  offer("color", names.map(name => [name, name]), view.color || names[0]);
}

function levelButton(factor, level) {
  const key = levelKey(factor, level), toggle = () => {
    const before = view.hide, hide = before.includes(key) ? before.filter(one => one !== key) : [...before, key];
    view.hide = hide;
    const isEmpty = !facts.runs.some(isDrawn);
    view.hide = before;
    if (isEmpty) return say("The lines of the last level cannot be hidden.");
    change({hide});
    button.setAttribute("aria-pressed", String(!hide.includes(key)));
    return refresh();
  };
  const button = make("button", {type: "button", class: "level", "aria-pressed": String(!view.hide.includes(key)),
    title: `Show or hide the lines with ${factor} ${level}`, onclick: toggle}, level);
  return button;
}

async function chooseBenchmark(position) {
  const {benchmark, scorer} = benchmarks[position];
  change({...START, benchmark, scorer});
  await openBenchmark();
  await refresh();
}

async function chooseLinking(name) {
  change({linking: withUsualParameters(linkingNamed(name))});
  showParameters();
  await refresh();
}

// Runs that are being trained or scored.

let unanswered = false; // whether the last look found no answer, which is said on the page
const lookForNews = latest(async () => {
  if (document.hidden || !found) return;
  const before = unanswered;
  unanswered = true;
  const now = await api("changes", ofBenchmark());
  unanswered = false;
  if (before) say("");
  if (now.version === version) return;
  try {
    await api("curves", ofCurves()); // a score may be there before the table of its run is written
  } catch {
    return;
  }
  ({version} = now);
  await listBenchmarks();
  await readFacts();
  showBenchmarks();
  showRuns();
  showFactors();
  await refresh();
});

// Saving.

async function saveCurves() {
  const {columns, rows} = await api("table", ofCurves());
  download("curves.csv", csv(columns, rows.map(row => Object.fromEntries(columns.map((name, position) => [name, row[position]])))));
}

function savePairs() {
  download("pairs.csv", csv(["pair", "paradigm", "good", "bad", "good_value", "bad_value", "margin", "before", "verdict", "trace"], listed.rows));
}

async function saveFigure(kind) {
  const options = {ast: true, renderer: "svg", actions: false, width: FIGURE_WIDTH};
  const {view: drawn} = await window.vegaEmbed(make("div"), await api("figure", inColors()), options);
  saveAs(await drawn.toImageURL(kind, kind === "png" ? 3 : 1), `curves.${kind}`);
  drawn.finalize();
}

// What the back button leads to.
async function goBack() {
  const before = JSON.stringify(inColors());
  preview = null;
  view = readAddress();
  await openBenchmark();
  await (JSON.stringify(inColors()) === before ? showPoint() : refresh());
}

function redraw() {
  if (!found) return;
  drawPanels();
  listed = null;
  showPoint();
}

const KEYS = {ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity};

function moveByKey(event) {
  if (!(event.key in KEYS) || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  move(KEYS[event.key]);
}

function turnPage(by) {
  change({offset: Math.max(0, view.offset + by)});
  showPoint();
}

// A word that is explained shows its explanation under the pointer.
function explain(event) {
  const word = event.target.closest?.("a.term");
  if (word && !word.title) word.title = document.querySelector(`${word.getAttribute("href")} + dd`)?.textContent ?? "";
}

function listen() {
  const on = (id, name, work) => place(id).addEventListener(name, event => attempt(() => work(event.target.value)));
  on("benchmark", "change", chooseBenchmark);
  on("linking", "change", chooseLinking);
  on("by", "change", by => { choose({by, curve: ""}); return refresh(); });
  on("split", "change", split => { choose({split}); return refresh(); });
  on("color", "change", color => { change({color}); return drawCurves(); });
  on("find", "input", text => panels.filter(text));
  on("text", "input", text => { change({text, offset: 0}, {moves: true}); showSoon(); });
  on("run", "change", run => { turnTo({run}); return showPoint(); });
  on("step", "input", position => {
    const {run, curve} = shownPoint();
    goTo(run.steps[Number(position)], curve);
  });
  on("back", "click", () => turnPage(-PAGE));
  on("next", "click", () => turnPage(PAGE));
  on("save-csv", "click", saveCurves);
  on("save-svg", "click", () => saveFigure("svg"));
  on("save-png", "click", () => saveFigure("png"));
  on("pairs-csv", "click", savePairs);
  for (const id of ["controls", "steps"]) place(id).addEventListener("submit", event => event.preventDefault());
  place("panels").addEventListener("keydown", moveByKey);
  addEventListener("popstate", () => attempt(goBack));
  for (const name of ["pointerover", "focusin"]) document.addEventListener(name, explain);
  onScheme(redraw);
  setInterval(lookForNews, GROWS);
  document.addEventListener("visibilitychange", lookForNews);
}

// Opens the room; while there is nothing to draw, it looks again from time to time.
async function begin() {
  try {
    await listBenchmarks();
  } catch (error) {
    say(`${error.message}\nThis page looks for them every few seconds.`);
    place("waiting").hidden = true;
    setTimeout(begin, GROWS);
    return;
  }
  say("");
  place("waiting").hidden = false;
  await attempt(async () => {
    view = readAddress();
    listen();
    await openBenchmark();
    history.replaceState(null, "", addressOf(view));
    await refresh();
    document.body.dataset.ready = "yes";
  });
}

await begin();
