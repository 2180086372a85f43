// Digits: draw one; ten posteriors, the pixels that spoke, a hidden half, and digits that it draws.

import { formula, html, m, note, number, percent, signed, svg } from "./dom.js";
import { digits } from "./data.js";
import { digitScores, inkShares, pixelEvidence, random, reduceDrawing, softmax, sum } from "./math.js";
import { button, choice, controls, define, paintWithTheme, slider } from "./panel.js";
import { bitsField, choiceField, listField, numberField, switchField } from "./state.js";

const SIDE = 28;
const HALVES = ["none", "top", "bottom", "left", "right"];

// Strokes for the presets, in a square of 1: lists of corners.
const STROKES = {
  3: [[0.25, 0.18, 0.45, 0.08, 0.68, 0.14, 0.72, 0.32, 0.48, 0.46], [0.48, 0.46, 0.72, 0.56, 0.76, 0.78, 0.52, 0.92, 0.24, 0.82]],
  4: [[0.58, 0.06, 0.22, 0.6, 0.8, 0.6], [0.6, 0.34, 0.56, 0.94]],
  7: [[0.22, 0.1, 0.78, 0.1, 0.5, 0.5, 0.4, 0.94], [0.3, 0.5, 0.68, 0.5]],
};

function stroke(bits, x0, y0, x1, y1, value, thick = 1.45) {
  const steps = Math.ceil(Math.hypot(x1 - x0, y1 - y0) * 3) + 1;
  const made = [...bits];
  for (let s = 0; s <= steps; s++) {
    const [x, y] = [x0 + ((x1 - x0) * s) / steps, y0 + ((y1 - y0) * s) / steps];
    for (let r = Math.max(0, Math.floor(y - 2)); r <= Math.min(SIDE - 1, y + 2); r++)
      for (let c = Math.max(0, Math.floor(x - 2)); c <= Math.min(SIDE - 1, x + 2); c++)
        if (Math.hypot(c + 0.5 - x, r + 0.5 - y) <= thick * (value ? 1 : 1.4)) made[r * SIDE + c] = value;
  }
  return made;
}

function drawn(digit) {
  let bits = new Array(SIDE * SIDE).fill(0);
  for (const line of STROKES[digit])
    for (let i = 0; i + 3 < line.length; i += 2)
      bits = stroke(bits, ...line.slice(i, i + 4).map((v) => v * SIDE), 1);
  return bits;
}

const field = bitsField(SIDE * SIDE);
field.start = drawn(3);
field.settle = ((settle) => (bits) => (Array.isArray(bits) && bits.length === SIDE * SIDE ? settle(bits) : drawn(3)))(field.settle);

const small = {
  write: (bits) => bits.map((b) => (b ? 1 : 0)).join("").match(/.{4}/g).map((four) => parseInt(four, 2).toString(16)).join(""),
  read: (text) => [...text].flatMap((digit) => parseInt(digit, 16).toString(2).padStart(4, "0").split("").map(Number)),
};

const hidden = (half, j) => {
  const [r, c] = [Math.floor(j / 8), j % 8];
  return { top: r < 4, bottom: r > 3, left: c < 4, right: c > 3, none: false }[half];
};

