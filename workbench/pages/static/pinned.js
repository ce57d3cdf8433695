// The pair that is open. It stays while checkpoint, run and kind change: its margin over training, a line for each seed,
// its card and its tokens at the checkpoint, and what the run had read of it before.
import {embed} from "/static/curves.js";
import {count, fill, latest, make, parsed, shortCount} from "/static/common.js";
import {cutAlike, NAMES, RIGHT, sentences, signed} from "/static/pairs.js";

export class PinnedPair {
  // api(name, values) makes a request of the room; close() is called when the reader closes the pair.
  constructor(box, {api, close}) {
    Object.assign(this, {box, api, close, key: "", found: null, why: null});
    this.showCard = latest(() => this.fillFrom("card", this.card, found => parsed(found.html)));
    this.showTokens = latest(() => this.fillFrom("tokens", this.tokens, tokenLists));
    this.showSeen = latest(() => this.why.open && this.fillFrom("seen", this.seen, found => this.seenLists(found)));
  }

  // Shows the pair that a request names at a step, or nothing for null; atRest is false while a reader only points.
  async show(wanted, step, atRest) {
    this.box.hidden = !wanted;
    const key = wanted ? JSON.stringify(wanted) : "";
    if (key !== this.key) {
      this.key = key;
      const found = wanted && await this.api("pair", wanted);
      if (this.key !== key) return;
      this.found = found;
      this.wanted = wanted;
      if (found) await this.draw();
    }
    if (!this.found) return;
    this.step = step;
    this.mark();
    if (!atRest) return;
    this.showCard();
    this.showTokens();
    this.showSeen();
  }

  async draw() {
    const {pair, paradigm, seeds, chart, card} = this.found, wasOpen = this.why?.open ?? false;
    const history = make("div", {class: "history", role: "img",
      "aria-label": `Margin of the pair over training, ${seeds.length === 1 ? "one line" : `${seeds.length} lines, one for each seed`}`});
    this.facts = make("p", {class: "facts", role: "status"});
    this.card = make("div", {}, ...parsed(card)); // what was read of it is found meanwhile
    this.tokens = make("div", {class: "of-tokens"}, make("p", {class: "note"}, "The checkpoint is being asked for the tokens."));
    this.seen = make("div", {}, make("p", {class: "note"}, "The training text is being read. The first time, this may take minutes."));
    this.why = make("details", {class: "why", open: wasOpen, ontoggle: () => this.showSeen()},
      make("summary", {}, "Why? What this run had read of it by this checkpoint"), this.seen);
    fill(this.box, make("div", {class: "head"}, make("h3", {}, `Pair ${pair}, ${paradigm}`),
      make("button", {type: "button", class: "plain", onclick: this.close}, "Close")),
    ...sentences(this.found), this.facts, this.card, history, this.tokens, this.why);
    const view = await embed(history, chart);
    this.view?.finalize();
    this.view = view;
  }

  // Says and marks what the pair is at the step.
  mark() {
    const {seeds} = this.found, own = seeds.find(seed => seed.run === this.wanted.run), place = own.steps.indexOf(this.step);
    const others = seeds.filter(seed => seed.steps.includes(this.step));
    const right = others.filter(seed => seed.trace[seed.steps.indexOf(this.step)] === RIGHT);
    const verdict = NAMES[own.trace[place]];
    fill(this.facts, make("span", {class: `verdict ${verdict}`}, verdict),
      make("span", {}, make("a", {class: "term", href: "#term-margin"}, "margin"), ` ${signed(own.margins[place], 3)} at step ${count(this.step)}`),
      seeds.length > 1 ? make("span", {}, `right in ${right.length} of ${others.length} seeds here`) : null);
    this.view.signal("at", this.step).runAsync();
  }

