// Which of the two? A true distribution, a number of rows, and a hundred draws: learning curves.

import { formula, html, m, note, number, percent, svg } from "./dom.js";
import { fitGda, fitLogistic, gdaTheta, lineError, normalCdf, random, sum } from "./math.js";
import { button, choice, controls, define, slider } from "./panel.js";
import { plot } from "./plot.js";
import { choiceField, numberField } from "./state.js";

const part = (weight, mean, sigma) => ({ weight, mean, sigma });
const TRUTHS = {
  bells: [[part(1, [-1.5, 0], [1, 0.3, 1])], [part(1, [1.5, 0.4], [1, 0.3, 1])]],
  widths: [[part(1, [-0.9, 0], [0.25, 0, 0.25])], [part(1, [1.2, 0.3], [3, 0.5, 2])]],
  far: [
    [part(1, [-1, 0], [1, 0, 1])],
    [part(0.85, [1, 0.4], [1, 0, 1]), part(0.15, [8, -7], [1, 0, 1])],
  ],
};
const SIZES = [6, 8, 12, 20, 40, 80, 160, 320];
const DRAWS = 100;

// The same number of rows of each class, so that no draw lacks one.
function draw(truth, n, seed) {
  const { uniform, normal } = random(seed);
  return Array.from({ length: n }, (_, i) => {
    const k = i % 2;
    let left = uniform();
    const component = truth[k].find((p) => (left -= p.weight) < 0) ?? truth[k][0];
    const [a, b, c] = component.sigma;
    const [u, v] = [normal(), normal()];
    const s = Math.sqrt(a);
    return [
      component.mean[0] + s * u,
      component.mean[1] + (b / s) * u + Math.sqrt(c - (b * b) / a) * v,
      k,
    ];
  });
}

function fitBoth(rows) {
  const gda = gdaTheta(fitGda(rows, 2, true));
  const [[a, b, constant]] = fitLogistic(rows.map(([x, y]) => [x, y]), rows.map((r) => r[2]), 2).weights;
  return { gda, logistic: { theta: [a, b], constant } };
}

const seeds = (seed, n, i) => seed * 1000003 + n * 7919 + i * 104729;

// What was drawn is kept: to go on, or back, costs nothing.
const kept = new Map();
function outcome(truth, n, seed, i) {
  const key = `${truth} ${n} ${seed} ${i}`;
  if (!kept.has(key)) {
    const rows = draw(TRUTHS[truth], n, seeds(seed, n, i));
    const lines = fitBoth(rows);
    const errors = [lines.gda, lines.logistic].map((line) => lineError(line, TRUTHS[truth]));
    kept.set(key, { rows, lines, errors });
  }
  return kept.get(key);
}

// Mean and standard error over the draws: of GDA's error, of its rival's, and of their difference.
export function summary(truth, n, seed, drawn) {
  const found = Array.from({ length: drawn }, (_, i) => outcome(truth, n, seed, i).errors);
  const describe = (values) => {
    const mean = sum(values) / drawn;
    const spread = Math.sqrt(sum(values.map((v) => (v - mean) ** 2)) / Math.max(drawn - 1, 1));
    return { mean, error: spread / Math.sqrt(drawn) };
  };
  return [(e) => e[0], (e) => e[1], (e) => e[0] - e[1]].map((of) => describe(found.map(of)));
}

export { draw, fitBoth, outcome };

