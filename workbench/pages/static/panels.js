// Small charts beside each other, one a curve. Each is a link, and is drawn when it comes near the window.
import {themed} from "/static/curves.js";
import {fill, heard, make, onClick} from "/static/common.js";

export class Panels {
  // see(name, x) is called when a reader points at a curve or moves to it by keyboard, with the tokens under the pointer
  // or null, and see(null) when it is left; address(name) is the address of a curve, and open(name) opens it.
  constructor(box, {see, address, open}) {
    Object.assign(this, {box, see, address, open});
    this.panels = new Map();
    this.given = null;
    this.compiled = null;
    this.observer = new IntersectionObserver(found => found.forEach(one => {
      const panel = this.panels.get(one.target.dataset.name);
      if (!panel) return;
      panel.near = one.isIntersecting;
      if (panel.near) this.paint(panel).then(() => this.refresh(panel));
    }), {rootMargin: "500px"});
    box.addEventListener("pointerleave", () => see(null));
    box.addEventListener("focusout", event => { if (!box.contains(event.relatedTarget)) see(null); });
  }

  // values are {name, title, says, sign, tested} in their order, sign is {sign, means} or null; spec is the chart without data, data.of gives that of a name.
  draw(values, spec, data, signals) {
    this.use(spec);
    this.data = data;
    this.signals = signals;
    this.removeOthers(new Set(values.map(one => one.name)));
    const focused = document.activeElement;
    values.forEach((one, position) => {
      const panel = this.panels.get(one.name) ?? this.add(one.name);
      panel.rows = null;
      this.describe(panel, one);
      if (this.box.children[position] !== panel.element) this.box.insertBefore(panel.element, this.box.children[position] ?? null);
      if (panel.near) this.paint(panel);
    });
    if (focused !== document.activeElement && this.box.contains(focused)) focused.focus(); // it was moved
    this.box.classList.toggle("one", values.length === 1);
  }

  use(spec) {
    const key = JSON.stringify(themed(spec));
    if (key === this.key) return;
    this.key = key;
    this.compiled = this.compile(JSON.parse(key));
    for (const panel of this.panels.values()) this.clear(panel);
  }

  removeOthers(names) {
    for (const [name, panel] of this.panels) {
      if (names.has(name)) continue;
      this.clear(panel);
      this.observer.unobserve(panel.element);
      panel.element.remove();
      this.panels.delete(name);
    }
  }

  describe(panel, {title, says, sign, tested}) {
    fill(panel.head, sign ? make("span", {class: "sign", title: sign.means, "aria-hidden": "true"}, sign.sign) : null,
      make("strong", {}, title), heard(": "), make("span", {class: "says"}, says), tested ? heard(`; ${tested}`) : null);
  }

  add(name) {
    const head = make("span", {}), small = make("div", {class: "small", "aria-hidden": "true"});
    const element = make("a", {class: "panel", "data-name": name, href: this.address(name), onclick: onClick(() => this.open(name))}, head, small);
    const panel = {name, element, head, small, near: false, view: null, rows: null};
    element.addEventListener("pointermove", event => this.see(name, this.under(panel, event)));
    element.addEventListener("focus", () => { if (element.matches(":focus-visible")) this.see(name, null); });
    this.panels.set(name, panel);
    this.observer.observe(element);
    return panel;
  }

  // The training tokens under the pointer.
  under(panel, event) {
    if (!panel.view) return null;
    const svg = panel.small.querySelector("svg");
    if (!svg) return null;
    const x = event.clientX - svg.getBoundingClientRect().left - panel.view.origin()[0];
    return x < -4 ? null : panel.view.scale("x").invert(Math.max(0, x));
  }

  // Translates Vega-Lite into Vega once for all panels, which takes as long as drawing one.
  async compile(chart) {
    const {vgSpec, finalize} = await window.vegaEmbed(make("div"), chart, {ast: true, actions: false});
    finalize();
    return vgSpec;
  }

  // Draws the rows of a panel; what was asked for meanwhile comes after it, or in its place.
  async paint(panel) {
    const rows = this.data.of(panel.name);
    if (panel.rows === rows) return;
    panel.rows = rows;
    const compiled = this.compiled, chart = await compiled;
    if (panel.rows !== rows || this.compiled !== compiled) return;
    if (panel.view) for (const [name, own] of Object.entries(rows)) panel.view.data(name, own);
    else {
      const drawn = await this.embed(panel.small, chart, rows);
      if (panel.view || this.compiled !== compiled) drawn.finalize();
      else panel.view = drawn.view;
    }
    this.refresh(panel);
  }

  embed(box, chart, rows) {
    const data = chart.data.map(one => one.name in rows ? {...one, values: rows[one.name]} : one);
    const signals = chart.signals.map(one => one.name in this.signals ? {...one, value: this.signals[one.name]} : one);
    const options = {mode: "vega", ast: true, renderer: "svg", actions: false, hover: false, tooltip: false};
    return window.vegaEmbed(box, {...chart, data, signals}, options);
  }

  refresh(panel) {
    if (!panel.view) return;
    for (const [name, value] of Object.entries(this.signals)) panel.view.signal(name, value);
    panel.view.runAsync();
  }

  // Marks a step (at), or shows a line alone, in all panels.
  set(name, value) {
    if (!this.signals || this.signals[name] === value) return;
    this.signals[name] = value;
    for (const panel of this.panels.values()) if (panel.near) this.refresh(panel);
  }

  choose(name) {
    for (const [one, {element}] of this.panels) {
      if (one === name) element.setAttribute("aria-current", "true");
      else element.removeAttribute("aria-current");
      element.href = this.address(one);
    }
  }

  filter(text) {
    const wanted = text.trim().toLowerCase();
    for (const [name, {element}] of this.panels) element.hidden = !name.toLowerCase().includes(wanted);
  }

  clear(panel) {
    panel.view?.finalize();
    panel.view = panel.rows = null;
    panel.small.replaceChildren();
  }
}