  // Asks for what is shown at the step, and asks again where the reader has gone on meanwhile.
  async fillFrom(name, element, show) {
    const key = JSON.stringify([this.key, this.step]);
    if (element.dataset.key === key) return;
    try {
      const found = await this.api(name, {...this.wanted, step: this.step});
      if (JSON.stringify([this.key, this.step]) !== key) return;
      fill(element, ...show(found));
    } catch (error) {
      fill(element, make("p", {class: "note"}, `${name === "tokens" ? "No tokens" : "Nothing to show"}: ${error.message}`));
    }
    element.dataset.key = key;
  }

  seenLists({spaced, rows}) {
    const own = this.found.seeds.find(seed => seed.run === this.wanted.run), tokens = own.tokens[own.steps.indexOf(this.step)];
    const listOf = member => make("div", {}, make("h4", {}, `What differs in the ${member} sentence`),
      make("ul", {}, ...rows.filter(row => row.member === member).map(row => ngramItem(row, spaced))));
    return [
      make("p", {class: "note"}, `How often ${this.wanted.run} was trained on them up to step ${count(this.step)} (${shortCount(tokens)} tokens); ${
        spaced ? "a word is what stands between spaces" : "each character is a word"}. Open one to read the lines that it was last seen in.`),
      make("div", {class: "members"}, listOf("good"), listOf("bad")),
    ];
  }
}

// An n-gram, how often it was seen, and the lines with it.
function ngramItem({ngram, count: times, last_step: last, lines}, spaced) {
  const text = spaced ? ngram : ngram.replaceAll(" ", ""), name = make("strong", {}, text);
  if (!times) return make("li", {}, name, " never");
  return make("li", {}, make("details", {}, make("summary", {}, name, ` ${times === 1 ? "once" : `${count(times)} times`}, last at step ${count(last)}`),
    make("ul", {}, ...lines.map(line => make("li", {}, ...marked(line, text))))));
}

// A line with the first place of an n-gram in it marked.
function marked(line, text) {
  const at = line.toLowerCase().indexOf(text);
  return at < 0 ? [line] : [line.slice(0, at), make("mark", {}, line.slice(at, at + text.length)), line.slice(at + text.length)];
}

const sumOf = tokens => tokens.reduce((sum, one) => sum + (one.scored ? one.logprob : 0), 0);
const textOf = tokens => tokens.map(one => one.token).join(" ") || "∅";
const sumText = value => value.toFixed(4);

// The tokens of both sentences beside each other, each with the log probability in the good one less that in the bad one.
function tokenLists({good, bad, sums, stored}) {
  const [[start, ownGood, end], [, ownBad, endBad]] = cutAlike(good, bad, (one, other) => one.token === other.token);
  const same = (one, other) => tokenItem([one], [other], false);
  const items = [...start.map((one, place) => same(one, bad[place])),
    ...ownGood.length + ownBad.length ? [tokenItem(ownGood, ownBad, true)] : [],
    ...end.map((one, place) => same(one, endBad[place]))];
  return [
    make("h4", {}, "Log probability of each token, ", make("a", {class: "term", href: "#term-margin"}, "good minus bad")),
    make("ol", {class: "tokens", "aria-label": "Tokens, good minus bad"}, ...items),
    make("p", {class: "note"}, `Together ${signed(sums.good - sums.bad, 3)}. Sums: good ${sumText(sums.good)}, bad ${sumText(sums.bad)} (stored: ${sumText(stored.good)}, ${sumText(stored.bad)}).`),
  ];
}

function tokenItem(good, bad, differs) {
  const counted = [...good, ...bad].some(one => one.scored), difference = sumOf(good) - sumOf(bad);
  const sign = !counted || Math.abs(difference) < 0.005 ? "" : difference > 0 ? "for-good" : "for-bad";
  const texts = differs ? [make("b", {class: "good"}, `✓ ${textOf(good)}`), make("b", {class: "bad"}, `✗ ${textOf(bad)}`)] : [textOf(good)];
  return make("li", {class: [differs ? "other" : "", sign].join(" ").trim() || null, title: `good ${sumOf(good).toFixed(2)}, bad ${sumOf(bad).toFixed(2)}`},
    ...texts, make("span", {}, counted ? signed(difference, 2) : "not counted"));
}