define({
  name: "which-one",
  title: "A hundred draws: who needs fewer rows?",
  fields: {
    truth: choiceField("bells", Object.keys(TRUTHS)),
    n: numberField(20, 6, 320, 2),
    drawn: numberField(1, 1, DRAWS, 1),
    seed: numberField(6, 1, 999, 1),
    curve: choiceField("no", ["no", "yes"]),
  },
  presets: [
    { label: "Bells, few rows", state: { truth: "bells", n: 20, drawn: 1 } },
    { label: "Not bells, many rows", state: { truth: "far", n: 160, drawn: 1 } },
  ],
  question: {
    text: "Both classes are bells with one Σ, and there are 20 rows. Which has the lower error, in the mean of 100 draws?",
    choices: ["GDA", "Logistic regression", "No difference"],
    right: 0,
    why: "What GDA assumes is true here, and it needs fewer rows to find the line. Now choose “with far rows”: the assumption is false, and with many rows logistic regression is ahead.",
    show: { truth: "bells", n: 20, drawn: 100 },
  },
  build(panel) {
    const chart = plot(panel, {
      width: 420,
      height: 290,
      margin: { left: 34, bottom: 24 },
      x: [-5, 9],
      y: [-9, 5],
      label: "The rows of the last draw, and the lines of all draws",
    });
    const before = { gda: chart.add("path", { class: "ex-faint ex-c0s" }), logistic: chart.add("path", { class: "ex-faint ex-other" }) };
    const last = { gda: chart.add("path", { class: "ex-border ex-c0s" }), logistic: chart.add("path", { class: "ex-border ex-dashed" }) };
    const points = chart.add("g", {});
    const curves = plot(panel, {
      width: 420,
      height: 190,
      margin: { left: 42, top: 12 },
      x: [Math.log2(5), Math.log2(360)],
      y: [0.1, 0.3],
      xTicks: false,
      yTicks: false,
      xLabel: "rows to learn from",
      label: "Mean error of both by the number of rows",
    });
    for (const n of SIZES)
      curves.svg.append(svg("text", { x: curves.X(Math.log2(n)), y: curves.box.bottom + 15, "text-anchor": "middle", class: "ex-tick" }, String(n)));
    const drawnCurves = curves.add("g", {});
    const hint = svg("text", { x: curves.box.right - 8, y: curves.box.top + 22, "text-anchor": "end", class: "ex-label" }, "“Learning curves” fills this in");
    curves.svg.append(hint);
    const legend = html(
      "p",
      { class: "ex-legend" },
      html("span", {}, html("i", { class: "ex-line ex-c0s" }), "GDA"),
      html("span", {}, html("i", { class: "ex-line ex-dashed" }), "logistic regression"),
    );
    panel.picture.append(legend);
    panel.below.append(
      controls(
        choice(panel, "truth", "The truth", { bells: "bells, one Σ", widths: "bells, two Σ", far: "with far rows" }),
        slider(panel, "n", "rows", (v) => String(v)),
      ),
      controls(
        button("Draw 100 times", () => {
          panel.set({ drawn: 1, seed: panel.state.drawn === DRAWS ? (panel.state.seed % 999) + 1 : panel.state.seed });
          panel.glide({ drawn: DRAWS });
        }, { "data-act": "draw" }),
        button("Learning curves", () => panel.set({ curve: panel.state.curve === "yes" ? "no" : "yes" }), { "data-act": "curve" }),
        slider(panel, "drawn", "draws", (v) => String(v)),
      ),
    );
    const through = ({ theta: [a, b], constant }) => {
      // Two points of the line that are far outside of the picture.
      const size = a * a + b * b;
      const [x, y] = [(-constant * a) / size, (-constant * b) / size];
      const length = 40 / Math.sqrt(size);
      return chart.path([[x - b * length, y + a * length], [x + b * length, y - a * length]]);
    };
    // Learning curves are found one size after the other, so that the page stays alive.
    let pending = null;
    const ready = new Map();
    const compute = (truth, seed) => {
      const key = `${truth} ${seed}`;
      if (pending === key) return;
      pending = key;
      const step = () => {
        if (pending !== key) return;
        const missing = SIZES.find((n) => !ready.has(`${key} ${n}`));
        if (missing === undefined) {
          pending = null;
          return;
        }
        ready.set(`${key} ${missing}`, summary(truth, missing, seed, DRAWS));
        panel.refresh();
        setTimeout(step, 0);
      };
      setTimeout(step, 0);
    };
    return (state) => {
      const { truth, n, drawn, seed } = state;
      const { rows, lines, errors } = outcome(truth, n, seed, drawn - 1);
      const wide = truth === "far" ? [[-5, 11], [-11, 5]] : [[-5, 5], [-5, 5]];
      if (chart.x[0] !== wide[0][0] || chart.x[1] !== wide[0][1]) {
        [chart.x, chart.y] = wide;
        chart.axes();
      }
      points.replaceChildren(...rows.map(([x, y, k]) => svg("circle", { cx: chart.X(x), cy: chart.Y(y), r: n > 100 ? 2.5 : 4, class: `ex-spot ex-c${k}` })));
      for (const name of ["gda", "logistic"]) {
        const paths = Array.from({ length: drawn - 1 }, (_, i) => through(outcome(truth, n, seed, i).lines[name]));
        before[name].setAttribute("d", paths.join(""));
        last[name].setAttribute("d", through(lines[name]));
      }
      const means = summary(truth, n, seed, drawn);
      const [g, l, difference] = means;
      const key = `${truth} ${seed}`;
      if (state.curve === "yes" && SIZES.some((size) => !ready.has(`${key} ${size}`))) compute(truth, seed);
      const found = state.curve === "yes" ? SIZES.filter((size) => ready.has(`${key} ${size}`)).map((size) => [size, ready.get(`${key} ${size}`)]) : [];
      const all = [...found.flatMap(([, pair]) => pair.slice(0, 2).map((s) => s.mean)), g.mean, l.mean];
      const low = Math.max(0, Math.floor((Math.min(...all) - 0.01) * 50) / 50);
      const high = Math.ceil((Math.max(...all) + 0.015) * 50) / 50;
      curves.y = [low, high];
      hint.setAttribute("visibility", found.length ? "hidden" : "visible");
      const kinds = ["ex-curve ex-c0s", "ex-curve ex-dashed"];
      const levels = [low, (low + high) / 2, high];
      drawnCurves.replaceChildren(
        ...levels.map((v) => svg("line", { x1: curves.box.left, x2: curves.box.right, y1: curves.Y(v), y2: curves.Y(v), class: "ex-grid" })),
        ...kinds.flatMap((kind, j) => [
          svg("path", { class: `ex-band ${j ? "" : "ex-c0s"}`, d: found.length > 1 ? `${curves.path([...found.map(([s, p]) => [Math.log2(s), p[j].mean + 1.96 * p[j].error]), ...[...found].reverse().map(([s, p]) => [Math.log2(s), p[j].mean - 1.96 * p[j].error])])}Z` : "" }),
          svg("path", { class: kind, d: found.length > 1 ? curves.path(found.map(([s, p]) => [Math.log2(s), p[j].mean])) : "" }),
        ]),
        ...[0, 1].map((j) => svg("circle", { cx: curves.X(Math.log2(n)), cy: curves.Y(means[j].mean), r: 6, class: j ? "ex-ring-mark" : "ex-mark ex-c0" })),
      );
      for (const old of curves.svg.querySelectorAll(".ex-level")) old.remove();
      for (const v of levels)
        curves.svg.append(svg("text", { x: curves.box.left - 5, y: curves.Y(v) + 4, "text-anchor": "end", class: "ex-tick ex-level" }, percent(v)));
      const best = truth === "bells" ? bestError() : null;
      const clear = Math.abs(difference.mean) > 2 * difference.error && drawn > 9;
      return {
        formula: [
          html(
            "table",
            { class: "ex-table" },
            html("thead", {}, html("tr", {}, ...["error", "this draw", drawn > 1 ? `mean of ${drawn}` : "mean"].map((t) => html("th", { scope: "col" }, t)))),
            html("tbody", {}, ...["GDA", "logistic"].map((name, j) =>
              html("tr", {}, html("th", { scope: "row" }, name), html("td", {}, percent(errors[j], 1)), html("td", {}, drawn > 1 ? `${percent(means[j].mean, 1)} ± ${(100 * means[j].error).toFixed(2)}` : "–")),
            )),
          ),
          note(
            drawn < 10
              ? "One draw says little. Draw a hundred times."
              : clear
                ? `${g.mean < l.mean ? "GDA" : "Logistic regression"} is ahead with ${n} rows, by more than chance.`
                : `With ${n} rows the two cannot be told apart by ${drawn} draws.`,
          ),
          formula(m.text("GDA:  "), "argmax", m.text(" "), "∏ p (", m.sup("x", "(i)"), ",", m.sup("y", "(i)"), ")"),
          formula(m.text("logistic:  "), "argmax", m.text(" "), "∏ p (", m.sup("y", "(i)"), "|", m.sup("x", "(i)"), ")"),
          ...Object.entries({ GDA: lines.gda, logistic: lines.logistic }).map(([name, { theta, constant }]) =>
            formula(m.text(`${name}:  `), "θ = (", m.num(theta[0], 2), ",", m.num(theta[1], 2), ")", m.text(",  "), m.sub("θ", "0"), "=", m.num(constant, 2)),
          ),
          formula(m.text("error of a line:  "), m.frac("1", "2"), "∑ Φ", "(", "±", m.frac(m(m.sup("θ", "T"), m.sub("μ", "k"), "+", m.sub("θ", "0")), m.sqrt(m(m.sup("θ", "T"), m.sub("Σ", "k"), "θ"))), ")"),
          ...(best === null ? [] : [formula(m.text("the best there is:  "), "Φ ( −½ δ ) =", m.num(percent(best, 1)))]),
          note("The error is exact, not counted on test rows: the truth is known here."),
        ],
        python: simulation(truth, n),
        answer: [g.mean, l.mean],
        tolerance: 4 * Math.max(g.error, l.error) + 1e-3,
        words: `${n} rows, ${drawn} draws. GDA has a mean error of ${percent(g.mean, 1)}, logistic regression of ${percent(l.mean, 1)}.`,
      };
    };
  },
});

