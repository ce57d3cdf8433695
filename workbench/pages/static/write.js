// The room Write: the templates of a project with their words and phrases, tried as they are typed.
import {afterPause, ask, asked, attempt, attemptAt, busy, count, fill, make, place, query, remember, say, table} from "/static/common.js";
import {complete} from "/static/complete.js";
import {CurveChart} from "/static/curves.js";
import {browser, describe, isConflict, KeptText, onStep, showSteps} from "/static/document.js";
import {Words} from "/static/words.js";

const state = {project: "", template: null, phrases: null, record: null, known: {properties: {}, phrases: []}, seed: 0, conflict: null, part: "templates", job: null, following: 0};
const chart = new CurveChart(place("curve"));
const here = () => ({project: state.project, browser});
const FIELDS = {uid: "uid", phenomenon: "phenomenon", separator: "sep"};
const last = {project: "ucurve:project", template: project => `ucurve:template:${project}`};

// Templates

const previewSoon = afterPause(150, () => attempt(showPreview));

function showTemplate(now) {
  const record = readRecord(now.text);
  place("saved").textContent = describe(now, "another version");
  showSteps("step", now);
  place("editor").hidden = !record;
  place("raw-label").hidden = Boolean(record);
  if (!record) {
    if (place("raw").value !== now.text) place("raw").value = now.text;
  } else if (!state.record || JSON.stringify(record) !== JSON.stringify(state.record)) fillEditor(record);
  state.record = record;
  previewSoon();
}

function readRecord(text) {
  try {
    const record = JSON.parse(text);
    const texts = list => Array.isArray(list) && list.every(slot => typeof slot === "string");
    return texts(record.good_rule) && texts(record.bad_rule) ? record : null;
  } catch {
    return null;
  }
}

function fillEditor(record) {
  for (const [id, name] of Object.entries(FIELDS)) if (place(id).value !== String(record[name] ?? "")) place(id).value = record[name] ?? "";
  place("strict").checked = record.strict_MP === true;
  const body = document.querySelector("#slots tbody"), length = Math.max(record.good_rule.length, record.bad_rule.length);
  while (body.rows.length > length) body.rows[body.rows.length - 1].remove();
  while (body.rows.length < length) body.append(slotRow(body.rows.length));
  for (let slot = 0; slot < length; slot += 1) for (const member of ["good", "bad"]) {
    const input = slotInput(member, slot), text = record[`${member}_rule`][slot] ?? "";
    if (input.value !== text) input.value = text;
  }
}

function slotRow(slot) {
  const cell = member => {
    const input = make("input", {id: `${member}-${slot}`, class: "slot", autocomplete: "off", spellcheck: "false", "aria-label": `${member} member, slot ${slot}`, "aria-describedby": `${member}-${slot}-problem`, oninput: edited});
    return make("td", {}, input, complete(input, () => state.known), make("div", {id: `${member}-${slot}-problem`, class: "at-slot bad"}));
  };
  return make("tr", {}, make("th", {scope: "row"}, String(slot)), cell("good"), cell("bad"),
    make("td", {}, make("button", {type: "button", class: "plain", "aria-label": `Copy slot ${slot} to the bad member`, onclick: () => copySlot(slot)}, "→"), " ",
      make("button", {type: "button", class: "plain", "aria-label": `Delete slot ${slot}`, onclick: () => deleteSlot(slot)}, "delete")));
}

const slotInput = (member, slot) => place(`${member}-${slot}`);

// What the fields say, with everything else that the file holds as it is.
function edited() {
  const length = document.querySelector("#slots tbody").rows.length, slots = member => [...Array(length).keys()].map(slot => slotInput(member, slot).value);
  const record = {...state.record, good_rule: slots("good"), bad_rule: slots("bad"), strict_MP: place("strict").checked};
  for (const [id, name] of Object.entries(FIELDS)) record[name] = place(id).value;
  put(record);
}

