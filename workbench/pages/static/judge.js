// The room judge: make a questionnaire, answer it here or load answers, and see which paradigms people confirm.
import {ask, attempt, count, fill, make, percent, place, query, say, table} from "/static/common.js";
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

let rules = [];
let shown = null;  // the questionnaire that is chosen, as the room describes it
let unkept = null;  // answers of the pilot that could not be kept
let answering = false;  // whether a pilot is under way whose answers would be lost

// ---- 1. make

async function begin() {
  const [settings, benchmarks] = await Promise.all([ask("GET", `${API}/settings`), ask("GET", `${API}/benchmarks`)]);
  for (const name of NUMBERS) place(name).value = settings.questionnaire[name];
  fill(place("benchmarks"), ...benchmarks.map(one => make("option", {value: one.name},
    one.made_here ? "made in a project" : "published")));
  rules = settings.rules;
  fill(place("rule"), ...rules.map(rule => make("option", {value: rule.name}, rule.name)));
  place("rule").value = settings.answers.rule;
  for (const [name, id] of Object.entries(LIMITS)) place(id).value = settings.answers.exclude[name] ?? "";
  explainRule();
  place("make-fields").disabled = false;  // only now, so that no value that was typed is replaced
  await list();
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
  say("");
  const benchmark = place("benchmark").value.trim();
  const paradigms = await busy(place("show-paradigms"), () => ask("GET", `${API}/paradigms?${query({benchmark})}`));
  if (benchmark !== place("benchmark").value.trim()) return;
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
  say("");
  const wanted = {
    benchmark: place("benchmark").value.trim(),
    name: place("name").value.trim(),
    formats: [...document.querySelectorAll("[name=format]:checked")].map(box => box.value),
    paradigms: chosenParadigms(),
    ...Object.fromEntries(NUMBERS.map(name => [name, number(place(name))])),
  };
  const made = await busy(place("make-button"), () => ask("POST", `${API}/questionnaires`, wanted));
  say(`The questionnaire ${made.name} is made: ${made.folder}`, "done");
  await list(made.name);
}

// ---- 2. answers

async function list(chosen) {
  const names = await ask("GET", `${API}/questionnaires`);
  const select = place("questionnaire");
  const wanted = chosen ?? select.value;
  fill(select, ...names.map(name => make("option", {value: name}, name)));
  if (names.includes(wanted)) select.value = wanted;
  place("none").hidden = names.length > 0;
  place("with-questionnaire").hidden = place("judge-section").hidden = !names.length;
  if (names.length) await choose();
}

async function choose() {
  const name = place("questionnaire").value;
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
  if (!files.length) return say("Choose one or more files of answers first.");
  if (files.reduce((size, file) => size + file.size, 0) > LARGEST) {
    return say(`These files are larger than ${LARGEST / 1024 ** 2} MB together; load fewer at once.`);
  }
  const read = [];
  for (const file of files) {
    try {
      const text = new TextDecoder("utf-8", {fatal: true}).decode(await file.arrayBuffer());
      read.push({name: file.name, text});
    } catch {
      return say(`${file.name} is not a text in UTF-8. Save it as CSV in UTF-8 first.`);
    }
  }
  await keep(read);
  place("load").reset();
}

// The page of the questionnaire is of no origin in this frame: it can say that it is finished, and nothing else.
function startPilot() {
  closePilot();
  const asked = query({list: place("list").value, annotator: place("annotator").value.trim()});
  const frame = make("iframe", {sandbox: "allow-scripts allow-downloads", title: `Questionnaire ${shown.name}`,
    src: `${fileAddress(shown.name, "index.html")}?${asked}`});
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
  share("catch_right", "Catch right"),
  share("control_right", "Controls right"),
  share("training_right", "Training right"),
  seconds("item_seconds", "Median seconds, item"),
  seconds("page_seconds", "Median seconds, page"),
  {name: "reason", title: "Reason", show: reason},
];

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
      `${percent(summary.accuracy)} % of ${count(summary.answers)} answers are right; agreement ${percent(summary.raw)} %.`),
    make("h3", {}, "Paradigms, those to drop first"),
    sortable(paradigmColumns(found.rule_share), paradigms, "Paradigms", mark),
    make("h3", {}, "People"),
    sortable(PEOPLE, annotators, "People", mark),
    make("h3", {}, "Tables (CSV)"),
    links("Tables", found.files.map(name => `judged/${name}`), path => path.split("/").pop()),
    make("details", {}, make("summary", {}, "As the command prints it"), make("pre", {}, found.lines.join("\n"))));
  place("results").focus();
}

async function busy(button, work) {
  button.disabled = true;
  button.setAttribute("aria-busy", "true");
  try {
    return await work();
  } finally {
    button.disabled = false;
    button.removeAttribute("aria-busy");
  }
}

const on = (id, name, work) => place(id).addEventListener(name, event => {
  if (name === "submit") event.preventDefault();
  attempt(() => work(event));
});

on("make", "submit", makeQuestionnaire);
on("benchmark", "change", forgetParadigms);
on("show-paradigms", "click", showParadigms);
on("find", "input", filterParadigms);
on("questionnaire", "change", choose);
on("pilot", "submit", startPilot);
on("stop", "click", closePilot);
on("again", "click", keepPilot);
on("load", "submit", load);
on("rule", "change", explainRule);
on("judge", "submit", judge);
window.addEventListener("message", event => attempt(() => receive(event)));
window.addEventListener("beforeunload", event => {
  if (answering) event.preventDefault();  // the browser then asks whether to leave
});
attempt(begin);
