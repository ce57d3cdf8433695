// A list of pairs: sentences, what became of them, and for one that is open its values over training and its tokens.
import {embed} from "/static/curves.js";
import {fill, heard, make, onClick, svg} from "/static/common.js";

const NAMES = {0: "wrong", 1: "tied", 2: "right"}, RIGHT = "2";
const number = value => value === null ? "–" : value.toFixed(3);

// The parts of two sentences between their common beginning and end, by words or, without spaces, by characters.
function different(good, bad) {
  const spaced = good.includes(" ") || bad.includes(" "), split = text => spaced ? text.split(" ") : [...text];
  const one = split(good), other = split(bad), least = Math.min(one.length, other.length);
  let start = 0, end = 0;
  while (start < least && one[start] === other[start]) start++;
  while (end < least - start && one[one.length - 1 - end] === other[other.length - 1 - end]) end++;
  const between = spaced ? " " : "";
  return [one, other].map(words => [words.slice(0, start), words.slice(start, words.length - end), words.slice(words.length - end)]
    .map(part => part.join(between)));
}

function sentence(kind, [before, own, after], spaced) {
  const space = spaced ? " " : "";
  return make("span", {class: `sentence of-${kind}`}, heard(kind === "good" ? "Good: " : "Bad: "),
    before + (before ? space : ""), own ? make("mark", {}, own) : null, (after ? space : "") + after);
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
    const spaced = row.good.includes(" ") || row.bad.includes(" "), [good, bad] = different(row.good, row.bad);
    const link = make("a", {href: address(row.pair), "aria-expanded": "false", onclick: onClick(() => open(row.pair, link.href))},
      sentence("good", good, spaced), sentence("bad", bad, spaced));
    return make("li", {class: "pair", "data-pair": row.pair}, link, make("div", {class: "facts"},
      make("span", {class: `verdict ${row.verdict}`}, row.verdict), ...row.marks.map(mark => make("span", {class: "mark"}, mark)),
      make("span", {}, `${number(row.good_value)} / ${number(row.bad_value)}`), trace(row.trace, place),
      make("span", {}, `pair ${row.pair}, ${row.paradigm}`)));
  }));
}

// Opens a pair of the list, or closes the one that is open; returns the place for its details.
export function openPair(box, pair) {
  let details = null;
  for (const one of box.querySelectorAll(".pair")) {
    const own = Number(one.dataset.pair) === pair;
    one.classList.toggle("open", own);
    one.querySelector("a").setAttribute("aria-expanded", String(own));
    const old = one.querySelector(".details");
    if (!own) old?.remove();
    else {
      details = old ?? make("div", {class: "details"});
      one.append(details);
    }
  }
  return details;
}

// Fills the details of a pair: its values over training, and its tokens when they come.
export async function showPair(details, found, tokens) {
  const history = make("div", {class: "history", role: "img", "aria-label": "Linked values of both members over training"});
  const below = make("div", {class: "of-tokens", role: "status"}, make("p", {class: "note"}, "The checkpoint is being asked for the tokens."));
  fill(details, history, below);
  await embed(history, found.chart);
  try {
    fill(below, ...tokenLists(await tokens));
  } catch (error) {
    fill(below, make("p", {class: "note"}, `No tokens: ${error.message}`));
  }
}

function tokenLists({good, bad, sums, stored}) {
  const rows = [["Good", good, bad], ["Bad", bad, good]].flatMap(([title, own, other]) => {
    const items = own.map((one, place) => make("li", {class: other[place]?.token === one.token ? null : "other"}, one.token,
      make("span", {}, one.logprob === null ? "–" : one.logprob.toFixed(2) + (one.scored ? "" : " (not counted)"))));
    return [make("h3", {}, `${title}: log probability of each token`), make("ol", {class: "tokens", "aria-label": `Tokens of the ${title.toLowerCase()} sentence`}, ...items)];
  });
  const sum = value => value.toFixed(4);
  return [...rows, make("p", {class: "note"}, `Sums: good ${sum(sums.good)}, bad ${sum(sums.bad)} (stored: ${sum(stored.good)}, ${sum(stored.bad)}).`)];
}