define({
  name: "digits",
  title: "Draw a digit",
  fields: {
    drawing: field,
    half: choiceField("none", HALVES),
    blank: switchField(false),
    pen: choiceField("ink", ["ink", "rubber"]),
    ask: numberField(7, 0, 9, 1),
    seed: numberField(0, 0, 999, 1), // 0: nothing is drawn yet
    own: listField([], {
      most: 12,
      settleItem: (item) =>
        Array.isArray(item?.bits) && item.bits.length === 64 && item.digit >= 0 && item.digit <= 9
          ? { digit: Math.floor(item.digit), bits: item.bits.map((b) => (b ? 1 : 0)) }
          : null,
      writeItem: ({ digit, bits }) => `${digit}${small.write(bits)}`,
      readItem: (text) => ({ digit: Number(text[0]), bits: small.read(text.slice(1)) }),
    }),
  },
  presets: [
    ...[3, 4, 7].map((digit) => ({ label: `A ${digit}`, state: { drawing: drawn(digit), half: "none" } })),
    { label: "Half a 3", state: { drawing: drawn(3), half: "bottom" } },
  ],
  question: {
    text: "The model knows how often each pixel of a 7 is inked. Ask it to draw a 7. What will it look like?",
    choices: ["A clean 7 in one stroke", "Grainy: specks in the shape of a 7", "Random noise"],
    right: 1,
    why: "Given the digit, each pixel is a coin of its own. It does not know whether its neighbour is inked, so there are no strokes. That is the naive part of naive Bayes.",
    show: { ask: 7, seed: 1 },
  },
  build(panel) {
    const scale = 12;
    const canvas = html("canvas", {
      class: "ex-draw",
      width: SIDE * scale,
      height: SIDE * scale,
      tabindex: "0",
      role: "application",
      "aria-label": "Drawing of 28 by 28 pixels. Arrow keys move the pen, Space inks or clears a pixel.",
    });
    const cursor = { at: [14, 14], shown: false };
    const repaint = () => paint(panel.state);
    const place = (event) => {
      const box = canvas.getBoundingClientRect();
      return [((event.clientX - box.left) / box.width) * SIDE, ((event.clientY - box.top) / box.height) * SIDE];
    };
    let last = null;
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      event.preventDefault();
      canvas.focus({ preventScroll: true });
      canvas.setPointerCapture(event.pointerId);
      cursor.shown = false;
      last = place(event);
      panel.set({ drawing: stroke(panel.state.drawing, ...last, ...last, panel.state.pen === "ink" ? 1 : 0) });
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!last) return;
      const next = place(event);
      panel.set({ drawing: stroke(panel.state.drawing, ...last, ...next, panel.state.pen === "ink" ? 1 : 0) });
      last = next;
    });
    for (const end of ["pointerup", "pointercancel", "lostpointercapture"]) canvas.addEventListener(end, () => (last = null));
    canvas.addEventListener("keydown", (event) => {
      const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
      const way = ways[event.key];
      if (way) {
        event.preventDefault();
        cursor.shown = true;
        cursor.at = cursor.at.map((v, i) => Math.min(SIDE - 1, Math.max(0, v + way[i])));
        repaint();
      } else if (event.key === " " || event.key === "Enter") {
        event.preventDefault();
        cursor.shown = true;
        const [x, y] = cursor.at;
        const value = panel.state.drawing[y * SIDE + x] ? 0 : 1;
        panel.set({ drawing: stroke(panel.state.drawing, x + 0.5, y + 0.5, x + 0.5, y + 0.5, value, 1.1) });
      }
    });
    canvas.addEventListener("blur", () => {
      cursor.shown = false;
      repaint();
    });
    const paint = ({ drawing, half }) => {
      const style = getComputedStyle(canvas);
      const context = canvas.getContext("2d");
      const size = SIDE * scale;
      context.clearRect(0, 0, size, size);
      context.fillStyle = style.color;
      drawing.forEach((bit, i) => {
        if (bit) context.fillRect((i % SIDE) * scale, Math.floor(i / SIDE) * scale, scale, scale);
      });
      context.strokeStyle = style.getPropertyValue("--ex-rule");
      context.lineWidth = 1;
      context.globalAlpha = 0.5;
      for (let i = 1; i < SIDE; i++) {
        context.beginPath();
        context.moveTo(i * scale, 0);
        context.lineTo(i * scale, size);
        context.moveTo(0, i * scale);
        context.lineTo(size, i * scale);
        context.stroke();
      }
      context.globalAlpha = 1;
      if (cursor.shown) {
        context.strokeStyle = style.getPropertyValue("--class-1");
        context.lineWidth = 3;
        context.strokeRect(cursor.at[0] * scale, cursor.at[1] * scale, scale, scale);
      }
    };
    paintWithTheme(repaint);
    const maps = html("div", { class: "ex-maps" });
    const ten = html("div", {});
    panel.picture.append(canvas, ten);
    const learn = html("select", { class: "ex-select", "aria-label": "Which digit it is" }, ...Array.from({ length: 10 }, (_, k) => html("option", { value: k }, String(k))));
    const told = html("span", { class: "ex-note" });
    panel.below.append(
      controls(
        choice(panel, "pen", "Pen", { ink: "ink", rubber: "rubber" }),
        button("Clear", () => panel.set({ drawing: new Array(SIDE * SIDE).fill(0) }), { "data-act": "clear" }),
        choice(panel, "half", "Tear off", { none: "nothing", top: "top", bottom: "bottom", left: "left", right: "right" }),
        (() => {
          const input = html("input", { type: "checkbox", "data-field": "blank", onchange: () => panel.set({ blank: input.checked }) });
          panel.follow((state) => {
            input.checked = state.blank;
            input.disabled = state.half === "none";
          });
          return html("label", { class: "ex-toggle" }, input, html("span", {}, "take it for blank paper"));
        })(),
      ),
      controls(
        slider(panel, "ask", "Draw me a", (v) => String(v)),
        button("Draw it", () => panel.set({ seed: (panel.state.seed % 999) + 1 }), { "data-act": "sample" }),
      ),
      controls(
        html("label", { class: "ex-inline" }, html("span", {}, "My drawing is a"), learn),
        button("Learn it", () => {
          const { pixels } = reduceDrawing(panel.state.drawing);
          panel.set({ own: [...panel.state.own, { digit: Number(learn.value), bits: pixels }] });
        }, { "data-act": "learn" }),
        button("Forget mine", () => panel.set({ own: [] }), { "data-act": "forget" }),
        told,
      ),
    );
    // 8 × 8 squares in an SVG of their own.
    const map = (title, values, colour) =>
      html(
        "figure",
        { class: "ex-map" },
        svg("svg", { viewBox: "0 0 80 80", role: "img", "aria-label": title }, ...values.map((v, j) => {
          const [kind, opacity] = colour(v, j);
          return svg("rect", { x: (j % 8) * 10, y: Math.floor(j / 8) * 10, width: 9.6, height: 9.6, class: kind, "fill-opacity": opacity });
        })),
        html("figcaption", {}, title),
      );
    return (state) => {
      const model = {
        rows: digits.rows.map((n, k) => n + state.own.filter((o) => o.digit === k).length),
        ink: digits.ink.map((row, k) => row.map((n, j) => n + sum(state.own.filter((o) => o.digit === k).map((o) => o.bits[j])))),
      };
      const { grey, pixels } = reduceDrawing(state.drawing);
      const seen = pixels.map((p, j) => (hidden(state.half, j) ? (state.blank ? 0 : null) : p));
      paint(state);
      const posterior = softmax(digitScores(model, seen));
      const order = posterior.map((p, k) => [p, k]).sort((a, b) => b[0] - a[0]);
      const [best, second] = [order[0][1], order[1][1]];
      const terms = pixelEvidence(model, seen, best, second);
      const strongest = Math.max(...terms.map(Math.abs), 1e-9);
      const shares = inkShares(model);
      const { uniform } = random(state.seed * 10 + state.ask);
      const sample = shares[state.ask].map((p) => Number(state.seed > 0 && uniform() < p));
      const inked = (v) => ["ex-ink", v];
      maps.replaceChildren(
        map("what the model sees", grey, (g, j) => (seen[j] === null ? ["ex-missing", 1] : ["ex-ink", seen[j] ? 1 : hidden(state.half, j) ? 0 : (g / 16) * 0.25])),
        map(`for ${best}, against ${second}`, terms, (t) => [t < 0 ? "ex-c1" : "ex-c0", Math.min(1, Math.abs(t) / strongest)]),
        map(`how often a ${state.ask} is inked`, shares[state.ask], inked),
        map(state.seed ? `a ${state.ask} that it drew` : "press “Draw it”", sample, inked),
      );
      told.textContent = state.own.length ? `${state.own.length} of yours learned, beside ${sum(digits.rows)}.` : "";
      ten.replaceChildren(
        svg(
          "svg",
          { viewBox: "0 0 400 106", class: "ex-ten", role: "img", "aria-label": `Posteriors: ${posterior.map((p, k) => `${k} ${percent(p)}`).join(", ")}` },
          ...posterior.map((p, k) =>
            svg("g", {},
              svg("rect", { x: k * 40 + 5, y: 18, width: 30, height: 66, class: "ex-track" }),
              svg("rect", { x: k * 40 + 5, y: 84 - 66 * p, width: 30, height: 66 * p, class: `ex-fill ${k === best ? "ex-c0" : "ex-grey"}` }),
              svg("text", { x: k * 40 + 20, y: 13, "text-anchor": "middle", class: "ex-tick" }, p >= 0.005 ? percent(p) : ""),
              svg("text", { x: k * 40 + 20, y: 101, "text-anchor": "middle", class: k === best ? "ex-strong" : "" }, String(k)),
            ),
          ),
        ),
      );
      const hiddenCount = seen.filter((p) => p === null).length;
      const margin = Math.log(posterior[best]) - Math.log(posterior[second]);
      const ink = sum(terms.filter((_, j) => seen[j] === 1));
      const paper = sum(terms.filter((_, j) => seen[j] === 0));
      const centre = terms.map(Math.abs).indexOf(Math.max(...terms.map(Math.abs)));
      const share = (k) => m.num(seen[centre] ? shares[k][centre] : 1 - shares[k][centre], 3);
      return {
        formula: [
          maps,
          formula(m.sub("φ", m("j | y")), "=", m.frac(m(m.text("images of y with ink at j"), "+ 1"), m(m.text("images of y"), "+ 2"))),
          formula("log", m.text(" "), m.frac(m("p (", m.num(String(best)), "| x )"), m("p (", m.num(String(second)), "| x )")), "=", m.num(signed(margin))),
          note(`Ink adds ${signed(ink)}, paper ${signed(paper)}${hiddenCount ? `; ${hiddenCount} pixels are missing, and their factors left out` : ""}.`),
          formula(m.text(`line ${Math.floor(centre / 8) + 1}, pixel ${(centre % 8) + 1}:  `), "log", m.text(" "), m.frac(share(best), share(second)), "=", m.num(signed(terms[centre]))),
          note("Your 28 × 28 drawing is fitted to a square and reduced to the 8 × 8 of scikit-learn’s digits, the 1797 images that the model has counted."),
        ],
        python: snippet(seen, state.own),
        answer: posterior,
        words: `The model takes the drawing for a ${best} with ${percent(posterior[best])}, next is ${second} with ${percent(posterior[second])}. ${hiddenCount ? `${hiddenCount} of 64 pixels are missing.` : ""}`,
      };
    };
  },
});

function snippet(seen, own) {
  const text = seen.map((p) => (p === null ? "?" : p)).join("");
  return [
    "import numpy as np",
    "from genus import BernoulliNB",
    "from sklearn.datasets import load_digits",
    "model = BernoulliNB(binarize=7).fit(*load_digits(return_X_y=True))",
    ...own.map(({ digit, bits }) => `model.partial_fit([[16 * int(bit) for bit in "${bits.join("")}"]], [${digit}])`),
    `x = "${text}"`,
    'model.predict_proba([[np.nan if bit == "?" else 16.0 * int(bit) for bit in x]])',
  ].join("\n");
}
