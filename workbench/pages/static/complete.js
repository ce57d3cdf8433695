// Offers properties, values and phrases while a slot is typed: a listbox below the field, driven by the arrow keys.
import {make} from "/static/common.js";

const RELATIONS = ["mPos:", "mPro:", "mmPos:", "mmPro:", "keep:", "change:"];
const MOST = 12;
let number = 0;

// The part of a slot before the caret that is being typed, and what could stand in its place.
export function offers(text, caret, known) {
  const start = Math.max(text.lastIndexOf(" ", caret - 1), text.lastIndexOf("|", caret - 1), text.lastIndexOf("<", caret - 1)) + 1;
  const part = text.slice(start, caret), mark = part.indexOf(":");
  if (!part) return {start, part, choices: []};
  const name = part.slice(0, mark), last = Math.max(mark, part.lastIndexOf("/")) + 1, typed = part.slice(last);
  let choices;
  if (mark < 0) choices = [...Object.keys(known.properties).map(one => `${one}:`), "phrase:", ...RELATIONS].filter(one => one.startsWith(part));
  else if (name === "phrase") choices = known.phrases.filter(one => one.startsWith(typed)).map(one => `phrase:${one}`);
  else if (["mPro", "mmPro", "keep", "change"].includes(name)) choices = Object.keys(known.properties).filter(one => one.startsWith(typed)).map(one => part.slice(0, last) + one);
  else choices = (known.properties[name] || []).filter(one => one.startsWith(typed)).map(one => part.slice(0, last) + one);
  return {start, part, choices: choices.filter(one => one !== part).slice(0, MOST)};
}

export function complete(input, known) {
  const id = `offers-${number += 1}`;
  const list = make("ul", {role: "listbox", id, class: "offers", hidden: true, "aria-label": "Suggestions"});
  for (const [name, value] of Object.entries({role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": id})) input.setAttribute(name, value);
  let found = {choices: []}, marked = -1;

  function show() {
    found = offers(input.value, input.selectionStart, known());
    marked = -1;
    list.replaceChildren(...found.choices.map((choice, position) => make("li", {role: "option", id: `${id}-${position}`, "aria-selected": "false",
      onmousedown: event => { event.preventDefault(); take(position); }}, choice)));
    list.hidden = !found.choices.length;
    input.setAttribute("aria-expanded", String(!list.hidden));
    input.removeAttribute("aria-activedescendant");
  }

  function hide() {
    list.hidden = true;
    marked = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  }

  function mark(position) {
    marked = (position + found.choices.length) % found.choices.length;
    [...list.children].forEach((item, place) => item.setAttribute("aria-selected", String(place === marked)));
    input.setAttribute("aria-activedescendant", `${id}-${marked}`);
  }

  function take(position) {
    const choice = found.choices[position], end = found.start + found.part.length;
    input.value = input.value.slice(0, found.start) + choice + input.value.slice(end);
    input.setSelectionRange(found.start + choice.length, found.start + choice.length);
    hide();
    input.dispatchEvent(new Event("input", {bubbles: true}));
    if (choice.endsWith(":")) show();
  }

  input.addEventListener("input", show);
  input.addEventListener("blur", hide);
  input.addEventListener("keydown", event => {
    if (list.hidden) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") mark(marked + (event.key === "ArrowDown" ? 1 : marked < 0 ? 0 : -1));
    else if (event.key === "Enter" && marked >= 0) take(marked);
    else if (event.key === "Escape") hide();
    else return;
    event.preventDefault();
  });
  return list;
}
