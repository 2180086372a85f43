// Scores: how good the predictions are; a threshold and costs to drag, and what decisions cost.

import { html, number, percent } from "./dom.js";
import { SMALL, calibration, chart, dash } from "./charts.js";
import { get, post, resting } from "./server.js";
import { button, card, colourOf, interval, label, nameOf, note, replace, score, select, slider } from "./widgets.js";

const HIGHER = new Set(["accuracy", "balanced accuracy", "F1", "ROC AUC", "PR AUC"]);
const TOLD = {
  accuracy: "share of correct predictions",
  "balanced accuracy": "mean recall of the classes",
  F1: "harmonic mean of precision and recall, averaged over classes",
  "log loss": "less is better",
  "Brier score": "squared error of probabilities; less is better",
  "ROC AUC": "how often a row of a class ranks above one of another class",
  "PR AUC": "mean precision over all recalls",
};

// A model from a file has kept two scores of its own sample of rows, but not the predictions.
const kept = ({ scores }) =>
  scores
    ? `Out of fold, on a sample of ${scores.rows.toLocaleString("en")} rows, the model had an accuracy of ${score(scores.accuracy[0])} and a log loss of ${score(scores["log loss"][0])}. For more scores, start with rows that it has not seen: genus studio MODEL DATA.`
    : "There are no scores of this model.";

