// Discretising: edges to drag under a histogram, against the log loss.

import { formula, html, m, note, number, percent, set, svg } from "./dom.js";
import { columns } from "./data.js";
import {
  binCounts, binOf, binShares, leaveOneOutBells, leaveOneOutLoss, mdlpEdges, quantileEdges, softmax, sum, uniformEdges,
} from "./math.js";
import { button, controls, define, slider } from "./panel.js";
import { handle, plot } from "./plot.js";
import { choiceField, numberField, rowsField } from "./state.js";

const SETS = {
  humps: { title: "Two humps", unit: "x", classes: ["inner", "outer"], bounds: [-6.5, 6.5], step: 0.5, edges: [[-2], [0], [2]], x: 0.5 },
  petals: { title: "Petals of iris", unit: "width of the petal in cm", classes: ["setosa", "versicolor", "virginica"], bounds: [0, 2.8], step: 0.1, edges: [[0.5], [1], [1.5], [2]], x: 1.7 },
  wine: { title: "Colour of wine", unit: "intensity of the colour", classes: ["grower 0", "grower 1", "grower 2"], bounds: [1, 13.5], step: 0.5, edges: [[3], [6], [9]], x: 5 },
};
const STEP = 0.005;
const MOST = 40;
const near = (v) => Number((Math.round(v / STEP) * STEP).toFixed(3));
const cut = {
  mdlp: ({ values, labels }, k) => mdlpEdges(values, labels, k),
  quantile: ({ values, labels }, k, n) => quantileEdges(values, labels, k, n),
  uniform: ({ values, labels }, k, n) => uniformEdges(values, labels, k, n),
};
const loss = ({ values, labels }, edges, k) => leaveOneOutLoss(binCounts(values, labels, edges, k));

const known = new Map();
function remember(key, find) {
  if (!known.has(key)) known.set(key, find());
  return known.get(key);
}

