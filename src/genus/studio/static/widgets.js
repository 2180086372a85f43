// Parts that several screens have. Text is always set as text.

import { html, number, percent, svg } from "./dom.js";

export const wide = (element, share) => {
  element.style.width = `${(100 * Math.max(0, Math.min(1, share))).toFixed(2)}%`;
  return element;
};

export const colourOf = (state, k) => {
  const colour = state.classes?.[k]?.colour ?? 99;
  return colour < 7 ? `c${colour}` : "co";
};

export const nameOf = (state, k) => state.classes?.[k]?.name ?? "?";

// A name that others wrote: its direction is its own, and the whole of it is in the title.
export const name = (text, kind = "") => html("bdi", { class: kind, title: text }, text);

export const swatch = (state, k) => html("span", { class: `swatch ${colourOf(state, k)}`, "aria-hidden": "true" });

export const label = (state, k) =>
  html("span", { class: "label" }, swatch(state, k), name(nameOf(state, k)));

export const button = (content, press, more = {}) =>
  html("button", { type: "button", class: "button", onclick: press, ...more }, content);

export const card = (title, ...children) =>
  html("section", { class: "card" }, title ? html("h2", {}, ...[title].flat()) : null, ...children);

export const note = (...children) => html("p", { class: "note" }, ...children);

// What a screen says if it shows a sample of the rows; null if it shows all of them.
export function sampled({ own, rows, total, scores }, more = "") {
  const all = own ? rows : total;
  if (!scores || all === null || scores.rows >= all) return null;
  return note(`These are from ${scores.rows.toLocaleString("en")} of ${all.toLocaleString("en")} rows, drawn at random.${more}`);
}

export function select(labelled, options, value, change, more = {}) {
  const made = html(
    "select",
    { "aria-label": labelled, ...more },
    ...options.map(([key, text]) => html("option", { value: key, selected: String(key) === String(value) }, text)),
  );
  made.addEventListener("change", () => change(made.value));
  return made;
}

export function slider(labelled, { low, high, step, value }, change, more = {}) {
  const made = html("input", { type: "range", min: low, max: high, step, "aria-label": labelled, ...more });
  made.value = value;
  made.addEventListener("input", () => change(Number(made.value)));
  return made;
}

// Probabilities of all classes, as bars; the outlined ones are of rows that the model has not seen.
export function probabilities(state, p, other) {
  const order = p.map((_, k) => k).sort((a, b) => p[b] - p[a]).slice(0, 8);
  return html(
    "dl",
    { class: "bars" },
    ...order.map((k) =>
      html(
        "div",
        { class: "bar-row" },
        html("dt", {}, label(state, k)),
        html(
          "dd",
          {},
          html(
            "span",
            { class: "track" },
            wide(html("span", { class: `fill ${colourOf(state, k)}` }), p[k]),
            other ? mark(other[k]) : null,
          ),
          html("span", { class: "figure" }, percent(p[k], 1)),
        ),
      ),
    ),
  );
}

function mark(share) {
  const made = html("span", { class: "mark" });
  made.style.left = `${(100 * share).toFixed(2)}%`;
  return made;
}

// Evidence: what each column adds to the log-odds, to the right for one class, to the left for the other.
export function evidence(state, found, rows, more) {
  const most = Math.max(1e-9, ...rows.map((row) => Math.abs(row.term)));
  const side = (term) => colourOf(state, term >= 0 ? found.first : found.second);
  return html(
    "div",
    { class: "evidence" },
    html(
      "p",
      { class: "sides" },
      html("span", {}, "← for ", label(state, found.second)),
      html("span", {}, "for ", label(state, found.first), " →"),
    ),
    html(
      "ul",
      {},
      ...rows.map((row) => {
        const bar = svg("rect", {
          x: row.term >= 0 ? 50 : 50 + (49 * row.term) / most,
          width: Math.max((49 * Math.abs(row.term)) / most, 0.3),
          y: 2,
          height: 8,
          class: side(row.term),
        });
        return html(
          "li",
          {},
          html("span", { class: "what" }, name(row.name), row.value === undefined ? null : [" ", html("span", { class: "value" }, row.value === null ? "missing" : name(row.value))]),
          svg("svg", { viewBox: "0 0 100 12", preserveAspectRatio: "none", class: "diverging", "aria-hidden": "true" },
            svg("path", { d: "M50 0V12", class: "axis" }), bar),
          html("span", { class: "figure" }, signedOdds(row.term)),
        );
      }),
    ),
    more ?? null,
  );
}

export const signedOdds = (value) => (Math.abs(value) < 0.005 ? "0.00" : (value >= 0 ? "+" : "") + number(value, 2));

// An interval on a scale from 0 to `most`, with the baseline as a tick.
export function interval({ value, low, high, baseline }, most) {
  const at = (v) => 100 * Math.max(0, Math.min(1, v / most));
  return svg(
    "svg",
    { viewBox: "0 0 100 10", preserveAspectRatio: "none", class: "interval", "aria-hidden": "true" },
    svg("rect", { x: 0, y: 4, width: 100, height: 2, class: "rail" }),
    low === null ? null : svg("rect", { x: at(low), y: 2.5, width: Math.max(at(high) - at(low), 0.6), height: 5, class: "span" }),
    svg("rect", { x: at(value) - 0.5, y: 0.5, width: 1, height: 9, class: "value" }),
    baseline === null ? null : svg("rect", { x: at(baseline) - 0.3, y: 1.5, width: 0.6, height: 7, class: "baseline" }),
  );
}

export const score = (value, digits = 3) => (value === null || value === undefined ? "–" : number(value, digits));

// Replace what an element shows, and keep the focus and the scrolling of what has the same key.
export function replace(root, ...children) {
  const active = document.activeElement;
  const key = root.contains(active) ? active.dataset?.key : undefined;
  const range = active && "selectionStart" in active ? [active.selectionStart, active.selectionEnd] : null;
  const scrolled = new Map(
    [...root.querySelectorAll("[data-scroll]")].map((e) => [e.dataset.scroll, [e.scrollLeft, e.scrollTop]]),
  );
  root.replaceChildren(...children.flat().filter(Boolean));
  for (const e of root.querySelectorAll("[data-scroll]")) {
    const [x, y] = scrolled.get(e.dataset.scroll) ?? [0, 0];
    e.scrollLeft = x;
    e.scrollTop = y;
  }
  if (key === undefined) return;
  const again = [...root.querySelectorAll("[data-key]")].find((e) => e.dataset.key === key);
  again?.focus({ preventScroll: true });
  if (again && range && range[0] !== null && "setSelectionRange" in again)
    try {
      again.setSelectionRange(...range);
    } catch {
      // a number or a slider has no selection
    }
}