export function bestError() {
  const [[one], [two]] = TRUTHS.bells;
  const [u, v] = [two.mean[0] - one.mean[0], two.mean[1] - one.mean[1]];
  const [a, b, c] = one.sigma;
  return normalCdf(-0.5 * Math.sqrt((c * u * u - 2 * b * u * v + a * v * v) / (a * c - b * b)));
}

const PYTHON = {
  bells: ["normal([-1.5, 0], [[1, 0.3], [0.3, 1]])", "normal([1.5, 0.4], [[1, 0.3], [0.3, 1]])"],
  widths: ["normal([-0.9, 0], [[0.25, 0], [0, 0.25]])", "normal([1.2, 0.3], [[3, 0.5], [0.5, 2]])"],
  far: [
    "normal([-1, 0], np.eye(2))",
    "np.where(rng.random((half, 1)) < 0.15, normal([8, -7], np.eye(2)), normal([1, 0.4], np.eye(2)))",
  ],
};

function simulation(truth, n) {
  return `import numpy as np
from genus import GDA
from sklearn.linear_model import LogisticRegression
rng = np.random.default_rng(0)
def rows(half):
    normal = lambda mean, cov: rng.multivariate_normal(mean, cov, half)
    a = ${PYTHON[truth][0]}
    b = ${PYTHON[truth][1]}
    return np.vstack([a, b]), np.repeat([0, 1], half)
def errors():
    train, test = rows(${n / 2}), rows(1000)
    return [1 - m.fit(*train).score(*test) for m in (GDA(), LogisticRegression(C=1e4))]
np.mean([errors() for _ in range(100)], axis=0)   # other draws, so about the same`;
}