define({
  name: "discretising",
  title: "Drag the edges of the bins",
  fields: {
    data: choiceField("humps", Object.keys(SETS)),
    edges: rowsField(SETS.humps.edges, ([e]) => (Number.isFinite(e) ? [near(e)] : null), 60),
    bins: numberField(4, 2, MOST, 1),
    x: numberField(0.5, -6.5, 13.5, 0.1),
  },
  // Edges ascend, lie inside of the picture, and no two are one.
  mend: (state) => {
    const [low, high] = SETS[state.data].bounds;
    const inside = state.edges.map((e) => e[0]).filter((e) => e > low && e < high);
    const edges = [...new Set(inside)].sort((a, b) => a - b).map((e) => [e]);
    return { ...state, edges, x: Math.min(Math.max(state.x, low), high) };
  },
  presets: Object.entries(SETS).map(([data, { title, edges, x }]) => ({ label: title, state: { data, edges, x } })),
  question: {
    text: "You cut the width of petals into more and more bins of equal width. What does the log loss do, each row predicted from the others?",
    choices: ["It falls and falls", "It falls, then rises", "It rises at once"],
    right: 1,
    why: "A few bins cannot follow the classes. Many bins have few rows each, so their shares are guesses. The chart below the histogram shows both ends; MDLP stops cutting when a cut no longer pays.",
    show: { data: "petals", bins: 24, x: 1.7, edges: cut.uniform(columns.petals, 3, 24).map((e) => [e]) },
  },
  build(panel) {
    const chart = plot(panel, {
      width: 420, height: 260, margin: { left: 34 }, x: [-6.5, 6.5], y: [0, 100], xLabel: "x",
      label: "Histogram of the classes with the edges of the bins",
    });
    const bars = chart.add("g", {});
    const strip = chart.add("g", {});
    const probe = handle(chart, {
      label: "The number to classify",
      kind: "ex-probe",
      step: 0.1,
      flat: true,
      shape: svg("path", { d: "M0 -10 L8 5 H-8 Z", class: "ex-dot" }),
      move: (x) => panel.set({ x }),
    });
    let handles = [];
    let held = null;
    const arrange = (edges, height) => {
      while (handles.length > edges.length) handles.pop().element.remove();
      while (handles.length < edges.length) {
        const i = handles.length;
        const made = handle(chart, {
          label: `Edge ${i + 1}`,
          kind: "ex-edge",
          step: 0.05,
          flat: true,
          shape: svg("g", {}, svg("line", { y1: 0, y2: chart.box.bottom - chart.box.top - 14 }), svg("rect", { x: -6, y: -8, width: 12, height: 16, rx: 3, class: "ex-dot" })),
          // An edge stays between its neighbours.
          move: (x) => {
            const edges = panel.state.edges.map((e) => e[0]);
            const [low, high] = SETS[panel.state.data].bounds;
            const from = (edges[i - 1] ?? low) + STEP;
            const to = (edges[i + 1] ?? high) - STEP;
            panel.set({ edges: edges.map((e, j) => [j === i ? Math.min(Math.max(x, from), to) : e]) });
          },
          onRemove: () => panel.state.edges.length > 1 && panel.set({ edges: panel.state.edges.filter((_, j) => j !== i) }),
        });
        handles.push(made);
        chart.top.append(probe.element);  // stays on top
      }
      panel.picture.classList.toggle("ex-crowded", edges.length > 14);
      edges.forEach(([e], i) => handles[i].put(e, height, `${number(e, 3)}`));
    };
    const losses = plot(panel, {
      width: 420, height: 170, margin: { left: 42, top: 10 }, x: [0.5, MOST + 0.5], y: [0, 1], xTicks: [1, 10, 20, 30, 40], yTicks: false,
      xLabel: "number of bins", label: "Leave-one-out log loss by the number of bins",
    });
    const drawn = losses.add("g", {});
    const legend = html(
      "p",
      { class: "ex-legend" },
      ...[["ex-line ex-c0s", "equal widths"], ["ex-line ex-dashed", "equal counts"]].map(([k, t]) => html("span", {}, html("i", { class: k }), t)),
      html("span", {}, html("i", { class: "ex-key-mdlp" }), "MDLP"),
      html("span", {}, html("i", { class: "ex-key-own" }), "yours"),
      html("span", {}, html("i", { class: "ex-line ex-c2 ex-dotted" }), "bells"),
    );
    panel.picture.append(legend);
    const classesOf = () => SETS[panel.state.data].classes.length;
    // The slider cuts anew, in the way that was chosen last.
    let way = "uniform";
    const edgesBy = (how, bins) => cut[how](columns[panel.state.data], classesOf(), bins).map((e) => [e]);
    const choose = (how) => () => {
      if (how !== "mdlp") way = how;
      panel.set({ edges: edgesBy(how, panel.state.bins) });
    };
    panel.below.append(
      controls(
        slider(panel, "bins", "bins", (v) => String(v), (bins) => ({ edges: edgesBy(way, bins) })),
        button("Equal widths", choose("uniform"), { "data-act": "uniform" }),
        button("Equal counts", choose("quantile"), { "data-act": "quantile" }),
        button("MDLP", choose("mdlp"), { "data-act": "mdlp" }),
        button("Add an edge", () => {
          const [low, high] = SETS[panel.state.data].bounds;
          const all = [low, ...panel.state.edges.map((e) => e[0]), high];
          const gaps = all.slice(1).map((e, i) => e - all[i]);
          const widest = gaps.indexOf(Math.max(...gaps));
          panel.set({ edges: [...panel.state.edges, [(all[widest] + all[widest + 1]) / 2]] });
        }),
      ),
      note("Drag an edge, or move it with the arrow keys. Delete or a double click takes it away."),
    );
    return (state) => {
      const chosen = SETS[state.data];
      const data = columns[state.data];
      const K = chosen.classes.length;
      const edges = state.edges.map((e) => e[0]);
      const [low, high] = chosen.bounds;
      const fine = Math.round((high - low) / chosen.step);
      const tall = Array.from({ length: K }, () => new Array(fine).fill(0));
      data.values.forEach((v, i) => (tall[data.labels[i]][Math.min(fine - 1, Math.max(0, Math.floor((v - low) / chosen.step + 1e-9)))] += 1));
      const highest = Math.max(...Array.from({ length: fine }, (_, b) => sum(tall.map((t) => t[b]))));
      if (held !== state.data) {
        held = state.data;
        chart.x = [low, high];
        chart.y = [0, Math.ceil((highest * 1.35) / 10) * 10];
        chart.axes();
        chart.svg.querySelector(".ex-label").textContent = chosen.unit;
      }
      bars.replaceChildren(
        ...Array.from({ length: fine }, (_, b) => {
          let base = 0;
          return tall.map((t, k) => {
            const rect = svg("rect", {
              x: chart.X(low + b * chosen.step) + 0.5, width: Math.max(0, chart.X(chosen.step) - chart.X(0) - 1),
              y: chart.Y(base + t[b]), height: chart.Y(base) - chart.Y(base + t[b]), class: `ex-fill ex-c${k}`,
            });
            base += t[b];
            return rect;
          });
        }).flat(),
      );
      const counts = binCounts(data.values, data.labels, edges, K);
      const shares = binShares(counts);
      const rows = counts.map(sum);
      const posteriorOf = (b) => softmax(shares.map((s, k) => Math.log(rows[k]) + Math.log(s[b])));
      // The posterior of each bin, as a strip along the top.
      const all = [low, ...edges, high];
      strip.replaceChildren(
        ...all.slice(0, -1).flatMap((from, b) => {
          const p = posteriorOf(b);
          let x = chart.X(from);
          return p.map((share, k) => {
            const width = (chart.X(all[b + 1]) - chart.X(from)) * share;
            const rect = svg("rect", { x, y: chart.box.top, width, height: 10, class: `ex-fill ex-c${k}` });
            x += width;
            return rect;
          });
        }),
      );
      arrange(state.edges, chart.fromY(chart.box.top + 22));
      const b = binOf(state.x, edges);
      const p = posteriorOf(b);
      probe.put(state.x, 0, `${number(state.x, 1)} is in bin ${b + 1}: ${chosen.classes.map((c, k) => `${c} ${percent(p[k])}`).join(", ")}`);
      const own = leaveOneOutLoss(counts);
      const paths = ["uniform", "quantile"].map((how) =>
        remember(`${state.data} ${how}`, () =>
          Array.from({ length: MOST }, (_, i) => {
            const found = i ? cut[how](data, K, i + 1) : [];
            return [i + 1, loss(data, found, K)];
          }),
        ),
      );
      const best = remember(`${state.data} mdlp`, () => {
        const found = cut.mdlp(data, K);
        return [found.length + 1, loss(data, found, K)];
      });
      const bells = remember(`${state.data} bells`, () => leaveOneOutBells(data.values, data.labels, K));
      const every = [...paths.flat().map((q) => q[1]), best[1], bells, own];
      losses.y = [Math.max(0, Math.min(...every) - 0.04), Math.max(...every) + 0.05];
      const levels = [0, 0.5, 1].map((s) => losses.y[0] + s * (losses.y[1] - losses.y[0]));
      drawn.replaceChildren(
        ...levels.map((v) => svg("line", { x1: losses.box.left, x2: losses.box.right, y1: losses.Y(v), y2: losses.Y(v), class: "ex-grid" })),
        svg("line", { x1: losses.box.left, x2: losses.box.right, y1: losses.Y(bells), y2: losses.Y(bells), class: "ex-curve ex-c2 ex-dotted" }),
        svg("path", { d: losses.path(paths[0]), class: "ex-curve ex-c0s" }),
        svg("path", { d: losses.path(paths[1]), class: "ex-curve ex-dashed" }),
        svg("rect", { x: losses.X(best[0]) - 5, y: losses.Y(best[1]) - 5, width: 10, height: 10, class: "ex-mark ex-c3" }),
        svg("circle", { cx: losses.X(Math.min(edges.length + 1, MOST)), cy: losses.Y(own), r: 6, class: "ex-mark ex-c1" }),
      );
      for (const old of losses.svg.querySelectorAll(".ex-level")) old.remove();
      for (const v of levels)
        losses.svg.append(svg("text", { x: losses.box.left - 5, y: losses.Y(v) + 4, "text-anchor": "end", class: "ex-tick ex-level" }, number(v)));
      set(losses.svg, { "aria-label": `Leave-one-out log loss: yours ${number(own, 3)}, MDLP ${number(best[1], 3)}, bells ${number(bells, 3)}` });
      const B = edges.length + 1;
      return {
        formula: [
          formula("x =", m.num(state.x, 1), "→", m.text(" bin "), m.num(String(b + 1)), m.text(` of ${B}`)),
          formula(m.sub("φ", m(String(b + 1), "| k")), "=", m.frac(m("n + 1"), m(m.sub("m", "k"), `+ ${B}`))),
          ...chosen.classes.map((name, k) =>
            formula(m.word(`${name}: `), m.frac(m(m.num(String(counts[k][b]), 0, `ex-c${k}`), "+ 1"), m(m.num(String(rows[k]), 0, `ex-c${k}`), `+ ${B}`)), "=", m.num(shares[k][b], 4, `ex-c${k}`)),
          ),
          formula("p ( y | x ) =", ...p.flatMap((v, k) => [k ? m.text(",  ") : m.text(" "), m.num(v, 3, `ex-c${k}`)])),
          html(
            "table",
            { class: "ex-table" },
            html("thead", {}, html("tr", {}, ...["log loss", "bins", "each row from the others"].map((t) => html("th", { scope: "col" }, t)))),
            html("tbody", {}, ...[["yours", B, own], ["MDLP", best[0], best[1]], ["bells", "–", bells]].map(([t, n, v]) =>
              html("tr", {}, html("th", { scope: "row" }, t), html("td", {}, String(n)), html("td", {}, number(v, 4))),
            )),
          ),
          note(own <= best[1] ? "Your bins are as good as MDLP’s, or better." : own < bells ? "Better than a bell for each class." : "A bell for each class does better than these bins."),
        ],
        python: snippet(state.data, edges),
        answer: [own],
        words: `${B} bins. ${number(state.x, 1)} is in bin ${b + 1}: ${chosen.classes.map((c, k) => `${c} ${percent(p[k])}`).join(", ")}. Leave-one-out log loss ${number(own, 3)}; MDLP has ${number(best[1], 3)} with ${best[0]} bins, bells ${number(bells, 3)}.`,
      };
    };
  },
});

function snippet(data, edges) {
  const load = {
    humps: [
      "rng = np.random.default_rng(0)",
      "y = np.arange(600) % 2",
      "X = (np.where(y, rng.choice([-3, 3], 600), 0) + rng.normal(size=600)).round(2)[:, None]",
    ],
    petals: ["from sklearn.datasets import load_iris", "X, y = load_iris(return_X_y=True)", "X = X[:, [3]]"],
    wine: ["from sklearn.datasets import load_wine", "X, y = load_wine(return_X_y=True)", "X = X[:, [9]].round(2)"],
  };
  return [
    "import numpy as np",
    "from genus import CategoricalNB, Discretizer, cross_validate",
    ...load[data],
    `model = CategoricalNB(bins=Discretizer(edges=[${edges.join(", ")}]))`,
    'cross_validate(model, X, y, folds="loo").log_loss',
  ].join("\n");
}
