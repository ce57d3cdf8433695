// The room judge: make a questionnaire, answer it here or load answers, and see which paradigms people confirm.
import {ask, asked, attempt, attemptAt, busy, count, fill, make, parsed, percent, place, query, Refusal, remember, say, table} from "/static/common.js";
import {sentences} from "/static/pairs.js";
import {sortable} from "/static/sortable.js";

const API = "/judge/api";
const NUMBERS = ["per_paradigm", "lists", "pairs_per_page", "training", "min_seconds", "seed"];
const LIMITS = {catch: "catch", control: "control", training: "training-share", item_seconds: "item_seconds",
  page_seconds: "page_seconds"};
const FILES = {"index.html": "the page for people", "items.csv": "the key: what each list shows"};
const LARGEST = 20 * 1024 * 1024;  // bytes; the room refuses more

const address = (name, ...rest) => [API, "questionnaires", name, ...rest].map((part, index) =>
  index ? encodeURIComponent(part) : part).join("/");
const fileAddress = (name, path) => `/judge/files/${name}/${path.split("/").map(encodeURIComponent).join("/")}`;
const number = field => field.value === "" ? null : Number(field.value);

const DEMO = "demo";  // the benchmark that is chosen first
let benchmarks = [];
let named = "";  // the name that is proposed, until another one is typed
let rules = [];
let shown = null;  // the questionnaire that is chosen, as the room describes it
let unkept = null;  // answers of the pilot that could not be kept
let answering = false;  // whether a pilot is under way whose answers would be lost

// ---- 1. make

async function begin() {
  const settings = await ask("GET", `${API}/settings`);
  benchmarks = await ask("GET", `${API}/benchmarks`);
  for (const name of NUMBERS) place(name).value = settings.questionnaire[name];
  const choices = here => benchmarks.filter(one => one.made_here === here).map(one => make("option", {value: one.name}, one.name));
  const groups = {"made in Write": choices(true), published: choices(false)};
  fill(place("benchmark"), ...Object.entries(groups).filter(([, options]) => options.length)
    .map(([label, options]) => make("optgroup", {label}, ...options)));
  const wanted = benchmarks.some(one => one.name === asked.benchmark) ? asked.benchmark : DEMO;
  place("benchmark").value = wanted;
  if (asked.benchmark && asked.benchmark !== wanted) say(`There is no benchmark ${asked.benchmark}; ${wanted} is shown.`);
  rules = settings.rules;
  fill(place("rule"), ...rules.map(rule => make("option", {value: rule.name}, rule.name)));
  place("rule").value = settings.answers.rule;
  for (const [name, id] of Object.entries(LIMITS)) place(id).value = settings.answers.exclude[name] ?? "";
  explainRule();
  place("make-fields").disabled = false;  // only now, so that no value that was typed is replaced
  await list(asked.questionnaire);
  chooseBenchmark();
  document.body.dataset.ready = "yes";
}

function rememberPlace() {
  remember({benchmark: place("benchmark").value, questionnaire: place("questionnaire").value});
}

function chooseBenchmark() {
  forgetParadigms();
  const {name, made_here} = benchmarks.find(one => one.name === place("benchmark").value);
  place("where").textContent = made_here || name === DEMO ? ""
    : "A published benchmark is downloaded when it is used for the first time, which needs a network.";
  proposeName();
  rememberPlace();
}

// Proposes a name that no questionnaire has, unless one was typed.
function proposeName() {
  if (place("name").value !== named) return;
  const taken = [...place("questionnaire").options].map(option => option.value);
  const base = place("benchmark").value.split("/").at(-1).replace(/[^A-Za-z0-9_-]/g, "-").slice(0, 60);
  let number = 1;
  while (taken.includes(`${base}-${number}`)) number += 1;
  place("name").value = named = `${base}-${number}`;
}

const boxes = () => [...place("paradigms").querySelectorAll("input")];
const chosenParadigms = () => boxes().filter(box => box.checked).map(box => box.value);

function sayChosen() {
  const chosen = chosenParadigms().length;
  place("chosen").textContent = chosen ? `${chosen} of ${boxes().length} paradigms are asked about.`
    : "All paradigms are asked about.";
}

