// A text that is kept at every change: at once in this browser, a moment later by the server, where undo is too.
import {ask, query, Refusal} from "/static/common.js";

function browserName() {
  let name = localStorage.getItem("ucurve:browser");
  if (!name) {
    name = `b${crypto.getRandomValues(new Uint32Array(3)).join("-")}`;
    localStorage.setItem("ucurve:browser", name);
  }
  return name;
}

export const browser = browserName();
const PAUSE = 250; // milliseconds without a key before the server is told
const UNANSWERED = "The workbench does not answer. What you type is kept in this browser.";

export class KeptText {
  // show is called with each state: text, saved, can_undo, can_redo and kept, whether the server has it.
  constructor(project, name, show) {
    this.project = project;
    this.name = name;
    this.show = show;
    this.key = `ucurve:text:${project}:${name}`;
    this.state = null;
    this.timer = 0;
    this.sending = Promise.resolve();
  }

  get values() {
    return {project: this.project, name: this.name, browser};
  }

  async open() {
    this.state = await ask("GET", `/write/api/document?${query(this.values)}`);
    const unsent = this.unsent;
    if (unsent && unsent.text !== this.state.text) await this.send(unsent);
    localStorage.removeItem(this.key);
    this.tell(true);
  }

  // What this browser has and the server may not have: a text, and the file that it was made from.
  get unsent() {
    try {
      return JSON.parse(localStorage.getItem(this.key));
    } catch {
      return null;
    }
  }

  type(text) {
    if (text === this.state.text) return;
    localStorage.setItem(this.key, JSON.stringify({text, base: this.state.base}));
    this.state = {...this.state, text, saved: false};
    this.tell(false);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.flush().catch(error => this.retry(error)), PAUSE);
  }

  retry(error) {
    const lost = error.status === 401 ? error.message : UNANSWERED; // 401: it was started again, with another token
    this.show({...this.state, kept: false, lost});
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.flush().catch(error => this.retry(error)), 2000);
  }

  // Sends what is not sent yet; requests follow one another, so that the last text is the last one kept.
  flush() {
    clearTimeout(this.timer);
    const work = async () => {
      const unsent = this.unsent;
      if (unsent) await this.send(unsent);
    };
    this.sending = this.sending.then(work, work);
    return this.sending;
  }

  async send(unsent) {
    const state = await ask("PUT", "/write/api/document", {...this.values, ...unsent});
    const later = this.unsent;
    if (later && later.text !== unsent.text) {
      this.state = {...state, text: this.state.text, saved: false};
      return;
    }
    localStorage.removeItem(this.key);
    this.state = state;
    this.tell(true);
  }

  async step(to) {
    await this.flush();
    this.state = await ask("POST", "/write/api/step", {...this.values, to});
    this.tell(true);
  }

  // Saves; what someone else changed meanwhile is thrown as a Refusal of status 409 with both versions.
  async save(base = this.state.base) {
    await this.flush();
    this.state = await ask("POST", "/write/api/save", {...this.values, text: this.state.text, base});
    this.tell(true);
  }

  async takeTheirs() {
    this.state = await ask("POST", "/write/api/theirs", this.values);
    localStorage.removeItem(this.key);
    this.tell(true);
  }

  tell(kept) {
    this.show({...this.state, kept});
  }
}

// Says whether a state is kept and saved; theirs names what someone else may have saved meanwhile.
export function describe(state, theirs) {
  const kept = state.kept ? "Not saved in the file; kept as a draft." : "Being kept…";
  const own = state.lost ? state.lost : state.saved ? "Saved." : kept;
  return own + (state.changed_on_disk ? ` Someone else saved ${theirs} meanwhile.` : "");
}

// The buttons of one kind (data-KIND) that undo and redo.
const stepButtons = kind => [...document.querySelectorAll(`[data-${kind}]`)];

export function onStep(kind, work) {
  for (const button of stepButtons(kind)) button.addEventListener("click", () => work(button.dataset[kind]));
}

export function showSteps(kind, {can_undo, can_redo}) {
  for (const button of stepButtons(kind)) button.disabled = !(button.dataset[kind] === "undo" ? can_undo : can_redo);
}

export const isConflict = error => error instanceof Refusal && error.status === 409;
