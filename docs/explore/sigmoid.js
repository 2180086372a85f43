// GDA and logistic regression on a line: one far point, and counts that are Poisson.

import { formula, html, m, note, number, svg } from "./dom.js";
import { fitBells, fitLogistic, fitPoisson, sigmoid } from "./math.js";
import { choice, controls, define, slider } from "./panel.js";
import { handle, plot } from "./plot.js";
import { choiceField, numberField } from "./state.js";

const DATA = {
  bells: [
    [1.0, 0], [1.4, 0], [1.8, 0], [2.0, 0], [2.3, 0], [2.6, 0], [3.1, 0], [3.6, 0],
    [2.8, 1], [3.3, 1], [3.7, 1], [4.0, 1], [4.3, 1], [4.6, 1], [5.1, 1],
  ],
  poisson: [
    [0, 0], [1, 0], [1, 0], [2, 0], [2, 0], [3, 0], [3, 0], [5, 0],
    [3, 1], [4, 1], [5, 1], [6, 1], [6, 1], [7, 1], [9, 1],
  ],
};

define({
  name: "sigmoid",
  title: "One far point: drag the orange dot with the ring",
  fields: {
    data: choiceField("bells", ["bells", "poisson"]),
    far: numberField(5, 3, 16, 0.1),
    x: numberField(3.2, 0, 16, 0.1),
  },
  presets: [
    { label: "Near", state: { far: 5 } },
    { label: "Far", state: { far: 14 } },
    { label: "Counts of calls", state: { data: "poisson", far: 8 } },
  ],
  question: {
    text: "Move the ringed orange point far to the right, where everybody calls it orange. Which curve changes?",
    choices: ["Both", "Only GDA’s", "Only logistic regression’s"],
    right: 1,
    why: "GDA describes the orange points, so one of them far away moves their mean and widens the variance: the curve tilts. Logistic regression only asks which side each point is on, and this one was on the right side already.",
    show: { far: 14, data: "bells" },
  },
  build(panel) {
    const chart = plot(panel, {
      width: 420,
      height: 340,
      margin: { left: 50 },
      x: [0, 16],
      y: [-0.08, 1.08],
      xLabel: "x",
      yLabel: "p(orange | x)",
      yTicks: [0, 0.25, 0.5, 0.75, 1],
      xTicks: [0, 4, 8, 12, 16],
      label: "p(orange|x) by two or three methods, over the points",
    });
    const half = chart.add("line", { class: "ex-rule", x1: chart.box.left, x2: chart.box.right, y1: chart.Y(0.5), y2: chart.Y(0.5) });
    half.setAttribute("stroke-dasharray", "2 4");
    const curves = {
      gda: chart.add("path", { class: "ex-curve ex-c0s" }),
      logistic: chart.add("path", { class: "ex-curve ex-dashed" }),
      poisson: chart.add("path", { class: "ex-curve ex-c2 ex-dotted" }),
    };
    const points = svg("g", { "aria-hidden": "true" });
    chart.svg.append(points);
    const far = handle(chart, {
      label: "The far point",
      kind: "ex-c1 ex-ringed",
      step: 0.1,
      radius: 6,
      flat: true,
      move: (x) => panel.set({ far: x }),
    });
    chart.svg.append(chart.top);
    const spot = handle(chart, {
      label: "Where p(y|x) is read",
      kind: "ex-probe",
      step: 0.1,
      flat: true,
      shape: svg("path", { d: "M0 -10 L8 5 H-8 Z", class: "ex-dot" }),
      move: (x) => panel.set({ x }),
    });
    const line = chart.add("line", { class: "ex-at" });
    const legend = html(
      "p",
      { class: "ex-legend" },
      ...[["ex-line ex-c0s", "GDA"], ["ex-line ex-dashed", "logistic regression"]].map(([kind, text]) =>
        html("span", {}, html("i", { class: kind }), text),
      ),
      html("span", { class: "ex-poisson" }, html("i", { class: "ex-line ex-c2 ex-dotted" }), "Poisson"),
    );
    panel.picture.append(legend);
    panel.below.append(
      controls(
        choice(panel, "data", "The points are", { bells: "lengths (bells)", poisson: "counts (Poisson)" }),
        slider(panel, "far", "far point", (v) => number(v, 1)),
        slider(panel, "x", "read at x", (v) => number(v, 1)),
      ),
    );
    return (state) => {
      const counts = state.data === "poisson";
      const at = counts ? Math.round(state.far) : state.far;
      const rows = [...DATA[state.data], [at, 1]];
      const values = rows.map((r) => r[0]);
      const labels = rows.map((r) => r[1]);
      const bells = fitBells(values, labels);
      const rival = fitLogistic(values.map((v) => [v]), labels, 2);
      const events = counts ? fitPoisson(values, labels) : null;
      const [w, b] = rival.weights[0];
      const methods = {
        gda: [bells.theta, bells.constant],
        logistic: [w, b],
        ...(events ? { poisson: [events.theta, events.constant] } : {}),
      };
      for (const [name, path] of Object.entries(curves)) {
        const found = methods[name];
        path.setAttribute("d", found ? chart.curve((x) => sigmoid(found[0] * x + found[1]), 240) : "");
      }
      legend.querySelector(".ex-poisson").hidden = !events;
      const seen = new Map();
      points.replaceChildren(
        ...rows.slice(0, -1).map(([x, k]) => {
          const times = seen.get(`${x} ${k}`) ?? 0;
          seen.set(`${x} ${k}`, times + 1);
          return svg("circle", { cx: chart.X(x), cy: chart.Y(k) + (k ? 1 : -1) * times * 7, r: 5, class: `ex-spot ex-c${k}` });
        }),
      );
      far.put(at, 1, `${number(at, 1)}; GDA crosses one half at ${number(-bells.constant / bells.theta)}, logistic regression at ${number(-b / w)}`);
      const p = Object.fromEntries(Object.entries(methods).map(([name, [t, c]]) => [name, sigmoid(t * state.x + c)]));
      spot.put(state.x, -0.08, `x ${number(state.x, 1)}, GDA ${number(p.gda, 3)}, logistic regression ${number(p.logistic, 3)}`);
      line.setAttribute("x1", chart.X(state.x));
      line.setAttribute("x2", chart.X(state.x));
      line.setAttribute("y1", chart.box.top);
      line.setAttribute("y2", chart.box.bottom);
      const model = events ? "PoissonNB(alpha=0)" : "GDA()";
      const parameters = events
        ? [
            formula("θ = log", m.text(" "), m.frac(m.sub("λ", "1"), m.sub("λ", "0")), "= log", m.text(" "), m.frac(m.num(events.rates[1], 3, "ex-c1"), m.num(events.rates[0], 3, "ex-c0")), "=", m.num(events.theta, 3)),
            formula(m.sub("θ", "0"), "=", m.sub("λ", "0"), "−", m.sub("λ", "1"), "+ log", m.text(" "), m.frac("φ", m("1 − φ")), "=", m.num(events.constant, 3)),
          ]
        : [
            formula("θ =", m.frac(m(m.sub("μ", "1"), "−", m.sub("μ", "0")), m.sup("σ", "2")), "=", m.frac(m(m.num(bells.means[1], 2, "ex-c1"), "−", m.num(bells.means[0], 2, "ex-c0")), m.num(bells.variance, 2)), "=", m.num(bells.theta, 3)),
            formula(m.sub("θ", "0"), "=", m.frac(m(m.subsup("μ", "0", "2"), "−", m.subsup("μ", "1", "2")), m("2", m.sup("σ", "2"))), "+ log", m.text(" "), m.frac("φ", m("1 − φ")), "=", m.num(bells.constant, 3)),
          ];
      const main = events ? events : bells;
      return {
        formula: [
          formula("p ( y = 1 | x ) =", m.frac("1", m("1 +", m.sup("e", m("− ( θ x +", m.sub("θ", "0"), ")"))))),
          ...parameters,
          formula("p ( 1 |", m.num(state.x, 1), ") =", m.num(sigmoid(main.theta * state.x + main.constant), 3)),
          html(
            "table",
            { class: "ex-table" },
            html("thead", {}, html("tr", {}, ...["method", "θ", "½ at", `p at ${number(state.x, 1)}`].map((t) => html("th", { scope: "col" }, t)))),
            html("tbody", {}, ...Object.entries(methods).map(([name, [t, c]]) =>
              html("tr", {},
                html("th", { scope: "row" }, { gda: "GDA", logistic: "logistic", poisson: "Poisson" }[name]),
                html("td", {}, number(t, 3)), html("td", {}, number(-c / t)), html("td", {}, number(p[name], 3)),
              ),
            )),
          ),
          note(
            events
              ? "Poisson classes make a sigmoid too. GDA fits bells to counts all the same."
              : "All have the same form. GDA gets θ from means and a variance, logistic regression from the sides alone.",
          ),
        ],
        python: [
          "import numpy as np",
          `from genus import ${events ? "PoissonNB" : "GDA"}`,
          `x = np.array([${values.join(", ")}])`,
          `model = ${model}.fit(x[:, None], [0] * 8 + [1] * 8)`,
          "np.append(model.coef_, model.intercept_)   # θ and θ0",
        ].join("\n"),
        answer: [main.theta, main.constant],
        rival: [w, b],
        words: `The far point is at ${number(at, 1)}. GDA has θ ${number(bells.theta)} and crosses one half at ${number(-bells.constant / bells.theta)}; logistic regression has θ ${number(w)} and crosses at ${number(-b / w)}.`,
      };
    };
  },
});