function forgetParadigms() {
  fill(place("paradigms"));
  place("paradigms").hidden = place("find-label").hidden = true;
  sayChosen();
}

async function showParadigms() {
  const benchmark = place("benchmark").value;
  const paradigms = await busy(place("show-paradigms"), () => ask("GET", `${API}/paradigms?${query({benchmark})}`));
  if (benchmark !== place("benchmark").value) return;
  fill(place("paradigms"), ...paradigms.map(one => make("label", {},
    make("input", {type: "checkbox", value: one.paradigm, onchange: sayChosen}), `${one.paradigm} (${count(one.pairs)})`)));
  place("paradigms").hidden = place("find-label").hidden = false;
  place("find").value = "";
  sayChosen();
}

function filterParadigms() {
  const wanted = place("find").value.trim().toLowerCase();
  for (const box of boxes()) box.parentElement.hidden = !box.value.toLowerCase().includes(wanted);
}

async function makeQuestionnaire() {
  const wanted = {
    benchmark: place("benchmark").value,
    name: place("name").value.trim(),
    formats: [...document.querySelectorAll("[name=format]:checked")].map(box => box.value),
    paradigms: chosenParadigms(),
    ...Object.fromEntries(NUMBERS.map(name => [name, number(place(name))])),
  };
  const end = sayMaking(wanted.benchmark);
  try {
    const made = await busy(place("make-button"), () => ask("POST", `${API}/questionnaires`, wanted));
    end(`The questionnaire ${made.name} is made: ${made.folder}. Answer it below, or give its page to people.`);
    named = place("name").value;
    await list(made.name);
    proposeName();
  } catch (error) {
    end("");
    throw error;
  }
}

// Says what is being done, and for how long; returns what ends it with a last sentence.
function sayMaking(benchmark) {
  const began = performance.now();
  const text = `The pairs of ${benchmark} are read and drawn, and the questionnaire is written.`;
  place("making").textContent = text;
  const timer = setInterval(() => {
    place("making").textContent = `${text} ${Math.round((performance.now() - began) / 1000)} s`;
  }, 5000);
  return last => {
    clearInterval(timer);
    place("making").textContent = last;
  };
}

// ---- 2. answers

async function list(chosen) {
  const names = await ask("GET", `${API}/questionnaires`);
  const select = place("questionnaire");
  const wanted = chosen ?? select.value;
  fill(select, ...names.map(name => make("option", {value: name}, name)));
  if (names.includes(wanted)) select.value = wanted;
  place("none").hidden = names.length > 0;
  for (const id of ["of-questionnaires", "with-questionnaire", "judge-section"]) place(id).hidden = !names.length;
  if (names.length) await choose();
}

async function choose() {
  const name = place("questionnaire").value;
  rememberPlace();
  closePilot();
  fill(place("results"));
  show(await ask("GET", address(name)));
}

function show(described) {
  if (described.name !== place("questionnaire").value) return;  // another one was chosen meanwhile
  shown = described;
  const {counts} = described;
  const parts = [["item", "items"], ["catch", "catch trials"], ["control", "controls"], ["training", "pairs of training"]]
    .filter(([kind]) => counts[kind]).map(([kind, words]) => `${count(counts[kind])} ${words}`);
  place("about").textContent = `${described.benchmark}: ${parts.join(", ")}; ${described.lists} lists. Folder: ${described.folder}`;
  fill(place("files"), links("Files of the questionnaire", described.files, path => FILES[path] ? `${path} (${FILES[path]})` : path));
  place("start").disabled = !described.has_page;
  place("pilot-note").hidden = !described.has_page;
  fill(place("list"), make("option", {value: ""}, "drawn"),
    ...Array.from({length: described.lists}, (_, index) => make("option", {value: index + 1}, String(index + 1))));
  showAnswers();
}

function links(label, paths, name) {
  return make("ul", {class: "links", "aria-label": label}, ...paths.map(path =>
    make("li", {}, make("a", {href: fileAddress(shown.name, path), download: path.split("/").pop()}, name(path)))));
}

