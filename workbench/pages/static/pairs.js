// Pairs as they are listed: sentences, and what became of them.
import {fill, heard, make, onClick, svg} from "/static/common.js";

export const NAMES = {0: "wrong", 1: "tied", 2: "right"}, RIGHT = "2";

// A number with its sign, as differences have it.
export const signed = (value, digits) => {
  if (value === null) return "–";
  const text = Math.abs(value).toFixed(digits);
  return Number(text) === 0 ? text : `${value < 0 ? "−" : "+"}${text}`;
};

// The parts of two sentences between their common beginning and end, by words or, without spaces, by characters.
function different(good, bad) {
  const spaced = good.includes(" ") || bad.includes(" "), split = text => spaced ? text.split(" ") : [...text];
  const between = spaced ? " " : "";
  return cutAlike(split(good), split(bad)).map(parts => parts.map(part => part.join(between)));
}

// Two lists, each as [what both begin with, what is its own, what both end with].
export function cutAlike(one, other, same = (a, b) => a === b) {
  const least = Math.min(one.length, other.length);
  let start = 0, end = 0;
  while (start < least && same(one[start], other[start])) start++;
  while (end < least - start && same(one[one.length - 1 - end], other[other.length - 1 - end])) end++;
  return [one, other].map(all => [all.slice(0, start), all.slice(start, all.length - end), all.slice(all.length - end)]);
}

function sentence(kind, [before, own, after], spaced) {
  const space = spaced ? " " : "";
  return make("span", {class: `sentence of-${kind}`}, heard(kind === "good" ? "Good: " : "Bad: "),
    before + (before ? space : ""), own ? make("mark", {}, own) : null, (after ? space : "") + after);
}

// Both sentences of a pair, with what differs underlined.
export function sentences({good, bad}) {
  const spaced = good.includes(" ") || bad.includes(" "), [one, other] = different(good, bad);
  return [sentence("good", one, spaced), sentence("bad", other, spaced)];
}

// The verdicts over training: high is right, low is wrong, the middle is a tie.
function trace(digits, place) {
  const verdicts = [...digits], width = Math.min(140, 6 * verdicts.length);
  const said = verdicts.length > 30 ? `right at ${verdicts.filter(one => one === RIGHT).length} of ${verdicts.length} checkpoints`
    : verdicts.map(one => NAMES[one]).join(", ");
  const here = place < 0 ? [] : [svg("rect", {x: place, y: 0, width: 1, height: 2.6, fill: "currentColor", "fill-opacity": 0.25})];
  const path = svg("path", {d: verdicts.map((one, step) => `M${step} ${2.3 - one}h1`).join(""), stroke: "currentColor", "stroke-width": 0.5});
  return svg("svg", {class: "trace", width, height: 18, viewBox: `0 0 ${verdicts.length} 2.6`, preserveAspectRatio: "none", role: "img", "aria-label": said},
    ...here, path);
}

// The list of what /explore/api/pairs found; place is that of the checkpoint, address gives the address of a pair.
export function listPairs(box, found, {place, address, open}) {
  fill(box, ...found.rows.map(row => {
    const link = make("a", {href: address(row.pair), onclick: onClick(() => open(row.pair, link.href))}, ...sentences(row));
    const facts = make("div", {class: "facts"},
      make("span", {class: `verdict ${row.verdict}`}, row.verdict), ...row.marks.map(mark => make("span", {class: "mark"}, mark)),
      make("span", {}, `margin ${signed(row.margin, 3)}`), trace(row.trace, place),
      make("span", {}, `pair ${row.pair}, ${row.paradigm}`));
    facts.addEventListener("click", () => open(row.pair, link.href));
    return make("li", {class: "pair", "data-pair": row.pair}, link, facts);
  }));
}

// Marks the pair of the list that is open; null for none.
export function markOpen(box, pair) {
  for (const one of box.querySelectorAll(".pair")) {
    const own = Number(one.dataset.pair) === pair;
    one.classList.toggle("open", own);
    one.querySelector("a").setAttribute("aria-current", String(own));
  }
}
