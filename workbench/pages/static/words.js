// The vocabulary: a page of its table, changed a cell at a time.
import {afterPause, ask, attempt, count, fill, make, place, query, Refusal, rowsShown, say} from "/static/common.js";
import {browser, describe, isConflict, onStep, showSteps} from "/static/document.js";

export class Words {
  // onChange is called when a word changed; onConflict with a refusal that shows both versions.
  constructor(onChange, onConflict) {
    this.project = "";
    this.sort = "";
    this.descending = false;
    this.offset = 0;
    this.onChange = onChange;
    this.onConflict = onConflict;
    place("filter").addEventListener("input", afterPause(200, () => { this.offset = 0; this.load(); }));
    place("words-back").addEventListener("click", () => { this.offset -= 100; this.load(); });
    place("words-next").addEventListener("click", () => { this.offset += 100; this.load(); });
    place("save-words").addEventListener("click", () => this.save(this.found.base));
    onStep("words", to => this.send("words/step", {to}));
    place("new-word").addEventListener("submit", event => this.add(event));
    place("new-column").addEventListener("submit", event => this.addColumn(event));
    place("paste").addEventListener("submit", event => this.paste(event));
  }

  get values() {
    return {project: this.project, browser};
  }

  async open(project) {
    this.project = project;
    this.sort = "";
    this.offset = 0;
    place("filter").value = "";
    await this.load();
  }

  load() {
    return attempt(async () => {
      this.show(await ask("GET", `/write/api/words?${query({...this.values, filter: place("filter").value, sort: this.sort, descending: String(this.descending), offset: this.offset})}`));
    });
  }

  async send(name, body) {
    let done = true;
    try {
      await ask("POST", `/write/api/${name}`, {...this.values, ...body});
      say("");
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      done = false;
      say(error.message);
    }
    await this.load();
    if (done) this.onChange();
    return done;
  }

  change(change) {
    return this.send("words", {change, base: this.found.base});
  }

  async save(base) {
    try {
      await ask("POST", "/write/api/words/save", {...this.values, base});
      say("");
      await this.load();
    } catch (error) {
      if (isConflict(error)) this.onConflict(error, () => this.save(error.details.sha256), () => this.send("words/theirs", {}));
      else say(error.message);
    }
  }

  show(found) {
    this.found = found;
    const direction = this.descending ? "descending" : "ascending";
    const heads = found.columns.map(name => make("th", {scope: "col", "aria-sort": this.sort === name ? direction : null},
      make("button", {type: "button", class: "head", onclick: () => this.sortBy(name)}, name)));
    fill(document.querySelector("#words thead"), make("tr", {}, ...heads, make("th", {scope: "col"}, "")));
    fill(document.querySelector("#words tbody"), ...found.rows.map(row => this.showRow(row)));
    this.showForm();
    place("words-place").textContent = `${rowsShown(found.offset, found.rows.length, found.found)} (${count(found.words)} words)`;
    place("words-back").disabled = found.offset === 0;
    place("words-next").disabled = found.offset + found.rows.length >= found.found;
    place("words-state").textContent = describe({...found, kept: true}, "other words");
    showSteps("words", found);
  }

  showRow({row, cells}) {
    const {columns} = this.found, word = cells[columns.indexOf("expression")];
    const input = (cell, name) => make("input", {value: cell, size: Math.max(4, Math.min(24, cell.length + 1)), "aria-label": `${name} of ${word}`,
      onchange: event => this.change({do: "set", row, column: name, value: event.target.value})});
    const drop = make("button", {type: "button", class: "plain", "aria-label": `Delete ${word}`, onclick: () => this.change({do: "delete", row})}, "delete");
    return make("tr", {}, ...cells.map((cell, position) => make("td", {}, input(cell, columns[position]))), make("td", {}, drop));
  }

  // The form for a new word, which stays as it is while the columns do, so that nothing typed into it is lost.
  showForm() {
    const {columns} = this.found, key = columns.join("\t");
    if (this.columns === key) return;
    this.columns = key;
    const field = name => make("label", {}, name, make("input", {name, size: 9, autocomplete: "off"}));
    fill(place("new-word"), ...columns.map(field), make("button", {}, "Add word"));
  }

  sortBy(name) {
    this.descending = this.sort === name && !this.descending;
    this.sort = name;
    this.offset = 0;
    this.load();
  }

  async add(event) {
    event.preventDefault();
    const inputs = [...event.target.querySelectorAll("input")];
    const word = Object.fromEntries(inputs.filter(input => input.value.trim()).map(input => [input.name, input.value.trim()]));
    if (await this.change({do: "add", words: [word]})) {
      for (const input of inputs) input.value = "";
      inputs[0].focus();
    }
  }

  async addColumn(event) {
    event.preventDefault();
    const input = place("new-column-name");
    if (await this.change({do: "column", name: input.value.trim()})) input.value = "";
  }

  async paste(event) {
    event.preventDefault();
    const names = this.found.columns, lines = place("pasted").value.split(/\r?\n/).filter(line => line.trim());
    const wide = lines.find(line => line.split("\t").length > names.length);
    if (wide) return say(`"${wide.slice(0, 80)}" has more cells than there are columns (${names.join(", ")}).`);
    const words = lines.map(line => Object.fromEntries(line.split("\t").map((cell, position) => [names[position], cell.trim()])));
    if (await this.change({do: "add", words})) place("pasted").value = "";
  }
}
