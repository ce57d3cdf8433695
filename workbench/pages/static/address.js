// What is looked at in the room Explore, as its address says it, so that a view can be sent.
import {query} from "/static/common.js";

// A value that is as here is not in the address.
export const START = {benchmark: "", scorer: "", linking: "", by: "", split: "all", runs: null, hide: [], color: "", curve: "", run: "", step: null,
  kind: "all", text: "", offset: 0, pair: null};
const TEXTS = ["benchmark", "scorer", "linking", "by", "split", "color", "curve", "run", "kind", "text"], NUMBERS = ["step", "pair", "offset"];

export function readAddress() {
  const given = new URLSearchParams(location.search), runs = given.getAll("runs"), view = {...START};
  for (const name of TEXTS) view[name] = given.get(name) || START[name];
  for (const name of NUMBERS) view[name] = given.get(name) ? Number(given.get(name)) : START[name];
  return {...view, runs: runs.length ? runs : null, hide: given.getAll("hide")};
}

export function addressOf(view) {
  const {runs, hide, ...others} = view;
  const values = new URLSearchParams(query(Object.fromEntries(Object.entries(others).filter(([name, value]) => value !== START[name]))));
  for (const run of runs ?? []) values.append("runs", run);
  for (const level of hide) values.append("hide", level);
  return `${location.pathname}?${values}`;
}
