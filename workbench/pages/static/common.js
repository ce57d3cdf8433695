// What all rooms share: requests, messages, elements, tables and downloads.

// What the workbench refuses, with its message; what else the reply holds is in details.

export class Refusal extends Error {
  constructor(message, status, details) {
    super(message);
    this.status = status;
    this.details = details;
  }
}

// Sends a request to the room's own address and returns the JSON of the reply; a refusal is thrown with its message.
export async function ask(method, address, body) {
  const options = {method, headers: {}};
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers["Content-Type"] = "application/json";
  }
  let reply;
  try {
    reply = await fetch(address, options);
  } catch {
    throw new Refusal("The workbench does not answer. Is it still running?", 0, {});
  }
  const text = await reply.text();
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    value = {error: text};
  }
  if (!reply.ok) throw new Refusal(value.error || `The request failed (${reply.status}).`, reply.status, value);
  return value;
}

export const query = values => new URLSearchParams(
  Object.entries(values).filter(([, value]) => value !== null && value !== undefined && value !== "")).toString();

export function say(message, kind = "error") {
  const place = document.getElementById("message");
  place.textContent = message || "";
  place.className = kind;
  place.hidden = !message;
}

// Runs what may be refused, and shows the refusal.
export async function attempt(work) {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Refusal)) console.error(error);
    say(error.message);
  }
}

// Shows what is wrong beside a field or a button; without a message, takes it away.
export function showProblem(field, message) {
  const id = `${field.id}-wrong`;
  place(id)?.remove();
  for (const name of ["aria-invalid", "aria-describedby"]) field.removeAttribute(name);
  if (!message) return;
  (field.closest("label") ?? field).after(make("p", {id, class: "field-problem", role: "alert"}, message));
  if (field.tagName !== "BUTTON") field.setAttribute("aria-invalid", "true");
  field.setAttribute("aria-describedby", id);
  field.closest("details")?.setAttribute("open", "");
  field.focus();
}

// Runs what may be refused. Each line of a refusal is shown beside the field whose name it begins with, or else beside
// the last of the fields.
export async function attemptAt(fields, work) {
  for (const field of Object.values(fields)) showProblem(field, "");
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Refusal)) console.error(error);
    const found = new Map();
    for (const line of error.message.split("\n").filter(one => !/^\d+ problems? in the configuration:$/.test(one))) {
      const text = line.trim().replace(/^configuration: /, "");
      const name = Object.keys(fields).find(one => new RegExp(`^(unknown )?${one}\\b`).test(text)) ?? Object.keys(fields).at(-1);
      found.set(name, [...found.get(name) ?? [], text]);
    }
    for (const [name, lines] of [...found].reverse()) showProblem(fields[name], lines.join("\n"));
  }
}

// Opens what hides a field that the browser finds wrong, so that its message can be seen.
document.addEventListener("invalid", event => event.target.closest("details")?.setAttribute("open", ""), true);

// Disables a button while something is done, and lets it turn a wheel.
export async function busy(button, work) {
  button.disabled = true;
  button.setAttribute("aria-busy", "true");
  try {
    return await work();
  } finally {
    button.disabled = false;
    button.removeAttribute("aria-busy");
  }
}

// What the address asks for.
export const asked = Object.fromEntries(new URLSearchParams(location.search));

// Writes the state of the page into its address, so that a reload or a link shows the same.
export function remember(values) {
  history.replaceState(null, "", `${location.pathname}?${query(values)}`);
}

// Makes an element; text never becomes markup.
export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.filter(child => child !== null && child !== undefined));
  return element;
}

// Makes a part of a drawing.
export function svg(name, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

// The elements of HTML that the workbench has written, in which all texts are escaped.
export const parsed = html => [...new DOMParser().parseFromString(html, "text/html").body.children];

// A text for those who listen to the page.
export const heard = text => make("span", {class: "hidden-text"}, text);

// What a click on a link does here; with a key that opens it in another tab, the browser does that.
export const onClick = work => event => {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  work();
};

export const place = id => document.getElementById(id);

export function fill(element, ...children) {
  element.replaceChildren(...children.filter(child => child !== null && child !== undefined));
}

// A table from columns [{name, title, number, show}] and rows of objects.
export function table(columns, rows, onRow) {
  const head = make("tr", {}, ...columns.map(column =>
    make("th", {scope: "col", class: column.number ? "number" : null}, column.title)));
  const body = rows.map(row => {
    const cells = columns.map(column => {
      const value = column.show ? column.show(row[column.name], row) : row[column.name];
      return make("td", {class: column.number ? "number" : null}, value instanceof Node ? value : shown(value));
    });
    return make("tr", {}, ...cells, onRow ? make("td", {}, onRow(row)) : null);
  });
  if (onRow) head.append(make("td"));
  return make("div", {class: "table", tabindex: "0"},
    make("table", {}, make("thead", {}, head), make("tbody", {}, ...body)));
}

const shown = value => value === null || value === undefined ? "–" : String(value);

export const percent = value => value === null || value === undefined ? "–" : (100 * value).toFixed(2);
// Which rows of how many a page of a list shows.
export const rowsShown = (offset, rows, all) => `${count(offset + Math.min(1, rows))} to ${count(offset + rows)} of ${count(all)}`;

export const count = value => value === null || value === undefined ? "–" : value.toLocaleString("en");

export const shortCount = tokens => new Intl.NumberFormat("en", {notation: "compact", maximumSignificantDigits: 3}).format(tokens);

export function download(name, text) {
  const address = URL.createObjectURL(new Blob([text], {type: "text/csv"}));
  saveAs(address, name);
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

export function saveAs(address, name) {
  const link = make("a", {href: address, download: name});
  document.body.append(link);
  link.click();
  link.remove();
}

export function csv(columns, rows) {
  const cell = value => {
    const text = value === null || value === undefined ? "" : String(value);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns, ...rows.map(row => columns.map(name => row[name]))].map(row => row.map(cell).join(",")).join("\n") + "\n";
}

// Calls the last request of many, once nothing new has come for a while.
export function afterPause(milliseconds, work) {
  let timer;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...values), milliseconds);
  };
}

// Lets one piece of work run at a time; if it is asked for meanwhile, it runs once more.
export function latest(work) {
  let running = null, again = false;
  return function run() {
    again = true;
    running ??= (async () => {
      while (again) {
        again = false;
        await attempt(work);
      }
      running = null;
    })();
    return running;
  };
}