function put(record) {
  state.record = record;
  state.template.type(`${JSON.stringify(record, null, 2)}\n`);
  previewSoon();
}

function change(work) {
  const record = structuredClone(state.record);
  work(record);
  fillEditor(record);
  put(record);
}

const deleteSlot = slot => change(record => { record.good_rule.splice(slot, 1); record.bad_rule.splice(slot, 1); });
const copySlot = slot => change(record => { record.bad_rule[slot] = record.good_rule[slot]; });

const isBlank = record => record && [...record.good_rule, ...record.bad_rule].every(slot => !slot.trim());

async function showPreview() {
  if (!state.template?.state) return;
  if (isBlank(readRecord(state.template.state.text))) {
    fill(place("template-problems"));
    fill(place("preview"), make("p", {class: "note"}, "Fill in the slots of both members: words, conditions such as pos:NN, or a phrase. Ten pairs appear here as you type."));
    return;
  }
  const found = await ask("POST", "/write/api/preview", {...here(), text: state.template.state.text, seed: state.seed});
  for (const element of document.querySelectorAll(".at-slot")) element.textContent = "";
  const elsewhere = [];
  for (const problem of found.problems) if (!atSlot(problem, problem.text)) elsewhere.push(problem.text);
  for (const failure of found.failures) {
    const text = `${failure.text} (${failure.count} of ${found.draws} draws)`;
    if (!atSlot(failure, text)) elsewhere.push(text);
  }
  fill(place("template-problems"), ...elsewhere.map(text => make("p", {class: "problem"}, text)));
  fill(place("preview"), found.pairs.length
    ? table([{name: "good", title: "Good"}, {name: "bad", title: "Bad"}], found.pairs)
    : make("p", {}, "No pair can be drawn."), ...found.differences.map(text => make("p", {class: "note"}, text)));
}

function atSlot(problem, text) {
  const element = problem.slot === null ? null : place(`${problem.member}-${problem.slot}-problem`);
  if (element) element.append(make("div", {}, text));
  return Boolean(element);
}

async function openTemplate(name) {
  state.record = state.template = null;
  place("editor").hidden = place("raw-label").hidden = true;
  fill(place("preview"));
  fill(place("yield"));
  forgetJob();
  place("score").hidden = true;
  rememberPlace(name);
  if (!name) return;
  localStorage.setItem(last.template(state.project), name);
  state.template = new KeptText(state.project, name, showTemplate);
  await state.template.open();
  const made = await ask("GET", `/write/api/made?${query({...here(), name})}`);
  if (!made || state.template?.name !== name) return;
  showMade(made);
  await showRuns();
  attempt(follow);
}

function rememberPlace(template = state.template?.name) {
  remember({project: state.project, template, part: state.part === "templates" ? "" : state.part});
}

async function newTemplate(copy) {
  const input = place("new-template-name"), name = input.value.trim();
  await attemptAt({template: input}, async () => {
    if (copy) await state.template.flush();
    await ask("POST", "/write/api/templates", {...here(), name, ...(copy ? {copy: state.template.name} : {})});
    say("");
    input.value = "";
    await listTemplates(name);
  });
}

async function listTemplates(wanted) {
  const found = await ask("GET", `/write/api/project?${query(here())}`);
  place("folder").textContent = found.folder;
  fill(place("template"), ...found.templates.map(name => make("option", {value: name}, name)));
  const name = found.templates.includes(wanted) ? wanted : found.templates[0];
  if (name) place("template").value = name;
  place("copy-template").disabled = !name;
  await openTemplate(name);
}

// Saving, and what someone else saved meanwhile

async function saveText(kept, base) {
  try {
    await kept.save(base);
    say("");
  } catch (error) {
    if (isConflict(error)) showConflict(error, () => saveText(kept, error.details.sha256), () => kept.takeTheirs());
    else say(error.message);
  }
}

