// Smoothing: λ and m over the same counts; "nips", giraffe and choir, the stolen cars.

import { formula, html, m, note, number, percent, svg } from "./dom.js";
import { jointFromShares, smoothed, sum } from "./math.js";
import { choice, controls, define, slider } from "./panel.js";
import { choiceField, numberField, textField } from "./state.js";

// Rows of bits by class. A class without rows is there to show what no data gives.
export const SCENES = {
  seven: {
    title: "seven rows",
    features: ["x₁", "x₂"],
    classes: ["1", "2", "3", "4"],
    rows: [["01", 0], ["10", 1], ["10", 2], ["00", 1], ["00", 1], ["01", 0], ["10", 0]],
    x: "10",
    told: "Class 4 has no rows at all: its shares are 0/0, and ½ as soon as λ is more than 0.",
  },
  nips: {
    title: "“nips”",
    features: ["buy", "paper", "nips"],
    classes: ["ham", "spam"],
    rows: [["100", 1], ["110", 1], ["010", 0], ["000", 0], ["110", 0]],
    x: "011",
    told: "No message had “nips”. With λ = 0 both products are 0, and 0/0 decides nothing.",
  },
  giraffe: {
    title: "giraffe and choir",
    features: ["giraffe", "choir", "song"],
    classes: ["music", "zoo"],
    rows: [["011", 0], ["010", 0], ["011", 0], ["001", 0], ["100", 1], ["100", 1], ["001", 1]],
    x: "110",
    told: "“giraffe” never came in music, “choir” never in the zoo: with λ = 0 a text with both is impossible twice.",
  },
  cars: {
    title: "stolen cars",
    features: ["Red", "SUV", "Domestic"],
    classes: ["No", "Yes"],
    rows: [["101", 1], ["101", 0], ["101", 1], ["001", 0], ["000", 1], ["010", 0], ["010", 1], ["011", 0], ["110", 0], ["100", 1]],
    x: "111",
    told: "Is a red domestic SUV stolen? With m = 3 and p = ½ the notes get .03845 to .06921: no.",
  },
};

export function count({ features, classes, rows }) {
  const totals = classes.map((_, k) => rows.filter((r) => r[1] === k).length);
  const counts = classes.map((_, k) =>
    features.map((_, j) => rows.filter(([bits, c]) => c === k && bits[j] === "1").length),
  );
  return { totals, counts };
}

// The posterior of a row of bits. Without smoothing, a value that no class has ever had is left out
// as genus does; if every class rules the row out, the shares of the classes are what is left.
export function posterior(scene, bits, alpha) {
  const { totals, counts } = count(scene);
  const all = sum(totals);
  const known = totals.map((n) => n > 0);
  const priors = totals.map((n) => n / all);
  const had = (k, j) => (bits[j] === "1" ? counts[k][j] : totals[k] - counts[k][j]);
  const left = scene.features.map((_, j) => alpha > 0 || totals.some((_, k) => had(k, j) > 0));
  const shares = totals.map((n, k) =>
    known[k] ? scene.features.map((_, j) => (left[j] ? smoothed(had(k, j), n, alpha, 2) : 1)) : [0],
  );
  const joint = jointFromShares(priors, shares);
  const total = sum(joint);
  const raw = jointFromShares(
    priors,
    totals.map((n, k) => (known[k] ? scene.features.map((_, j) => smoothed(had(k, j), n, alpha, 2)) : [0])),
  );
  return { joint: raw, posterior: total > 0 ? joint.map((v) => v / total) : priors, out: left.map((l) => !l), impossible: total === 0 };
}