export function screen(app, root) {
  let found = null;
  let rule = null;
  let asked = null; // the rule that the server has not answered yet
  let turn = 0; // counts rules, so that an answer to an older one is not taken for the newest
  let dials = null;
  const effects = html("div", {});
  const decision = html("div", {}, effects);
  const curves = html("div", { class: "charts" });

  const ruleOf = (d) => ({ threshold: d.threshold, costs: d.costs, positive: d.positive });

  const send = resting(async () => {
    const sent = rule;
    try {
      const decided = await post("decide", sent);
      found = { ...found, decided };
      drawDecision();
      drawCurves();
    } catch (error) {
      app.refused = error.message;
    }
    if (asked === sent) asked = null;
  }, 40);

  function decide(more) {
    rule = asked = { ...rule, ...more };
    turn += 1;
    send();
  }

  // Sliders stay where they are while they are dragged; only their values change.
  function dial(words, key, range, told, change) {
    const output = html("output", {});
    const control = slider(words.map((w) => (typeof w === "string" ? w : w.textContent)).join(""), { ...range, value: range.low }, change, { "data-key": key });
    return {
      element: html("div", { class: "dial" }, html("p", {}, html("span", {}, ...words), " ", output), control),
      put(value) {
        output.textContent = told(value);
        if (control !== document.activeElement || Math.abs(Number(control.value) - value) > 1e-9) control.value = value;
      },
    };
  }

  function makeDials() {
    const { state } = app;
    const [no, yes] = found.classes;
    const key = JSON.stringify([no, yes, nameOf(state, no), nameOf(state, yes)]);
    if (dials?.key === key) return;
    const threshold = dial(["Choose ", label(state, yes), " from a probability of"], "threshold", { low: 0, high: 1, step: 0.01 }, (v) => percent(v, 0), (v) => decide({ threshold: v }));
    const first = dial([label(state, no), " taken for ", label(state, yes), " costs"], "cost01", { low: 0, high: 20, step: 0.5 }, (v) => number(v, 1), (v) => cost(0, 1, v));
    const second = dial([label(state, yes), " taken for ", label(state, no), " costs"], "cost10", { low: 0, high: 20, step: 0.5 }, (v) => number(v, 1), (v) => cost(1, 0, v));
    // Which of two classes is of interest: threshold, curves and costs then refer to it.
    const interest = select("Class of interest", [no, yes].sort((a, b) => a - b).map((k) => [k, nameOf(state, k)]), yes, async (value) => {
      const { threshold, costs } = rule;
      const swapped = [[costs[1][1], costs[1][0]], [costs[0][1], costs[0][0]]];
      await app.ask("decide", { threshold: threshold === null ? null : Math.round(1e6 * (1 - threshold)) / 1e6, costs: swapped, positive: Math.min(no, yes) === Number(value) ? 0 : 1 });
    }, { "data-key": "interest" });
    const cheapest = button("Cheapest threshold", () => decide({ threshold: null }), { "data-key": "cheapest" });
    const reset = button("Reset", () => decide({ threshold: null, costs: [[0, 1], [1, 0]] }), { class: "button quiet", "data-key": "reset" });
    dials = {
      key,
      element: html("div", {}, html("p", { class: "interest" }, html("label", {}, "Class of interest ", interest)), html("div", { class: "dials" }, threshold.element, first.element, second.element), html("p", { class: "buttons" }, cheapest, reset)),
      put() {
        threshold.put(rule.threshold ?? Math.round(100 * (found.decided.cheapest ?? 0.5)) / 100);
        first.put(rule.costs[0][1]);
        second.put(rule.costs[1][0]);
        cheapest.setAttribute("aria-pressed", String(rule.threshold === null));
      },
    };
    decision.replaceChildren(dials.element, effects);
  }

  function drawDecision() {
    const { state } = app;
    const d = found.decided;
    const K = found.classes.length;
    const parts = [];
    if (K === 2) {
      makeDials();
      if (!asked) rule = ruleOf(d);
      dials.put();
    } else if (K <= 8)
      parts.push(note("Costs by true class (row) and predicted class (column); the class with the lowest expected cost is chosen."), costTable());
    const c = d.cost;
    parts.push(
      html("p", { class: "outcome" },
        html("strong", {}, `Expected cost ${number(c.value, 3)}`), html("span", {}, ` per row (95 %: ${number(c.low, 3)} to ${number(c.high, 3)}); `),
        html("span", {}, `always predicting the same class costs ${number(c.baseline, 3)}. `), html("span", {}, `${percent(d.accuracy, 1)} of predictions are correct.`)),
      html("div", { class: K === 2 ? "pair" : "" }, d.cells ? matrix(d) : confusedList(d), K === 2 ? costCurve(d) : null));
    replace(effects, ...parts);
  }

  function cost(i, j, value) {
    const costs = rule.costs.map((row) => [...row]);
    costs[i][j] = value;
    decide({ costs });
  }

  function costTable() {
    const names = found.classes.map((k) => nameOf(app.state, k));
    return html("div", { class: "scroll", "data-scroll": "costs", tabindex: "0", role: "region", "aria-label": "Costs" },
      html("table", { class: "matrix" },
        html("thead", {}, html("tr", {}, html("td", {}), ...found.classes.map((k) => html("th", { scope: "col" }, label(app.state, k))))),
        html("tbody", {}, ...found.classes.map((k, i) => html("tr", {}, html("th", { scope: "row" }, label(app.state, k)),
          ...found.classes.map((_, j) => {
            if (i === j) return html("td", {}, "0");
            const input = html("input", { type: "number", min: 0, step: 0.5, "aria-label": `Cost of predicting ${names[j]} for ${names[i]}`, "data-key": `cost-${i}-${j}` });
            input.value = rule.costs[i][j];
            input.addEventListener("input", () => Number.isFinite(input.valueAsNumber) && cost(i, j, input.valueAsNumber));
            return html("td", {}, input);
          }))))));
  }

  function matrix(d) {
    const shade = (i, j) => {
      const n = d.cells[i][j];
      if (!n) return "";
      return `${i === j ? "right" : "wrong"}-${Math.min(3, Math.max(1, Math.ceil((3 * n) / Math.max(1, d.true[i]))))}`;
    };
    return html("div", { class: "scroll", "data-scroll": "matrix", tabindex: "0", role: "region", "aria-label": "Confusion matrix" },
      html("table", { class: "matrix" }, html("caption", {}, "Rows by true class (row) and predicted class (column)"),
        html("thead", {}, html("tr", {}, html("td", {}), ...found.classes.map((k) => html("th", { scope: "col" }, label(app.state, k))), html("th", { scope: "col" }, "recall"))),
        html("tbody", {}, ...found.classes.map((k, i) => html("tr", {}, html("th", { scope: "row" }, label(app.state, k)),
          ...found.classes.map((_, j) => html("td", { class: `cell ${shade(i, j)}` }, d.cells[i][j].toLocaleString("en"))),
          html("td", {}, d.recall[i] === null ? "–" : percent(d.recall[i], 0)))),
          html("tr", {}, html("th", { scope: "row" }, "precision"), ...found.classes.map((_, j) => html("td", {}, d.precision[j] === null ? "–" : percent(d.precision[j], 0))), html("td", {})))));
  }

  const confusedList = (d) =>
    html("table", { class: "plain words-first" }, html("caption", {}, "Confused most often"),
      html("thead", {}, html("tr", {}, html("th", { scope: "col" }, "class"), html("th", { scope: "col" }, "taken for"), html("th", { scope: "col" }, "rows"))),
      html("tbody", {}, ...d.confused.map(([i, j, n]) => html("tr", {}, html("td", {}, label(app.state, found.classes[i])), html("td", {}, label(app.state, found.classes[j])), html("td", {}, n.toLocaleString("en"))))));

  function costCurve(d) {
    const top = Math.max(1e-9, ...d.costOf) * 1.05;
    const threshold = rule.threshold ?? d.cheapest ?? 0.5;
    return chart({ width: 420, height: 230, x: [0, 1], y: [0, top], xLabel: "threshold", yLabel: "cost per row", label: "Expected cost by threshold",
      lines: [{ points: d.thresholds.map((t, i) => [t, d.costOf[i]]), kind: "c0" }, { points: [[threshold, 0], [threshold, top]], kind: "zero" }],
      dots: [{ x: threshold, y: d.cost.value, kind: "c1", r: 5 }], said: `At ${percent(threshold)} a row costs ${number(d.cost.value, 3)}` });
  }

  function drawCurves() {
    const { state } = app;
    const { decided: d } = found;
    const whose = found.of === null ? "the most probable class" : nameOf(state, found.of);
    const point = (p) => (p && p.every((v) => v !== null) ? [{ x: p[0], y: p[1], kind: "c1", r: 5 }] : []);
    replace(curves,
      card("Calibration", calibration(found.reliability, whose), note(`How often a probability of ${whose} comes true. Mean difference ${percent(found.calibrationError, 1)}.`)),
      card("ROC", chart({ ...SMALL, x: [0, 1], y: [0, 1], xLabel: "false positive rate", yLabel: "true positive rate", label: "ROC curve",
        lines: [{ points: [[0, 0], [1, 1]], kind: "zero" }, ...found.rocs.map((c) => ({ points: c.x.map((x, i) => [x, c.y[i]]), kind: colourOf(state, c.class), dash: found.rocs.length > 1 ? dash(state, c.class) : undefined }))],
        dots: point(d.point), said: found.rocs.map((c) => `${nameOf(state, c.class)}: area ${number(c.area, 3)}`).join("; ") }),
        note(...found.rocs.flatMap((c, i) => [i ? ", " : "", label(state, c.class), ` ${number(c.area, 3)}`]))),
      card("Precision and recall", chart({ ...SMALL, x: [0, 1], y: [0, 1], xLabel: "recall", yLabel: "precision", label: "Precision-recall curve",
        lines: [...found.prs.map((c) => ({ points: c.x.map((x, i) => [x, c.y[i]]), kind: colourOf(state, c.class), dash: found.prs.length > 1 ? dash(state, c.class) : undefined })),
          ...(found.prs.length === 1 ? [{ points: [[0, found.prs[0].share], [1, found.prs[0].share]], kind: "zero" }] : [])],
        dots: point(d.precisionPoint), said: "Precision by recall" }), found.prs.length === 1 ? note("The orange dot is the decision above.") : null));
  }

  return {
    async refresh() {
      if (!("target" in app.state)) return;
      const [before, wasAsked] = [turn, asked];
      let next = await get("scores");
      if (next && found && (turn !== before || wasAsked)) next = { ...next, decided: found.decided };
      if (!next) {
        if (!found) replace(root, html("h1", {}, "Scores"), html("p", { class: "lead waiting" }, app.state.job ? "The scores are being computed." : kept(app.state)));
        else root.classList.add("stale");
        return;
      }
      root.classList.remove("stale");
      const same = found && JSON.stringify({ ...next, decided: 0 }) === JSON.stringify({ ...found, decided: 0 });
      found = next;
      rule = asked ?? ruleOf(next.decided);
      if (same) {
        drawDecision();
        drawCurves();
        return;
      }
      const tiles = next.scores.map((s) => {
        const most = HIGHER.has(s.name) ? 1 : Math.max(s.high ?? s.value, s.baseline ?? 0) * 1.15 || 1;
        return html("div", { class: "tile" }, html("h2", {}, s.name, s.of === null ? null : [" of ", label(app.state, s.of)]), html("p", { class: "big" }, score(s.value)),
          interval(s, most),
          html("p", { class: "muted" }, s.low === null ? "" : `95 %: ${score(s.low)} to ${score(s.high)}`),
          html("p", { class: "muted" }, `${TOLD[s.name] ?? ""}${s.of === null && s.name === "PR AUC" ? ", averaged over classes" : ""}; baseline ${score(s.baseline)}`));
      });
      replace(root, html("h1", {}, "Scores"), html("p", { class: "lead" }, next.how),
        html("div", { class: "tiles" }, ...tiles),
        note("The baseline chooses ", label(app.state, next.commonest), ", the most frequent class, for every row, with the shares of the classes as probabilities. Bars are 95 % intervals."),
        card("Decide", decision), curves);
      drawDecision();
      drawCurves();
    },
  };
}