function showConflict(error, overwrite, take) {
  place("conflict-message").textContent = error.message;
  place("theirs").textContent = error.details.theirs;
  place("mine").textContent = error.details.mine;
  state.conflict = {overwrite, take};
  place("conflict").hidden = false;
  place("conflict-title").focus();
}

async function endConflict(choice) {
  place("conflict").hidden = true;
  await attempt(state.conflict[choice]);
}

// Phrases

function showPhrases(now) {
  if (place("phrases").value !== now.text) place("phrases").value = now.text;
  place("phrases-saved").textContent = describe(now, "other phrases");
  showSteps("phrases", now);
  if (now.kept) wordsChanged();
}

const wordsChanged = afterPause(100, () => attempt(async () => {
  state.known = await ask("GET", `/write/api/properties?${query(here())}`);
  await showPreview();
}));
const words = new Words(wordsChanged, showConflict);

// Making and scoring

async function makePairs(event) {
  event.preventDefault();
  await attemptAt({pairs: place("pairs"), seed: place("seed"), button: place("make-button")}, async () => {
    await state.template.flush();
    forgetJob();
    fill(place("yield"), make("p", {class: "note"}, "The pairs are being made."));
    const wanted = {...here(), name: state.template.name, pairs: Number(place("pairs").value), seed: Number(place("seed").value)};
    try {
      showMade(await busy(place("make-button"), () => ask("POST", "/write/api/generate", wanted)));
    } catch (error) {
      fill(place("yield"));
      throw error;
    }
    say("");
    await showRuns();
  });
}

function showMade({report, folder}) {
  fill(place("yield"),
    make("p", {}, `${count(report.kept)} pairs of ${count(report.candidates)} draws, in ${folder}.`),
    Object.keys(report.reasons).length ? table([{name: "reason", title: "Why draws gave no pair"}, {name: "number", title: "Draws", number: true}],
      Object.entries(report.reasons).map(([reason, number]) => ({reason, number}))) : null);
}

async function showRuns() {
  const runs = await ask("GET", "/write/api/runs");
  fill(place("run"), ...runs.map(run => make("option", {value: run.run}, run.run)));
  const steps = () => fill(place("step"), make("option", {value: ""}, "all"), ...(runs.find(run => run.run === place("run").value)?.steps || []).map(step => make("option", {value: step}, count(step))));
  place("run").onchange = steps;
  steps();
  place("score").hidden = !runs.length;
  if (!runs.length) place("yield").append(make("p", {class: "note"}, "There is no run with checkpoints to score these pairs with. Train one, or name runs when the workbench starts: runs=PATTERN."));
}

async function score(event) {
  event.preventDefault();
  const step = place("step").value;
  await scoreWith(place("score-button"), place("run").value, step === "" ? null : Number(step));
}

async function scoreWith(button, run, step) {
  const wanted = {...here(), name: state.template.name, run, step};
  const started = await attemptAt({step: place("step"), run: place("run")}, () => busy(button, () => ask("POST", "/write/api/score", wanted)));
  if (started) await attempt(follow);
}

function forgetJob() {
  state.following += 1;
  place("job").hidden = place("curve").hidden = true;
  fill(place("further"));
}

const pause = milliseconds => new Promise(resolve => setTimeout(resolve, milliseconds));

// Shows the scoring of the template's pairs until it ends; each checkpoint that is scored becomes a point of the curve.
async function follow() {
  forgetJob();
  const turn = state.following, name = state.template.name, start = {time: 0, done: 0};
  let drawn = 0;
  while (turn === state.following) {
    let now;
    try {
      now = await ask("GET", `/write/api/score?${query({...here(), name})}`);
    } catch (error) {
      if (error.status) throw error;
      place("progress").textContent = error.message;
      await pause(2000);
      continue;
    }
    if (turn !== state.following || now.state === "none") return;
    if (!start.time && now.done) Object.assign(start, {time: performance.now(), done: now.done});
    showJob(now, start);
    if (now.done > drawn) {
      drawn = now.done;
      const shown = showCurve(now, turn);
      await (now.state === "running" ? shown.catch(() => {}) : shown); // while it is written it may not be readable
    }
    if (now.state !== "running") return;
    await pause(400);
  }
}