function showAnswers() {
  const files = shown.answers;
  if (!files.length) {
    fill(place("answers"), make("p", {class: "note"}, "There are no answers yet."));
    return;
  }
  const name = file => make("a", {href: fileAddress(shown.name, `answers/${file}`), download: file}, file);
  const button = file => make("button", {class: "plain", type: "button", "aria-label": `Remove ${file}`,
    onclick: () => attempt(() => remove(file))}, "Remove");
  const columns = [{name: "file", title: "File of answers", show: name}, {name: "file", title: "Remove", show: button}];
  fill(place("answers"), table(columns, files.map(file => ({file}))));
}

async function remove(file) {
  if (!confirm(`Remove ${file}? It is deleted from the folder.`)) return;
  say("");
  show(await ask("DELETE", address(shown.name, "answers", file), {}));
  fill(place("results"));
}

async function keep(files) {
  say("");
  const kept = await ask("POST", address(shown.name, "answers"), {files});
  show(kept);
  fill(place("results"));
  say(`Kept: ${kept.kept.join(", ")}`, "done");
}

async function load() {
  const files = [...place("uploads").files];
  if (!files.length) throw new Refusal("Choose one or more files of answers first.");
  if (files.reduce((size, file) => size + file.size, 0) > LARGEST) {
    throw new Refusal(`These files are larger than ${LARGEST / 1024 ** 2} MB together; load fewer at once.`);
  }
  const read = [];
  for (const file of files) {
    try {
      const text = new TextDecoder("utf-8", {fatal: true}).decode(await file.arrayBuffer());
      read.push({name: file.name, text});
    } catch {
      throw new Refusal(`${file.name} is not a text in UTF-8. Save it as CSV in UTF-8 first.`);
    }
  }
  await keep(read);
  place("load").reset();
}

// The page of the questionnaire is of no origin in this frame: it can say that it is finished, and nothing else.
function startPilot() {
  closePilot();
  const given = query({list: place("list").value, annotator: place("annotator").value.trim()});
  const frame = make("iframe", {sandbox: "allow-scripts allow-downloads", title: `Questionnaire ${shown.name}`,
    src: `${fileAddress(shown.name, "index.html")}?${given}`});
  frame.addEventListener("load", () => frame.focus());
  fill(place("frame"), frame);
  answering = true;
  place("stop").hidden = false;
  frame.scrollIntoView({block: "nearest"});
}

function closePilot() {
  fill(place("frame"));
  unkept = null;
  answering = false;
  place("stop").textContent = "Leave it";
  place("stop").hidden = place("again").hidden = true;
}

async function receive(event) {
  const frame = place("frame").firstElementChild;
  if (!frame || event.source !== frame.contentWindow || event.data?.questionnaire !== shown.id) return;
  unkept = {name: String(event.data.name), text: String(event.data.text)};
  place("again").hidden = false;
  await keepPilot();
}

async function keepPilot() {
  await keep([unkept]);
  unkept = null;
  answering = false;
  place("again").hidden = true;
  place("stop").textContent = "Close it";
}

// ---- 3. results

function explainRule() {
  const rule = rules.find(one => one.name === place("rule").value);
  place("rule-words").textContent = rule
    ? `${rule.name}: a paradigm is kept when the share of ${rule.words} is at least ${rule.limit}.` : "";
}

const share = (name, title) => ({name, title: `${title} %`, number: true, show: percent});
const interval = (low, high, title) => ({name: low, title, number: true,
  show: (value, row) => value === null ? "–" : `${percent(value)} to ${percent(row[high])}`});
const seconds = (name, title) => ({name, title, number: true});

const reason = text => make("span", {class: "reason"}, text || "–");

function paradigmColumns(ruleShare) {
  return [
    {name: "paradigm", title: "Paradigm"},
    {name: "keep", title: "Verdict", show: kept => kept ? "kept" : make("strong", {}, "dropped")},
    ...(ruleShare === "accuracy" ? [] : [share(ruleShare, "Share of the rule")]),
    share("accuracy", "People right"),
    interval("low", "high", "95 % (Wilson)"),
    interval("clustered_low", "clustered_high", "95 % (clustered)"),
    share("raw", "Agreement"),
    {name: "alpha", title: "Alpha", number: true, show: value => value === null ? "–" : value.toFixed(3)},
    {name: "items", title: "Items", number: true},
    {name: "total", title: "Answers", number: true},
    {name: "reason", title: "Reason", show: reason},
  ];
}

