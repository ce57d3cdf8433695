// Small charts beside each other, one a curve. Each is a link, and is drawn when it comes near the window.
import {themed} from "/static/curves.js";
import {fill, make} from "/static/common.js";

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

  // values are {name, title, says, sign, tested} in their order; spec is the chart without data, rows and levels its data.
  draw(values, spec, data, signals) {
    const key = JSON.stringify(themed(spec));
    if (key !== this.key) {
      this.key = key;
      this.compiled = this.compile(JSON.parse(key));
      for (const panel of this.panels.values()) this.clear(panel);
    }
    this.data = data;
    this.signals = signals;
    const names = new Set(values.map(one => one.name));
    for (const [name, panel] of this.panels) {
      if (names.has(name)) continue;
      this.clear(panel);
      this.observer.unobserve(panel.element);
      panel.element.remove();
      this.panels.delete(name);
    }
    const focused = document.activeElement;
    values.forEach((one, place) => {
      const panel = this.panels.get(one.name) ?? this.add(one.name);
      panel.rows = null;
      const hidden = text => make("span", {class: "hidden-text"}, text);
      fill(panel.head, one.sign ? make("span", {class: "sign", "aria-hidden": "true"}, one.sign) : null,
        make("strong", {}, one.title), hidden(": "), make("span", {class: "says"}, one.says), hidden(one.tested ? `; ${one.tested}` : ""));
      if (this.box.children[place] !== panel.element) this.box.insertBefore(panel.element, this.box.children[place] ?? null);
      if (panel.near) this.paint(panel);
    });
    if (focused !== document.activeElement && this.box.contains(focused)) focused.focus();
    this.box.classList.toggle("one", values.length === 1);
  }

  add(name) {
    const head = make("span", {}), small = make("div", {class: "small", "aria-hidden": "true"});
    const element = make("a", {class: "panel", "data-name": name, href: this.address(name)}, head, small);
    const panel = {name, element, head, small, near: false, view: null, rows: null};
    element.addEventListener("click", event => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      this.open(name);
    });
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

  async paint(panel) {
    const fresh = this.data.of(panel.name);
    if (panel.rows === fresh) return;
    panel.rows = fresh;
    const compiled = this.compiled, chart = await compiled;
    if (panel.rows !== fresh || this.compiled !== compiled) return;
    if (!panel.view) {
      const data = chart.data.map(one => one.name in fresh ? {...one, values: fresh[one.name]} : one);
      const signals = chart.signals.map(one => one.name in this.signals ? {...one, value: this.signals[one.name]} : one);
      const drawn = await window.vegaEmbed(panel.small, {...chart, data, signals},
        {mode: "vega", ast: true, renderer: "svg", actions: false, hover: false, tooltip: false});
      if (panel.view || this.compiled !== compiled) drawn.finalize();
      else panel.view = drawn.view;
    } else for (const [name, rows] of Object.entries(fresh)) panel.view.data(name, rows);
    this.refresh(panel);
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
