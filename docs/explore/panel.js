// The frame that all explorables share: question, picture, formula, controls, the Python line, and
// the state in the page's address.
//
// An explorable is {name, title, fields, presets, question, build}, and `mend(state)` where fields
// bound each other. `build(panel)` draws the picture once and returns `update(state)`, which redraws it and returns
//   formula  nodes for the right-hand side
//   python   code whose last line is an expression
//   answer   the numbers that this expression gives, which the page shows too
//   words    the picture in one sentence, for those who do not see it

import { html } from "./dom.js";
import { defaults, readAddress, settled, writeAddress } from "./state.js";

const known = new Map();
export const panels = new Map();

export function define(explorable) {
  known.set(explorable.name, explorable);
}

export const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

// Controls

// `also(value)` is what else changes when a reader moves a slider or chooses an option.
export function slider(panel, name, label, format = String, also = () => ({})) {
  const { low, high, step } = panel.fields[name];
  const shown = html("output", {});
  const input = html("input", {
    type: "range",
    min: low,
    max: high,
    step,
    "data-field": name,
    oninput: () => panel.set({ [name]: Number(input.value), ...also(Number(input.value)) }),
  });
  panel.follow((state) => {
    input.value = state[name];
    shown.textContent = format(state[name]);
    input.setAttribute("aria-valuetext", format(state[name]));
  });
  return html("label", { class: "ex-slider" }, html("span", {}, label), input, shown);
}

export function choice(panel, name, label, texts, also = () => ({})) {
  const group = `${panel.name}-${name}`;
  const options = panel.fields[name].options.map((option) => {
    const input = html("input", {
      type: "radio",
      name: group,
      value: option,
      onchange: () => panel.set({ [name]: option, ...also(option) }),
    });
    panel.follow((state) => (input.checked = state[name] === option));
    return html("label", {}, input, html("span", {}, texts[option] ?? String(option)));
  });
  return html(
    "fieldset",
    { class: "ex-choice", "data-field": name },
    html("legend", {}, label),
    html("span", { class: "ex-options" }, ...options),
  );
}

export function toggle(panel, name, label, kind = "") {
  const input = html("input", {
    type: "checkbox",
    "data-field": name,
    onchange: () => panel.set({ [name]: input.checked }),
  });
  panel.follow((state) => (input.checked = state[name]));
  return html("label", { class: `ex-toggle ${kind}` }, input, html("span", {}, label));
}

export const button = (label, act, attributes = {}) =>
  html("button", { type: "button", class: "ex-button", ...attributes, onclick: act }, label);

export const controls = (...children) => html("div", { class: "ex-controls" }, ...children);