function showJob(now, start) {
  const running = now.state === "running";
  state.job = now;
  place("job").hidden = false;
  place("bar").hidden = place("cancel").hidden = !running;
  place("go-on").hidden = now.state !== "stopped";
  place("bar").max = now.of;
  if (now.done) place("bar").value = now.done;
  else place("bar").removeAttribute("value");
  const text = jobText(now, start);
  if (place("progress").textContent !== text) place("progress").textContent = text;
  place("job-problem").hidden = !now.problem;
  place("job-problem").textContent = now.problem;
}

function jobText({state: how, run, done, of}, start) {
  const checkpoints = `${count(of)} checkpoint${of === 1 ? "" : "s"}`;
  if (how === "done") return `${done} of ${checkpoints} of ${run} ${of === 1 ? "is" : "are"} scored.`;
  if (how === "stopped") return `Stopped. ${done} of ${checkpoints} of ${run} ${done === 1 ? "is" : "are"} scored; go on to score the others.`;
  if (how === "failed") return `The scoring with ${run} failed after ${done} of ${checkpoints}.`;
  if (!done) return `The scorer is starting; it will score ${checkpoints} of ${run}.`;
  const seconds = done > start.done ? (performance.now() - start.time) / 1000 / (done - start.done) * (of - done) : 0;
  return `Checkpoint ${done} of ${of} is scored with ${run}${seconds > 1 ? `, about ${Math.ceil(seconds / 5) * 5} s left` : ""}.`;
}

async function showCurve(job, turn) {
  const {runs} = await ask("GET", "/explore/api/runs");
  const scored = runs.find(run => run.run === job.run).scored.find(one => one.benchmark === job.benchmark);
  const named = {benchmark: job.benchmark, scorer: scored.scorer};
  const {linkings} = await ask("GET", `/explore/api/benchmark?${query(named)}`);
  const found = await ask("GET", `/explore/api/curves?${query({...named, linking: linkings[0].name, by: "all"})}`);
  if (turn !== state.following) return;  // another template was opened meanwhile
  place("curve").hidden = false;
  await chart.draw(found);
  fill(place("further"), make("a", {href: `/explore?${query({benchmark: job.benchmark})}`}, "Look into these curves and their pairs"));
}

// The whole project

async function checkAll() {
  await attemptAt({button: place("check")}, async () => {
    await state.template?.flush();
    fill(place("checked"), make("p", {class: "note"}, "Ten pairs of each template are drawn."));
    const rows = await busy(place("check"), () => ask("POST", "/write/api/validate", here()));
    const columns = [{name: "template", title: "Template"}, {name: "uid", title: "uid"}, {name: "phenomenon", title: "Phenomenon"},
      {name: "pairs", title: "Pairs of ten", number: true}, {name: "draws", title: "Draws", number: true}, {name: "problem", title: "Problem", show: text => make("span", {class: "bad"}, text)}];
    const wrong = rows.filter(row => row.problem).length;
    fill(place("checked"), make("p", {}, wrong ? `${wrong} of ${rows.length} templates have a problem.` : `All ${rows.length} templates give pairs.`), table(columns, rows));
  });
}

async function openProject(name) {
  state.project = name;
  localStorage.setItem(last.project, name);
  place("project").value = name;
  place("conflict").hidden = true;
  state.phrases = new KeptText(name, "phrases", showPhrases);
  await state.phrases.open();
  await words.open(name);
  state.known = await ask("GET", `/write/api/properties?${query(here())}`);
  await listTemplates((!asked.project || asked.project === name) && asked.template || localStorage.getItem(last.template(name)));
  asked.template = "";  // that of the address is opened once
}