const PEOPLE = [
  {name: "annotator", title: "Person"},
  {name: "excluded", title: "Verdict", show: excluded => excluded ? make("strong", {}, "excluded") : "counts"},
  {name: "answers", title: "Answers", number: true},
  share("chose_good", "Good chosen"),
  share("expected", "By all, of these items"),
  share("catch_right", "Catch right"),
  share("control_right", "Controls right"),
  share("training_right", "Training right"),
  seconds("item_seconds", "Median seconds, item"),
  seconds("page_seconds", "Median seconds, page"),
  {name: "reason", title: "Reason", show: reason},
];

const judgedPair = ({pair, paradigm, good, bad, votes, card}) => make("li", {}, ...sentences({good, bad}),
  make("p", {class: "facts"}, make("span", {}, votes), make("span", {}, `pair ${pair}, ${paradigm}`)), ...parsed(card));

async function judge() {
  say("");
  const exclude = Object.fromEntries(Object.entries(LIMITS).map(([name, id]) => [name, number(place(id))]));
  const body = {rule: place("rule").value, limit: number(place("limit")), exclude};
  const found = await busy(place("judge").querySelector("button"), () => ask("POST", address(shown.name, "judge"), body));
  const {summary, paradigms, annotators} = found;
  const dropped = paradigms.filter(row => !row.keep).length;
  const mark = (row, line) => line.classList.toggle("dropped", row.keep === false || row.excluded === true);
  fill(place("results"),
    make("p", {id: "verdict", role: "status"}, `${dropped} of ${paradigms.length} paradigms are dropped. ` +
      `${summary.annotators - summary.excluded} of ${summary.annotators} people count; ` +
      `${percent(summary.accuracy)} % of ${count(summary.answers)} answers are right` +
      (summary.raw === null ? "." : `; agreement ${percent(summary.raw)} %.`)),
    make("p", {id: "people"}, summary.people),
    make("h3", {}, "Paradigms, those to drop first"),
    sortable(paradigmColumns(found.rule_share), paradigms, "Paradigms", mark),
    make("h3", {}, "People"),
    sortable(PEOPLE, annotators, "People", mark),
    make("h3", {}, "Pairs that fewest people confirm"),
    make("ol", {class: "judged"}, ...found.pairs.map(judgedPair)),
    make("h3", {}, "Tables (CSV)"),
    links("Tables", found.files.map(name => `judged/${name}`), path => path.split("/").pop()),
    make("details", {}, make("summary", {}, "As the command prints it"), make("pre", {}, found.lines.join("\n"))));
  place("results").focus();
}

// ``fields`` are those that a refusal may be about, by the name that its message begins with; the last is for all others.
const on = (id, name, work, fields) => place(id).addEventListener(name, event => {
  if (name === "submit") event.preventDefault();
  if (fields) attemptAt(fields(), () => work(event));
  else attempt(() => work(event));
});
const fieldsOf = names => Object.fromEntries(names.map(name => [name, place(name)]));

on("make", "submit", makeQuestionnaire, () => ({...fieldsOf([...NUMBERS, "name", "benchmark"]), formats: document.querySelector("[name=format]"), button: place("make-button")}));
on("benchmark", "change", chooseBenchmark);
on("show-paradigms", "click", showParadigms, () => ({benchmark: place("benchmark"), button: place("show-paradigms")}));
on("find", "input", filterParadigms);
on("questionnaire", "change", choose);
on("pilot", "submit", startPilot);
on("stop", "click", closePilot);
on("again", "click", keepPilot);
on("load", "submit", load, () => ({files: place("uploads")}));
on("rule", "change", explainRule);
on("judge", "submit", judge, () => ({limit: place("limit"), rule: place("rule"), button: place("judge-button")}));
window.addEventListener("message", event => attempt(() => receive(event)));
window.addEventListener("beforeunload", event => {
  if (answering) event.preventDefault();  // the browser then asks whether to leave
});
attempt(begin);
