// Gaussian discriminant analysis: points to add, drag and delete; a line or a curve between them.

import { formula, html, m, note, number, percent, svg } from "./dom.js";
import { determinant, eigen, fitGda, fitLogistic, fitPerceptron, gdaScorer, softmax } from "./math.js";
import { button, choice, controls, define, paintWithTheme, toggle } from "./panel.js";
import { ellipse, handle, plot, zeroLine } from "./plot.js";
import { choiceField, numberField, rowsField, switchField } from "./state.js";

const COLOURS = ["blue", "orange", "green"];
const clouds = [
  [-2.4, -0.6, 0], [-1.9, 0.5, 0], [-1.6, -1.3, 0], [-1.3, 0.1, 0], [-1.0, 1.0, 0], [-0.8, -0.6, 0],
  [-0.4, 0.4, 0], [-2.1, -1.7, 0], [-0.2, 1.4, 0], [-1.4, -0.4, 0],
  [0.5, -0.9, 1], [0.9, 0.3, 1], [1.2, -0.3, 1], [1.5, 1.1, 1], [1.8, 0.4, 1], [2.1, -0.5, 1],
  [2.4, 1.5, 1], [1.1, -1.4, 1], [2.8, 0.9, 1], [0.2, -0.2, 1],
];
const shapes = [
  [-0.3, 0.2, 0], [0.3, -0.3, 0], [0.1, 0.5, 0], [-0.4, -0.4, 0], [0.5, 0.2, 0], [-0.1, -0.1, 0],
  [0.2, 0.1, 0], [-0.6, 0.1, 0], [0.0, -0.6, 0],
  [2.3, 0.8, 1], [-2.2, 1.4, 1], [0.6, 2.4, 1], [-1.2, -2.3, 1], [1.8, -1.7, 1], [-2.8, -0.5, 1],
  [1.5, 2.0, 1], [-0.9, 2.6, 1], [0.4, -2.7, 1], [2.9, -0.6, 1],
];
const far = [...clouds.slice(0, 10), ...clouds.slice(10).map(([x, y, k]) => [x, y, k]), [3.8, -3.6, 1], [3.6, -3.8, 1]];
const three = [
  ...clouds.slice(0, 10).map(([x, y, k]) => [Number((x - 0.6).toFixed(1)), Number((y - 0.8).toFixed(1)), k]),
  ...clouds.slice(10).map(([x, y, k]) => [Number((x + 0.5).toFixed(1)), Number((y - 0.9).toFixed(1)), k]),
  [-0.4, 2.1, 2], [0.2, 2.8, 2], [0.5, 1.9, 2], [-0.9, 2.9, 2], [0.9, 2.6, 2], [-0.1, 3.3, 2], [0.3, 2.3, 2],
];
const row = ([x, y, k]) =>
  [x, y, k].every(Number.isFinite) && [0, 1, 2].includes(k)
    ? [...[x, y].map((v) => Number(Math.min(Math.max(v, -4), 4).toFixed(1)) + 0), k]
    : null;

const largest = (values) => values.indexOf(Math.max(...values));

