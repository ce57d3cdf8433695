// The legend of all small charts: a button for each line, what the dotted and the dashed line are, and the signs of panels.
import {lineColor} from "/static/curves.js";
import {fill, make, svg} from "/static/common.js";

const DOTTED = [1, 3], DASHED = [4, 3];

const sample = (color, dash) => svg("svg", {width: 34, height: 10, "aria-hidden": "true"},
  svg("path", {d: "M1 5h32", stroke: color, "stroke-width": 2.2, "stroke-dasharray": dash.join(" ")}));

const key = (shown, text) => make("span", {class: "key"}, shown, text);

// lines are {name, color, dash}, signs are {sign, means}; alone names the line that is shown alone, and choose(name) is called with another, or null.
export function showLegend(box, lines, signs, alone, choose) {
  const buttons = lines.map(({name, color, dash}) => make("button", {type: "button", "aria-pressed": String(alone === name),
    title: "Show this line alone, or all again", onclick: () => choose(alone === name ? null : name)}, sample(lineColor(color), dash), name));
  fill(box, ...buttons, key(sample("currentColor", DOTTED), make("a", {class: "term", href: "#term-chance"}, "chance (50 %)")), key(sample("currentColor", DASHED), "0: untrained"),
    ...signs.map(({sign, means}) => key(make("span", {class: "sign"}, sign), means)));
}