define({
  name: "smoothing",
  title: "Add λ to each count, and watch the shares move",
  fields: {
    scene: choiceField("nips", Object.keys(SCENES)),
    lambda: numberField(0, 0, 10, 0.05),
    x: textField("", 4),
    pick: numberField(0, 0, 11, 1),
  },
  mend: (state) => {
    const scene = SCENES[state.scene];
    const sound = /^[01]*$/.test(state.x) && state.x.length === scene.features.length;
    const pick = state.pick < scene.features.length * scene.classes.length ? state.pick : 0;
    return { ...state, x: sound ? state.x : scene.x, pick };
  },
  presets: [
    { label: "λ = 0", state: { lambda: 0 } },
    { label: "Laplace, λ = 1", state: { lambda: 1 } },
    { label: "Cars, m = 3", state: { scene: "cars", x: "111", lambda: 1.5, pick: 1 } },
    { label: "Without data", state: { scene: "seven", x: "10", lambda: 1, pick: 3 } },
  ],
  question: {
    text: "A class has no rows at all, so its share of any word is 0/0. What is it after adding λ to each of the two counts?",
    choices: ["0", "½", "It depends on λ"],
    right: 1,
    why: "(0 + λ) / (0 + 2λ) = ½ for any λ above 0. The guess is all there is. With rows, the share lies between what was counted and ½.",
    show: { scene: "seven", x: "10", lambda: 1, pick: 3 },
  },
  build(panel) {
    const chart = html("div", { class: "ex-evidence" });
    const chips = html("div", { class: "ex-chips", role: "group", "aria-label": "The new row" });
    panel.picture.append(chart);
    const double = html("input", {
      type: "range", min: 0, max: 20, step: 0.1, "data-field": "m",
      oninput: () => panel.set({ lambda: Number(double.value) / 2 }),
    });
    const shown = html("output", {});
    panel.follow((state) => {
      double.value = 2 * state.lambda;
      shown.textContent = number(2 * state.lambda, 1);
      double.setAttribute("aria-valuetext", `m ${number(2 * state.lambda, 1)}`);
    });
    panel.below.append(
      controls(choice(panel, "scene", "The counts", Object.fromEntries(Object.entries(SCENES).map(([k, s]) => [k, s.title])), (scene) => ({ x: SCENES[scene].x, pick: 0 }))),
      controls(
        slider(panel, "lambda", "λ for each value", (v) => number(v)),
        html("label", { class: "ex-slider" }, html("span", {}, "or m = 2λ rows of ½"), double, shown),
      ),
      controls(html("span", { class: "ex-heading" }, "The new row has"), chips),
    );
    return (state) => {
      const scene = SCENES[state.scene];
      const { totals, counts } = count(scene);
      const { lambda } = state;
      const found = posterior(scene, state.x, lambda);
      const K = scene.classes.length;
      chips.replaceChildren(
        ...scene.features.map((name, j) =>
          html("button", {
            type: "button",
            class: "ex-button ex-chip",
            "aria-pressed": String(state.x[j] === "1"),
            onclick: () => {
              panel.set({ x: [...state.x].map((b, i) => (i === j ? String(1 - Number(b)) : b)).join("") });
              chips.children[j].focus();
            },
          }, name),
        ),
      );
      // A line for each feature and class: from what was counted to what is estimated.
      const [left, right, step] = [166, 388, 22];
      const X = (v) => left + v * (right - left);
      const lines = [];
      let y = 26;
      scene.features.forEach((feature, j) => {
        scene.classes.forEach((name, k) => {
          const index = j * K + k;
          const raw = counts[k][j] / totals[k];
          const now = smoothed(counts[k][j], totals[k], lambda, 2);
          const select = () => {
            panel.set({ pick: index });
            chart.querySelector(`[data-pick="${index}"]`)?.focus({ preventScroll: true });
          };
          lines.push(
            svg(
              "g",
              {
                class: `ex-pick ex-c${k % 4} ${index === state.pick ? "ex-picked" : ""}`,
                tabindex: "0",
                role: "button",
                "data-pick": index,
                "aria-pressed": String(index === state.pick),
                "aria-label": `${feature} ${name} ${counts[k][j]}/${totals[k]}, estimate ${number(now, 3)}`,
                onclick: select,
                onkeydown: (event) => {
                  if (event.key !== "Enter" && event.key !== " ") return;
                  event.preventDefault();
                  select();
                },
              },
              svg("rect", { x: 0, y: y - 11, width: 400, height: step, class: "ex-target" }),
              svg("text", { x: 4, y: y + 4, class: "ex-strong" }, k ? "" : `${feature} `),
              svg("text", { x: 82, y: y + 4 }, `${name} `),
              svg("text", { x: left - 14, y: y + 4, "text-anchor": "end", class: "ex-tick" }, `${counts[k][j]}/${totals[k]}`),
              ...(Number.isNaN(raw) ? [] : [
                svg("line", { x1: X(raw), x2: X(now), y1: y, y2: y, class: "ex-pull" }),
                svg("circle", { cx: X(raw), cy: y, r: 4.5, class: "ex-hollow" }),
              ]),
              ...(Number.isNaN(now)
                ? [svg("text", { x: X(0.5), y: y + 4, "text-anchor": "middle" }, "0/0")]
                : [svg("circle", { cx: X(now), cy: y, r: 5.5, class: "ex-full" })]),
            ),
          );
          y += step;
        });
        y += 8;
      });
      chart.replaceChildren(
        svg(
          "svg",
          { viewBox: `0 0 400 ${y + 4}`, role: "group", "aria-label": "Shares: counted (ring) and smoothed (dot)" },
          ...[0, 0.5, 1].flatMap((v) => [
            svg("line", { x1: X(v), x2: X(v), y1: 14, y2: y - 6, class: v === 0.5 ? "ex-half" : "ex-grid" }),
            svg("text", { x: X(v), y: 10, "text-anchor": "middle", class: "ex-tick" }, v === 0.5 ? "½" : String(v)),
          ]),
          ...lines,
        ),
      );
      const j = Math.floor(state.pick / K);
      const k = state.pick % K;
      const estimate = smoothed(counts[k][j], totals[k], lambda, 2);
      const shownClasses = scene.classes.map((name, c) => [name, c]).filter(([, c]) => totals[c]);
      const bar = html("div", { class: "ex-shares" }, ...shownClasses.map(([name, c]) => {
        const part = html("span", { class: `ex-c${c % 4}` }, found.posterior[c] > 0.14 ? `${name} ${percent(found.posterior[c])}` : "");
        part.style.width = `${100 * found.posterior[c]}%`;
        return part;
      }));
      const zero = found.joint.every((v) => v === 0);
      return {
        formula: [
          formula(m.sub("φ", m(m.word(scene.features[j]), "|", m.word(scene.classes[k]))), "=", m.frac(m(m.sub("n", "c"), "+ λ"), m("n + 2 λ"))),
          formula("=", m.frac(m(m.num(String(counts[k][j]), 0, `ex-c${k % 4}`), "+", m.num(lambda)), m(m.num(String(totals[k]), 0, `ex-c${k % 4}`), "+ 2 ·", m.num(lambda))), "=", m.num(estimate, 4)),
          formula("=", m.frac(m(m.sub("n", "c"), "+ m p"), m("n + m")), m.text(" with "), "m =", m.num(2 * lambda, 1), m.text(", "), "p = ½"),
          note("The products p(y) ∏ p(xⱼ|y) of the new row:"),
          ...shownClasses.map(([name, c]) => formula(m.word(name), ":", m.num(found.joint[c], 5, `ex-c${c % 4}`))),
          bar,
          note(
            found.impossible
              ? "0/0: every class rules the row out. genus answers with the shares of the classes, and warns."
              : zero
                ? `0/0. genus leaves out ${scene.features.filter((_, i) => found.out[i]).map((f) => `“${f}”`).join(", ")}, which no class has ever had, and never answers NaN.`
                : scene.told,
          ),
        ],
        python: snippet(scene, state),
        answer: found.posterior.filter((_, c) => totals[c]),
        words: `λ is ${number(lambda)}. ${scene.features[j]} in class ${scene.classes[k]}: ${counts[k][j]} of ${totals[k]}, smoothed ${number(estimate, 3)}. The new row: ${shownClasses.map(([name, c]) => `${name} ${percent(found.posterior[c])}`).join(", ")}.`,
      };
    };
  },
});

function snippet(scene, { lambda, x }) {
  const bits = (text) => `[${[...text].join(", ")}]`;
  const names = scene.rows.map(([, k]) => JSON.stringify(scene.classes[k])).join(", ");
  return [
    "from genus import BernoulliNB",
    `X = [${scene.rows.map(([b]) => bits(b)).join(", ")}]   # ${scene.features.join(", ")}`,
    `y = [${names}]`,
    `BernoulliNB(alpha=${lambda}).fit(X, y).predict_proba([${bits(x)}])`,
  ].join("\n");
}
