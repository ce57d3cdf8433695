"use strict";
(() => {
  const made = JSON.parse(document.getElementById("questionnaire").textContent);
  const { wording } = made;
  const COLUMNS = ["annotator", "item", "choice", "seconds", "list", "page", "position", "kind", "good_first",
    "page_seconds", "questionnaire"];
  // Whether people say if a pair is right, and not which of its sentences is.
  const accepting = wording.answers.length > 0;
  if (accepting) COLUMNS.push("comment");
  // places on the keyboard, whatever its letters
  const KEYS = accepting ? { Digit1: 0, Digit2: 1, Digit3: 2 } : { KeyF: 0, ArrowLeft: 0, KeyJ: 1, ArrowRight: 1 };
  const NAMES = accepting ? ["1", "2", "3"] : ["F", "J"];
  const choiceOf = (side, goodFirst) => accepting ? ["good", "bad", "none"][side] : (side === 0) === goodFirst ? "good" : "bad";
  const address = new URLSearchParams(location.search);

  const element = (name, text = "", properties = {}) =>
    Object.assign(document.createElement(name), { textContent: text }, properties);
  const markup = (...elements) => elements.map((one) => one.outerHTML).join("");
  const fill = (text, values) => text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
  const seconds = (since) => Number(((performance.now() - since) / 1000).toFixed(3));

  // What was answered is kept in the browser after every page, so a reload goes on where it was.
  const place = ["questionnaire", made.name, address.get("list") ?? "", annotatorInAddress() ?? ""].join("/");

  function annotatorInAddress() {
    const found = ["annotator", "PROLIFIC_PID", "workerId"].map((name) => address.get(name)).find(Boolean);
    return found?.trim().slice(0, 100) || undefined;
  }

  function drawName() {
    return [...crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  }

  function drawList() {
    const names = Object.keys(made.lists);
    return names[Math.floor(Math.random() * names.length)];
  }

  function recall() {
    try {
      return JSON.parse(localStorage.getItem(place));
    } catch {
      return null;
    }
  }

  function keep(state) {
    try {
      localStorage.setItem(place, JSON.stringify(state));
    } catch {
      // a browser that keeps nothing: the answers are still offered at the end
    }
  }

  function cell(value) {
    const text = String(value);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }

  function table(rows) {
    return [COLUMNS, ...rows.map((row) => COLUMNS.map((name) => row[name]))]
      .map((line) => line.map(cell).join(",") + "\n").join("");
  }

  const { ParameterType } = jsPsychModule;

  /** A page of pairs, shown one after the other; the first choice in each stands. */
  class ForcedChoicePage {
    static info = {
      name: "forced-choice-page",
      version: "1.0.0",
      parameters: {
        trials: { type: ParameterType.COMPLEX, array: true },
        header: { type: ParameterType.STRING, default: "" },
      },
      data: { answers: { type: ParameterType.COMPLEX, array: true }, page_seconds: { type: ParameterType.FLOAT } },
    };

    constructor(jsPsych) {
      this.jsPsych = jsPsych;
    }

    trial(display, { trials, header }) {
      const start = performance.now();
      const answers = [];
      const wait = element("p", "", { className: "wait" });
      const next = element("button", wording.next, { className: "jspsych-btn", disabled: true, id: "next" });
      const blocks = trials.map((trial) => this.block(trial, (side) => choose(trial, side)));
      let since = start;
      let waited = false;

      const choose = (trial, side) => {
        if (trials[answers.length] !== trial) return;
        const choice = choiceOf(side, trial.goodFirst);
        answers.push({ item: trial.item, choice, seconds: seconds(since), position: trial.position, kind: trial.kind,
          good_first: trial.goodFirst });
        blocks[answers.length - 1].close(side, choice);
        show();
      };
      const show = () => {
        if (answers.length < trials.length) {
          blocks[answers.length].node.hidden = false;
          blocks[answers.length].node.scrollIntoView({ block: "nearest" });
          since = performance.now();
        } else {
          next.disabled = !waited;
          wait.textContent = waited ? "" : wording.wait;
          if (waited) next.focus();
        }
      };
      const press = (event) => {
        const side = KEYS[event.code];
        if (side === undefined || event.target.tagName === "TEXTAREA" || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
        if (answers.length < trials.length) {
          event.preventDefault();
          choose(trials[answers.length], side);
        }
      };
      const timer = setTimeout(() => {
        waited = true;
        if (answers.length === trials.length) show();
      }, 1000 * made.minSeconds);

      next.addEventListener("click", () => {
        clearTimeout(timer);
        document.removeEventListener("keydown", press);
        display.replaceChildren();
        if (accepting) answers.forEach((answer, place) => { answer.comment = blocks[place].comment.value; });
        this.jsPsych.finishTrial({ answers, page_seconds: seconds(start) });
      });
      document.addEventListener("keydown", press);
      display.replaceChildren(element("p", header, { className: "progress" }), ...blocks.map(({ node }) => node), wait, next);
      show();
    }

    /** One pair: its buttons, and how it looks once it is answered. */
    block(trial, choose) {
      const [good, bad, right, phenomenon] = made.questions[trial.item];
      const sentences = trial.goodFirst ? [good, bad] : [bad, good];
      const buttons = (accepting ? wording.answers : sentences).map((text, side) => {
        const button = element("button", "", { className: "sentence", type: "button" });
        button.append(element("kbd", NAMES[side]), element("span", text, { dir: "auto" }));
        button.addEventListener("click", () => choose(side));
        return button;
      });
      const node = element("div", "", { className: "question", hidden: true });
      node.dataset.item = trial.item;
      const comment = element("textarea", "", { rows: 1 });
      if (accepting) {
        const pair = [good, `*${bad}`].map((text) => element("p", text, { className: "pair", dir: "auto" }));
        const box = element("label", wording.comment, { className: "comment" });
        box.append(comment);
        node.append(...pair, element("p", phenomenon, { className: "progress" }), ...buttons, box);
      } else {
        node.append(...buttons);
      }
      const close = (side, choice) => {
        buttons[side].classList.add("chosen");
        buttons.forEach((button) => { button.disabled = true; });
        if (trial.kind === "training") {
          const text = choice === right ? wording.right : wording.wrong;
          node.append(element("p", text, { className: `feedback ${choice === right ? "good" : "bad"}`, role: "status" }));
        }
      };
      return { node, close, comment };
    }
  }

  function timeline(state) {
    const pages = made.lists[state.list];
    const left = pages.map((trials, place) => ({ trials, page: place + 1 })).slice(state.pages);
    const isTraining = ({ trials }) => trials[0].kind === "training";
    const asPage = ({ trials, page }) => ({
      type: ForcedChoicePage,
      trials,
      header: fill(wording.page, { page, pages: pages.length }),
      on_finish: ({ answers, page_seconds }) => {
        state.rows.push(...answers.map((answer) => ({ ...answer, annotator: state.annotator, list: state.list, page,
          page_seconds, questionnaire: made.name })));
        state.pages = page;
        keep(state);
      },
    });
    const training = left.filter(isTraining);
    const steps = [{
      type: jsPsychInstructions,
      pages: [markup(element("h1", wording.title), ...wording.instructions.map((text) => element("p", text)),
        ...(training.length ? [element("p", wording.training)] : []))],
      show_clickable_nav: true,
      allow_backward: false,  // there is one page, and the button would not be in the language of the page
      button_label_next: wording.begin,
    }, ...training.map(asPage)];
    if (training.length) {
      steps.push({ type: jsPsychHtmlButtonResponse, stimulus: markup(element("p", wording.training_over)),
        choices: [wording.begin] });
    }
    return [...steps, ...left.filter((page) => !isTraining(page)).map(asPage)];
  }

  /** Offer the answers as a file, show them, and send them where the questionnaire was made so. */
  async function finish(state) {
    const text = table(state.rows);
    const named = `answers-${made.name}-list-${state.list}-${state.annotator.replace(/[^\w.-]/g, "_")}.csv`;
    const link = element("a", wording.download, { className: "download", id: "download", download: named,
      href: URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" })) });
    const said = element("p", made.post ? wording.sending : wording.keep, { id: "said", role: "status" });
    const shown = element("details");
    shown.append(element("summary", named), element("pre", text, { id: "answers" }));
    const box = element("main", "", { className: "jspsych-content" });
    box.append(element("h1", wording.thanks), said, link, shown);
    document.body.replaceChildren(box);
    tellFrame(named, text);
    if (made.post && !state.sent) {
      state.sent = await send(text);
      keep(state);
    }
    if (made.post) said.textContent = state.sent ? wording.sent : wording.not_sent;
  }

  /** Give the answers to the page that shows this one in a frame, if both come from the same address: a pilot. */
  function tellFrame(name, text) {
    if (parent !== window && location.protocol.startsWith("http")) {
      parent.postMessage({ questionnaire: made.name, name, text }, location.origin);
    }
  }

  async function send(text) {
    try {
      const answer = await fetch(made.post, { method: "POST", body: text, headers: { "Content-Type": "text/plain" } });
      return answer.ok;
    } catch {
      return false;
    }
  }

  async function start() {
    const list = address.get("list");
    if (list !== null && !Object.hasOwn(made.lists, list)) {
      const text = fill(wording.no_list, { list, lists: Object.keys(made.lists).length });
      document.body.replaceChildren(element("p", text, { className: "jspsych-content" }));
      return;
    }
    const fresh = { annotator: annotatorInAddress() ?? drawName(), list: list ?? drawList(), rows: [], pages: 0 };
    const state = recall() ?? fresh;
    keep(state);
    if (state.pages < made.lists[state.list].length) {
      // without this it warns of a page that is opened as a file, because of media, which this page has none of
      await initJsPsych({ override_safe_mode: true }).run(timeline(state));
    }
    await finish(state);
  }

  start();
})();