define({
  name: "gda",
  title: "A line or a curve? Click to add points, drag them about",
  fields: {
    points: rowsField(clouds, row, 90),
    shared: switchField(true),
    logistic: switchField(false),
    perceptron: switchField(false),
    brush: choiceField("0", ["0", "1", "2", "erase"]),
    qx: numberField(0.1, -4, 4, 0.1),
    qy: numberField(0.5, -4, 4, 0.1),
  },
  presets: [
    { label: "Two clouds", state: { points: clouds, shared: true } },
    { label: "One inside", state: { points: shapes, shared: false } },
    { label: "Far points", state: { points: far, shared: true, logistic: true } },
    { label: "Three classes", state: { points: three, shared: true } },
  ],
  question: {
    text: "One class lies inside a ring of the other (“One inside”). Both have nearly the same mean. What does one Σ for both make of them?",
    choices: ["A circle between them", "A line that says next to nothing", "No boundary at all"],
    right: 1,
    why: "With one Σ the squares cancel and only a line is left. It runs through both means, and many points are on its wrong side. With a Σ for each class the squares stay, and the boundary bends round the inner class.",
    show: { points: shapes, shared: true },
  },
  build(panel) {
    const chart = plot(panel, {
      width: 420,
      height: 422,
      margin: { left: 34 },
      x: [-4, 4],
      y: [-4, 4],
      xTicks: [-4, -2, 0, 2, 4],
      yTicks: [-4, -2, 0, 2, 4],
      xLabel: "x₁",
      yLabel: "x₂",
      label: "Points of the classes, with what is fitted to them",
    });
    // The posterior as colours, behind the drawing: a small canvas, scaled up.
    const cells = 48;
    const field = html("canvas", { class: "ex-field", width: cells, height: cells, "aria-hidden": "true" });
    const { box } = chart;
    Object.assign(field.style, {
      left: `${(100 * box.left) / 420}%`,
      top: `${(100 * box.top) / 422}%`,
      width: `${(100 * (box.right - box.left)) / 420}%`,
      height: `${(100 * (box.bottom - box.top)) / 422}%`,
    });
    panel.picture.prepend(field);
    const rings = [0, 1, 2].flatMap((k) => [1, 2].map((radius) => [k, radius, chart.add("path", { class: `ex-ring ex-c${k}` })]));
    const means = [0, 1, 2].map((k) => chart.add("path", { d: "M-6 -6L6 6M-6 6L6 -6", class: `ex-mean ex-c${k}` }));
    const border = chart.add("path", { class: "ex-border" });
    const lines = {
      logistic: chart.add("path", { class: "ex-border ex-dashed" }),
      perceptron: chart.add("path", { class: "ex-border ex-dotted" }),
    };
    let handles = [];
    const replace = (i, change) => {
      const points = panel.state.points.map((p, j) => (j === i ? change(p) : p));
      panel.set({ points: points.filter(Boolean) });
    };
    const remove = (i) => {
      const { points } = panel.state;
      if (points.length < 2) return;
      panel.set({ points: points.filter((_, j) => j !== i) });
      handles[Math.min(i, handles.length - 1)]?.element.focus({ preventScroll: true });
    };
    // A click, and not the press before it, so that a finger can scroll the page from here.
    chart.svg.addEventListener("click", (event) => {
      if (panel.state.brush === "erase" || event.target.closest(".ex-handle")) return;
      const [x, y] = chart.place(event);
      if (Math.abs(x) > 4 || Math.abs(y) > 4) return;
      panel.set({ points: [...panel.state.points, [x, y, Number(panel.state.brush)]] });
    });
    const query = handle(chart, {
      label: "The new point to classify",
      kind: "ex-probe",
      step: 0.1,
      shape: svg("g", {}, svg("circle", { r: 10, class: "ex-dot ex-open" }), svg("text", { y: 5, "text-anchor": "middle" }, "?")),
      move: (x, y) => panel.set({ qx: x, qy: y }),
    });
    const arrange = (points) => {
      while (handles.length > points.length) handles.pop().element.remove();
      while (handles.length < points.length) {
        const i = handles.length;
        const made = handle(chart, {
          label: `Point ${i + 1}`,
          step: 0.1,
          radius: 5.5,
          move: (x, y) => replace(i, ([, , k]) => [x, y, k]),
          onRemove: () => remove(i),
          onPick: () => panel.state.brush === "erase" && remove(i),
        });
        chart.top.append(query.element);
        handles.push(made);
      }
      points.forEach(([x, y, k], i) => {
        handles[i].element.setAttribute("class", `ex-handle ex-point ex-c${k}`);
        handles[i].put(x, y, `${COLOURS[k]}, x₁ ${number(x, 1)}, x₂ ${number(y, 1)}`);
      });
    };
    let shown = null;
    const paint = () => {
      const context = field.getContext("2d");
      context.clearRect(0, 0, cells, cells);
      if (!shown) return;
      const style = getComputedStyle(field);
      const colours = [0, 1, 2].map((k) => {
        const [r, g, b] = style.getPropertyValue(`--class-${k}`).trim().match(/[0-9a-f]{2}/gi).map((h) => parseInt(h, 16));
        return [r, g, b];
      });
      const image = context.createImageData(cells, cells);
      for (let j = 0; j < cells; j++)
        for (let i = 0; i < cells; i++) {
          const p = softmax(shown([-4 + (8 * (i + 0.5)) / cells, 4 - (8 * (j + 0.5)) / cells]));
          const at = 4 * (j * cells + i);
          const top = Math.max(...p);
          for (let c = 0; c < 3; c++) image.data[at + c] = p.reduce((t, v, n) => t + v * colours[shown.classes[n]][c], 0);
          image.data[at + 3] = 255 * 0.24 * ((top - 1 / p.length) / (1 - 1 / p.length));
        }
      context.putImageData(image, 0, 0);
    };
    paintWithTheme(paint);
    const brush = choice(panel, "brush", "A click", { 0: "adds blue", 1: "adds orange", 2: "adds green", erase: "deletes" });
    panel.below.append(
      controls(
        brush,
        button("Add in the middle", () => {
          const k = panel.state.brush === "erase" ? 0 : Number(panel.state.brush);
          panel.set({ points: [...panel.state.points, [0, 0, k]] });
          handles[handles.length - 1].element.focus({ preventScroll: true });
        }),
      ),
      controls(
        toggle(panel, "shared", "one Σ for all classes"),
        toggle(panel, "logistic", "logistic regression (dashed)"),
        toggle(panel, "perceptron", "perceptron (dotted)"),
      ),
    );
    const boundary = (scores, n) => {
      const found = [];
      for (let a = 0; a < n; a++)
        for (let b = a + 1; b < n; b++)
          found.push(
            zeroLine(chart, (x, y) => {
              const s = scores([x, y]);
              if (n === 2) return s[0] - s[1];
              const others = s.filter((_, c) => c !== a && c !== b);
              return others.some((o) => o > Math.max(s[a], s[b])) ? NaN : s[a] - s[b];
            }, 56),
          );
      return found.join("");
    };
    return (state) => {
      const { points, shared, qx, qy } = state;
      arrange(points);
      // Classes without a point are left out: what is fitted has the others, in order.
      const present = [0, 1, 2].filter((k) => points.some((p) => p[2] === k));
      const relabelled = points.map(([x, y, k]) => [x, y, present.indexOf(k)]);
      const n = present.length;
      const model = fitGda(relabelled, n, shared);
      const flat = model.covariances.findIndex((s) => !(determinant(s) > 1e-9 * (s[0] * s[2] + 1e-9)));
      const sound = n >= 2 && flat < 0;
      const scores = gdaScorer(model);
      rings.forEach(([k, radius, path]) => {
        const i = present.indexOf(k);
        path.setAttribute("d", sound && i >= 0 ? ellipse(chart, model.means[i], eigen(model.covariances[i]), radius) : "");
      });
      means.forEach((mark, k) => {
        const i = present.indexOf(k);
        mark.setAttribute("visibility", i >= 0 ? "visible" : "hidden");
        if (i >= 0) mark.setAttribute("transform", `translate(${chart.X(model.means[i][0])} ${chart.Y(model.means[i][1])})`);
      });
      shown = sound ? Object.assign(scores, { classes: present }) : null;
      paint();
      border.setAttribute("d", sound ? boundary(scores, n) : "");
      const rows = relabelled.map(([x, y]) => [x, y]);
      const labels = relabelled.map((p) => p[2]);
      const wrong = (f) => rows.filter((r, i) => largest(f(r)) !== labels[i]).length;
      const said = sound ? [`GDA: ${wrong(scores)} of ${points.length} on the wrong side, one pass of counting`] : [];
      const rivals = {
        logistic: () => {
          const found = fitLogistic(rows, labels, n);
          said.push(`logistic regression: ${wrong(found.scores)}, after ${found.steps} Newton steps`);
          return found.scores;
        },
        perceptron: () => {
          const found = fitPerceptron(rows, labels, n);
          said.push(`perceptron: ${wrong(found.scores)}, ${found.mistakes} corrections${found.settled ? "" : " and still not settled"}`);
          return found.scores;
        },
      };
      for (const [name, fit] of Object.entries(rivals))
        lines[name].setAttribute("d", state[name] && n >= 2 ? boundary(fit(), n) : "");
      const posterior = sound ? softmax(scores([qx, qy])) : [];
      query.put(qx, qy, sound ? present.map((k, i) => `${COLOURS[k]} ${percent(posterior[i])}`).join(", ") : "nothing is fitted");
      const python = [
        "from genus import GDA",
        `X = ${py2(rows)}`,
        `y = [${present.length ? labels.map((i) => present[i]).join(", ") : ""}]`,
        `GDA(${shared ? "" : "shared=False"}).fit(X, y).predict_proba([[${qx}, ${qy}]])`,
      ].join("\n");
      if (!sound)
        return {
          formula: [
            note(
              n < 2
                ? "One class only: there is nothing to tell apart. Add a point of another colour."
                : shared
                  ? "All points lie on lines through their means: Σ has no inverse. Add a point beside them."
                  : `The ${COLOURS[present[flat]]} points are too few, or on one line: their Σ has no inverse. Add a point, or take one Σ for all. genus says so too, instead of dividing by 0.`,
            ),
          ],
          python,
          answer: null,
          words: "Nothing can be fitted to these points.",
        };
      const entry = (v, k) => m.num(v, 2, `ex-c${k}`);
      const matrix = ([a, b, c], k) => m.matrix([[m.num(a, 2, k), m.num(b, 2, k)], [m.num(b, 2, k), m.num(c, 2, k)]]);
      return {
        formula: [
          formula(m.sub("φ", "k"), "=", m.frac(m.sub("m", "k"), "m"), ":", ...present.flatMap((k, i) => [i ? m.text(",  ") : m.text(" "), m.frac(m.num(String(model.counts[i]), 0, `ex-c${k}`), String(points.length))])),
          formula(m.sub("μ", "k"), ":", ...present.flatMap((k, i) => [m.text(" "), m.matrix([[entry(model.means[i][0], k)], [entry(model.means[i][1], k)]])])),
          ...(shared
            ? [formula("Σ =", matrix(model.covariances[0], "now"))]
            : present.map((k, i) => formula(m.sub("Σ", String(k)), "=", matrix(model.covariances[i], `ex-c${k}`)))),
          formula("p ( y | ? ) =", ...present.flatMap((k, i) => [i ? m.text(",  ") : m.text(" "), m.num(posterior[i], 3, `ex-c${k}`)])),
          note(shared ? "One Σ: the squares cancel, so the boundary is straight." : "A Σ for each class: the squares stay, so the boundary bends."),
          html("ul", { class: "ex-list" }, ...said.map((text) => html("li", {}, text))),
        ],
        python,
        answer: posterior,
        words: `${points.length} points of ${n} classes, ${shared ? "one covariance" : "a covariance for each class"}. ${said.join(". ")}. At the question mark: ${present.map((k, i) => `${COLOURS[k]} ${percent(posterior[i])}`).join(", ")}.`,
      };
    };
  },
});

function py2(rows) {
  return `[${rows.map(([x, y]) => `[${x}, ${y}]`).join(", ")}]`;
}
