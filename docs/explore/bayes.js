// Bayes' rule: two bells, a prior, and an animal that is moved along the axis.

import { formula, m, note, number, percent, set, svg } from "./dom.js";
import { logNormal, logSumExp, softmax } from "./math.js";
import { controls, define, slider } from "./panel.js";
import { handle, plot } from "./plot.js";
import { numberField } from "./state.js";

const NAMES = ["dog", "elephant"];

define({
  name: "bayes",
  title: "Dog or elephant? Drag the animal, and both bells",
  fields: {
    m0: numberField(0.5, 0.2, 5.8, 0.01),
    s0: numberField(0.17, 0.1, 1.5, 0.01),
    m1: numberField(2.38, 0.2, 5.8, 0.01),
    s1: numberField(0.79, 0.1, 1.5, 0.01),
    prior: numberField(0.44, 0.01, 0.99, 0.01),
    x: numberField(0.9, 0, 6, 0.01),
  },
  presets: [
    { label: "A large dog", state: { x: 0.9 } },
    { label: "A giraffe", state: { x: 5.5 } },
    { label: "Rare elephants", state: { prior: 0.02, x: 1.05 } },
    { label: "Same width", state: { m0: 1.5, s0: 0.8, m1: 3.8, s1: 0.8, prior: 0.5, x: 2.6 } },
  ],
  question: {
    text: "A giraffe of 5.5 m walks in. The model knows dogs and elephants only. What does p(elephant | x) say?",
    choices: ["About ½: it is neither", "Nearly 1", "Nearly 0"],
    right: 1,
    why: "Dividing by p(x) makes the two add up to 1, however small both are. The giraffe is less unlike an elephant than a dog, so the posterior is sure. Only p(x) itself shows that it is unlike both.",
    show: { x: 5.5 },
  },
  build(panel) {
    const chart = plot(panel, {
      width: 420,
      height: 250,
      margin: { left: 34, bottom: 22 },
      x: [0, 6],
      y: [0, 1.5],
      yTicks: [0, 0.5, 1, 1.5],
      label: "p(x|y) p(y) of both classes over the height in metres",
    });
    const areas = [0, 1].map((k) => chart.add("path", { class: `ex-area ex-c${k}` }));
    const line = chart.add("line", { class: "ex-at" });
    const dots = [0, 1].map((k) => chart.add("circle", { r: 5, class: `ex-mark ex-c${k}` }));
    const below = plot(panel, {
      width: 420,
      height: 140,
      margin: { left: 34, top: 8 },
      x: [0, 6],
      y: [0, 1],
      yTicks: [0, 0.5, 1],
      xLabel: "height in metres",
      label: "p(elephant|x) over the height",
    });
    const curve = below.add("path", { class: "ex-curve ex-c1" });
    const here = below.add("line", { class: "ex-at" });
    const spot = below.add("circle", { r: 5, class: "ex-mark ex-c1" });
    const caption = svg("text", { x: below.box.right - 4, y: below.Y(0) - 8, "text-anchor": "end", class: "ex-label" }, "p(elephant | x)");
    below.svg.append(caption);
    const tags = NAMES.map((name, k) => {
      const tag = svg("text", { "text-anchor": "middle", class: `ex-tag ex-c${k}` }, name);
      chart.svg.append(tag);
      return tag;
    });
    const tops = NAMES.map((name, k) =>
      handle(chart, {
        label: `The mean of the ${name}s`,
        kind: `ex-c${k}`,
        step: 0.01,
        radius: 7,
        flat: true,
        move: (x) => panel.set({ [`m${k}`]: x }),
      }),
    );
    const sides = NAMES.map((name, k) =>
      handle(chart, {
        label: `One standard deviation of the ${name}s`,
        kind: `ex-c${k} ex-open`,
        step: 0.01,
        radius: 6,
        flat: true,
        move: (x) => panel.set({ [`s${k}`]: Math.abs(x - panel.state[`m${k}`]) }),
      }),
    );
    const animal = handle(chart, {
      label: "The height of the new animal",
      kind: "ex-probe",
      step: 0.01,
      flat: true,
      shape: svg("path", { d: "M0 -12 L10 6 H-10 Z", class: "ex-dot" }),
      move: (x) => panel.set({ x }),
    });
    panel.below.append(
      controls(
        slider(panel, "prior", "p(elephant)", (v) => percent(v)),
        slider(panel, "x", "height x", (v) => `${number(v)} m`),
      ),
    );
    return (state) => {
      const { m0, s0, m1, s1, prior, x } = state;
      const bells = [[m0, s0], [m1, s1]];
      const priors = [1 - prior, prior];
      const logJoint = (at) => bells.map(([mean, s], k) => Math.log(priors[k]) + logNormal(at, mean, s * s));
      const tallest = Math.max(...bells.map(([, s], k) => priors[k] / (s * Math.sqrt(2 * Math.PI))));
      const high = [0.5, 1, 1.5, 2, 4].find((h) => h >= tallest * 1.12) ?? 4;
      if (chart.y[1] !== high) {
        chart.y = [0, high];
        chart.axes();
      }
      const joint = logJoint(x).map(Math.exp);
      const logEvidence = logSumExp(logJoint(x));
      const posterior = softmax(logJoint(x));
      bells.forEach(([mean, s], k) => {
        const height = (v) => Math.exp(logJoint(v)[k]);
        areas[k].setAttribute("d", `${chart.curve(height, 300)}L${chart.X(6)} ${chart.Y(0)}L${chart.X(0)} ${chart.Y(0)}Z`);
        tops[k].put(mean, height(mean), `mean ${number(mean)} m`);
        const side = mean + s <= 5.95 ? mean + s : mean - s;
        sides[k].put(side, height(side), `standard deviation ${number(s)} m`);
        set(tags[k], { x: chart.X(mean), y: chart.Y(height(mean)) - 13 });
        set(dots[k], { cx: chart.X(x), cy: chart.Y(joint[k]) });
      });
      curve.setAttribute("d", below.curve((v) => softmax(logJoint(v))[1], 300));
      set(line, { x1: chart.X(x), x2: chart.X(x), y1: chart.box.top, y2: chart.box.bottom });
      set(here, { x1: below.X(x), x2: below.X(x), y1: below.box.top, y2: below.box.bottom });
      set(spot, { cx: below.X(x), cy: below.Y(posterior[1]) });
      animal.put(x, 0, `${number(x)} metres: ${percent(posterior[1])} elephant`);
      const wide = 110;
      const bars = svg(
        "svg",
        { viewBox: "0 0 300 96", class: "ex-bars", role: "img", "aria-label": `p(dog|x) is ${percent(posterior[0])}, p(elephant|x) ${percent(posterior[1])}` },
        ...[0, 1].map((k) =>
          svg("g", {},
            svg("rect", { x: 0, y: k * 16, height: 12, width: Math.max(0, (joint[k] / high) * wide), class: `ex-fill ex-c${k}` }),
            svg("text", { x: (joint[k] / high) * wide + 6, y: k * 16 + 11 }, `p(x|${NAMES[k]}) p(${NAMES[k]}) = ${number(joint[k], 4)}`),
          ),
        ),
        svg("text", { x: 0, y: 50, class: "ex-label" }, "both divided by p(x):"),
        svg("rect", { x: 0, y: 58, height: 18, width: 300 * posterior[0], class: "ex-fill ex-c0" }),
        svg("rect", { x: 300 * posterior[0], y: 58, height: 18, width: 300 * posterior[1], class: "ex-fill ex-c1" }),
        svg("text", { x: 0, y: 90 }, `dog ${percent(posterior[0])}`),
        svg("text", { x: 300, y: 90, "text-anchor": "end" }, `elephant ${percent(posterior[1])}`),
      );
      const winner = posterior[1] > posterior[0] ? 1 : 0;
      const unlike = logEvidence < -6;
      return {
        formula: [
          bars,
          formula(
            "p ( y | x ) =", m.frac(m("p ( x | y ) p ( y )"), m("p ( x )")),
          ),
          formula(
            "p (", m.word(NAMES[1]), "| x ) =",
            m.frac(m.num(joint[1], 4, "ex-c1"), m(m.num(joint[0], 4, "ex-c0"), "+", m.num(joint[1], 4, "ex-c1"))),
            "=", m.num(posterior[1], 3),
          ),
          formula("log", m.text(" "), "p ( x ) =", m.num(logEvidence, 2)),
          note(
            unlike
              ? "This animal is unlike both: p(x) is tiny, and yet the two shares add up to 1."
              : `The larger product wins, ${NAMES[winner]}: to decide, nobody has to divide by p(x).`,
          ),
        ],
        python: [
          "import numpy as np",
          "from genus import MultivariateNormal",
          `bells = MultivariateNormal(${m0}, ${s0} ** 2), MultivariateNormal(${m1}, ${s1} ** 2)`,
          `joint = np.array([bell.density(${x}) for bell in bells]) * [1 - ${prior}, ${prior}]`,
          "joint / joint.sum()",
        ].join("\n"),
        answer: posterior,
        words: `At ${number(x)} metres the animal is a dog with ${percent(posterior[0])} and an elephant with ${percent(posterior[1])}. The logarithm of p(x) is ${number(logEvidence, 1)}${unlike ? ": it is unlike both" : ""}.`,
      };
    };
  },
});