async function listProjects(wanted) {
  const projects = await ask("GET", "/write/api/projects");
  fill(place("project"), ...projects.map(one => make("option", {value: one.project}, `${one.project} (${one.templates})`)));
  const names = projects.map(one => one.project);
  await openProject(names.includes(wanted) ? wanted : names[0]);
  if (wanted && !names.includes(wanted)) say(`There is no project ${wanted}; ${names[0]} is shown.`);
}

const tabs = [...document.querySelectorAll("[role=tab]")];

function showPart(name) {
  state.part = name;
  for (const tab of tabs) {
    const chosen = tab.id === `tab-${name}`;
    tab.setAttribute("aria-selected", String(chosen));
    tab.tabIndex = chosen ? 0 : -1;
    place(tab.getAttribute("aria-controls")).hidden = !chosen;
  }
  rememberPlace();
  if (name === "check") checkAll();
}

// The arrow keys go through the tabs, as in any list of tabs.
function stepTab(event) {
  const move = {ArrowRight: 1, ArrowLeft: -1}[event.key];
  if (!move) return;
  const next = tabs[(tabs.indexOf(event.target) + move + tabs.length) % tabs.length];
  next.focus();
  showPart(next.id.slice(4));
}

function saveShown() {
  const button = {templates: "save", words: "save-words", phrases: "save-phrases"}[state.part];
  if (button) place(button).click();
}

function listen() {
  place("project").addEventListener("change", event => attempt(() => openProject(event.target.value)));
  place("new-project").addEventListener("submit", event => {
    event.preventDefault();
    const name = place("new-project-name").value.trim();
    attemptAt({project: place("new-project-name")}, async () => {
      await ask("POST", "/write/api/projects", {name});
      say("");
      place("new-project-name").value = "";
      await listProjects(name);
    });
  });
  for (const tab of tabs) {
    tab.addEventListener("click", () => showPart(tab.id.slice(4)));
    tab.addEventListener("keydown", stepTab);
  }
  document.addEventListener("keydown", event => {
    if (event.key !== "s" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    saveShown();
  });
  place("template").addEventListener("change", event => attempt(() => openTemplate(event.target.value)));
  place("new-template").addEventListener("submit", event => { event.preventDefault(); newTemplate(false); });
  place("copy-template").addEventListener("click", () => newTemplate(true));
  for (const id of Object.keys(FIELDS)) place(id).addEventListener("input", edited);
  place("strict").addEventListener("change", edited);
  place("raw").addEventListener("input", event => state.template.type(event.target.value));
  place("add-slot").addEventListener("click", () => {
    change(record => { record.good_rule.push(""); record.bad_rule.push(""); });
    slotInput("good", state.record.good_rule.length - 1).focus();
  });
  onStep("step", to => attempt(() => state.template.step(to)));
  onStep("phrases", to => attempt(() => state.phrases.step(to)));
  place("save").addEventListener("click", () => saveText(state.template));
  place("save-phrases").addEventListener("click", () => saveText(state.phrases));
  place("phrases").addEventListener("input", event => state.phrases.type(event.target.value));
  place("take-theirs").addEventListener("click", () => endConflict("take"));
  place("keep-mine").addEventListener("click", () => endConflict("overwrite"));
  place("draw-others").addEventListener("click", () => { state.seed += 1; attempt(showPreview); });
  place("make").addEventListener("submit", makePairs);
  place("score").addEventListener("submit", score);
  place("cancel").addEventListener("click", () => attempt(() => ask("POST", "/write/api/score/cancel", {})));
  place("go-on").addEventListener("click", () => scoreWith(place("go-on"), state.job.run, state.job.step));
  place("check").addEventListener("click", checkAll);
}

listen();
await attempt(() => listProjects(asked.project || localStorage.getItem(last.project)));
if (tabs.some(tab => tab.id === `tab-${asked.part}`)) showPart(asked.part);
document.body.dataset.ready = "yes";