// Copying: the clipboard where the browser gives it, else a selection.

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = html("textarea", { class: "ex-offscreen", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

function copyButton(label, text, panel) {
  const made = button(label, async () => {
    const done = await copy(text());
    panel.copied = text();
    made.textContent = done ? "Copied" : "Not allowed here";
    panel.say(made.textContent);
    setTimeout(() => (made.textContent = label), 1500);
  });
  return made;
}

// The question

function ask(panel, { text, choices, right, why, show }) {
  const reply = html("div", { class: "ex-reply", "aria-live": "polite" });
  const answers = choices.map((words, i) =>
    button(words, () => {
      answers.forEach((other, j) => {
        other.setAttribute("aria-pressed", String(i === j));
        other.classList.toggle("ex-right", j === right);
      });
      const verdict = html("strong", {}, i === right ? "Yes. " : `Look again: “${choices[right]}”. `);
      reply.replaceChildren(html("p", {}, verdict, why));
      if (show) reply.lastChild.append(" ", button("Show me", () => panel.glide(show)));
    }, { "aria-pressed": "false" }),
  );
  return html(
    "div",
    { class: "ex-question", role: "group", "aria-label": "Predict first" },
    html("p", {}, html("strong", {}, "Predict first: "), text),
    html("div", { class: "ex-answers" }, ...answers),
    reply,
  );
}

// The panel

class Panel {
  constructor(explorable, root, given) {
    const { name, fields, mend = (state) => state } = explorable;
    Object.assign(this, { name, fields, mend, root });
    this.start = this.after(defaults(fields), given);
    this.state = this.after(this.start, readAddress(name, fields, location.search));
    this.followers = [];
    this.picture = html("div", { class: "ex-picture" });
    this.formula = html("div", { class: "ex-formulas" });
    this.below = html("div", { class: "ex-below" });
    this.code = html("code", {});
    this.live = html("p", { class: "ex-offscreen", "aria-live": "polite" });
    this.described = html("p", { class: "ex-offscreen", id: `words-${this.name}` });
    this.update = explorable.build(this);
    this.assemble(explorable);
    this.refresh();
  }

  assemble({ title, presets = [], question }) {
    const heading = html("p", { class: "ex-title", id: `title-${this.name}` }, title);
    const link = () => {
      const search = writeAddress(this.name, this.fields, this.start, this.state, "");
      return `${location.href.split(/[?#]/)[0]}${search}#${this.root.id}`;
    };
    const head = html(
      "div",
      { class: "ex-head" },
      heading,
      html(
        "div",
        { class: "ex-presets" },
        ...presets.map(({ label, state }) => button(label, () => this.glide(state))),
        button("Reset", () => this.glide(this.start), { class: "ex-button ex-quiet" }),
        Object.assign(copyButton("Copy link", link, this), { title: "A link to just this state" }),
      ),
    );
    const python = html(
      "div",
      { class: "ex-python" },
      html("span", { class: "ex-heading" }, "The same in Python"),
      copyButton("Copy Python", () => this.code.textContent, this),
      html("pre", { tabindex: "0", "aria-label": "The same in Python" }, this.code),
    );
    this.root.replaceChildren(
      head,
      ask(this, question),
      html("div", { class: "ex-body" }, this.picture, this.below, this.formula),
      python,
      this.described,
      this.live,
    );
    this.root.setAttribute("role", "region");
    this.root.setAttribute("aria-labelledby", heading.id);
    this.root.classList.add("ex-ready");
  }

  follow(follower) {
    this.followers.push(follower);
  }

  // The state after some changes: each field within its bounds, and all of them together.
  after(state, changes) {
    return this.mend(settled(this.fields, state, changes));
  }

  set(changes) {
    cancelAnimationFrame(this.gliding);
    this.state = this.after(this.state, changes);
    this.refresh();
  }

  refresh() {
    this.followers.forEach((follower) => follower(this.state));
    const { formula, python, answer, words } = this.update(this.state);
    this.formula.replaceChildren(...formula);
    this.code.textContent = python;
    this.answer = answer;
    this.described.textContent = words;
    clearTimeout(this.later);
    this.later = setTimeout(() => {
      this.reachScrolled();
      if (this.spoken !== undefined && this.spoken !== words) this.say(words);
      this.spoken = words;
      const search = writeAddress(this.name, this.fields, this.start, this.state, location.search);
      if (search !== location.search)
        history.replaceState(history.state, "", `${location.pathname}${search}${location.hash}`);
    }, 300);
  }

  // What has to be scrolled sideways can be reached with the keyboard, and nothing else.
  reachScrolled() {
    for (const one of this.root.querySelectorAll(".ex-formula")) {
      if (one.scrollWidth > one.clientWidth) one.setAttribute("tabindex", "0");
      else one.removeAttribute("tabindex");
    }
  }

  say(words) {
    this.live.textContent = words;
  }

  // Go to another state, numbers step by step unless the reader wants no motion.
  glide(changes) {
    cancelAnimationFrame(this.gliding);
    const from = this.state;
    const target = this.after(from, changes);
    const moving = Object.keys(changes).filter(
      (name) => typeof target[name] === "number" && target[name] !== from[name],
    );
    if (still() || !moving.length) return this.set(changes);
    const fixed = Object.fromEntries(Object.entries(changes).filter(([n]) => !moving.includes(n)));
    const began = performance.now();
    const step = (now) => {
      const share = Math.min((now - began) / 600, 1);
      const eased = share * share * (3 - 2 * share);
      const between = moving.map((name) => [name, from[name] + eased * (target[name] - from[name])]);
      this.state = this.after(this.state, { ...fixed, ...Object.fromEntries(between) });
      this.refresh();
      if (share < 1) this.gliding = requestAnimationFrame(step);
    };
    this.gliding = requestAnimationFrame(step);
  }
}

// Pictures on a canvas have to be painted again when the theme changes.
const painters = new Set();
export const paintWithTheme = (paint) => painters.add(paint);

export function start() {
  for (const root of document.querySelectorAll("[data-explorable]")) {
    const explorable = known.get(root.dataset.explorable);
    if (!explorable) continue;
    const given = readAddress(explorable.name, explorable.fields, root.dataset.state ?? "");
    panels.set(explorable.name, new Panel(explorable, root, given));
  }
  const repaint = () => painters.forEach((paint) => paint());
  new MutationObserver(repaint).observe(document.body, { attributeFilter: ["data-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  addEventListener("resize", () => panels.forEach((panel) => panel.reachScrolled()));
  const asked = location.hash.slice(1);
  if ([...panels.values()].some((panel) => panel.root.id === asked))
    document.getElementById(asked).scrollIntoView();
}
