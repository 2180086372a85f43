// The normal distribution: drag the mean and the axes of the ellipse; Σ, ρ and the hill follow.

import { formula, html, m, note, number, svg } from "./dom.js";
import { determinant, eigen, fromAxes, logNormal2 } from "./math.js";
import { controls, define, paintWithTheme, slider } from "./panel.js";
import { ellipse, handle, plot } from "./plot.js";
import { numberField } from "./state.js";

const identity = { mx: 0, my: 0, s11: 1, s12: 0, s22: 1 };

// The density as a hill, seen from a corner: squares painted from the back.
function hill(canvas, root) {
  const [width, height] = [600, 330];
  canvas.width = width;
  canvas.height = height;
  const steps = 28;
  const at = (i) => -4 + (8 * i) / steps;
  return (mean, sigma) => {
    const style = getComputedStyle(root);
    const [fill, line] = [style.getPropertyValue("--ex-panel"), style.getPropertyValue("--class-0")];
    const context = canvas.getContext("2d");
    context.clearRect(0, 0, width, height);
    context.lineJoin = "round";
    const place = (x, y, z) => [
      width / 2 + (x - y) * 34,
      205 + (x + y) * -13 - Math.min(z, 0.42) * 560,
    ];
    const heights = [];
    for (let i = 0; i <= steps; i++) {
      heights.push([]);
      for (let j = 0; j <= steps; j++)
        heights[i].push(Math.exp(logNormal2([at(i), at(j)], mean, sigma)));
    }
    for (let i = steps - 1; i >= 0; i--)
      for (let j = steps - 1; j >= 0; j--) {
        const corners = [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]];
        context.beginPath();
        corners.forEach(([a, b], k) => {
          const [px, py] = place(at(a), at(b), heights[a][b]);
          if (k) context.lineTo(px, py);
          else context.moveTo(px, py);
        });
        context.closePath();
        context.globalAlpha = 1;
        context.fillStyle = fill;
        context.fill();
        context.globalAlpha = Math.min(0.06 + heights[i][j] * 4.5, 0.9);
        context.fillStyle = line;
        context.fill();
        context.globalAlpha = 0.45;
        context.strokeStyle = line;
        context.lineWidth = 1;
        context.stroke();
      }
    context.globalAlpha = 1;
  };
}

define({
  name: "normal",
  title: "Drag the bell: the mean and the two axes",
  fields: {
    mx: numberField(0, -3, 3, 0.05),
    my: numberField(0, -3, 3, 0.05),
    s11: numberField(1, 0.1, 5, 0.01),
    s12: numberField(0, -4, 4, 0.01),
    s22: numberField(1, 0.1, 5, 0.01),
    px: numberField(1, -4, 4, 0.05),
    py: numberField(1, -4, 4, 0.05),
  },
  // A covariance is bounded by the variances: |ρ| < 1.
  mend: (state) => {
    const most = Math.floor(0.97 * Math.sqrt(state.s11 * state.s22) * 100) / 100;
    return { ...state, s12: Math.min(Math.max(state.s12, -most), most) };
  },
  presets: [
    { label: "Σ = I", state: identity },
    { label: "Σ = 0.6 I", state: { ...identity, s11: 0.6, s22: 0.6 } },
    { label: "Σ = 2 I", state: { ...identity, s11: 2, s22: 2 } },
    { label: "σ₁₂ = 0.8", state: { ...identity, s12: 0.8 } },
    { label: "σ₁₂ = −0.8", state: { ...identity, s12: -0.8 } },
    { label: "σ₁₁ = 3", state: { ...identity, s11: 3, s12: 0.8 } },
  ],
  question: {
    text: "Start from Σ = I and make both axes of the ellipse twice as long. How high is the top of the hill then?",
    choices: ["Half as high", "A quarter as high", "As high as before"],
    right: 1,
    why: "The volume under the hill is always 1. Twice as long and twice as wide is four times the area, so a quarter of the height is left. Σ becomes 4 I: variances are squares of lengths.",
    show: { ...identity, s11: 4, s22: 4 },
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
      label: "Contours of the density over x₁ and x₂",
    });
    const rings = [3, 2, 1].map((radius) => [
      radius,
      chart.add("path", { class: "ex-ring" }),
    ]);
    const axes = [0, 1].map(() => chart.add("line", { class: "ex-eigen" }));
    const centre = handle(chart, {
      label: "The mean μ",
      kind: "ex-c0",
      step: 0.05,
      radius: 9,
      move: (x, y) => panel.set({ mx: x, my: y }),
    });
    // Pulling an axis turns the ellipse and stretches it along that axis alone: the other keeps the
    // length that it had when the axis was grabbed.
    let grabbed = null;
    const ends = ["long", "short"].map((which, i) =>
      handle(chart, {
        label: `The end of the ${which} axis`,
        kind: "ex-open",
        step: 0.05,
        radius: 7,
        onPick: () => (grabbed = eigen(sigmaOf(panel.state))),
        move: (x, y) => {
          const { values } = grabbed ?? eigen(sigmaOf(panel.state));
          const [u, v] = [x - panel.state.mx, y - panel.state.my];
          const length = Math.min(Math.max(u * u + v * v, 0.12), 5);
          const pair = i ? [values[0], length] : [length, values[1]];
          const angle = Math.atan2(v, u) - (i ? Math.PI / 2 : 0);
          const [s11, s12, s22] = fromAxes(pair, angle);
          panel.set({ s11, s12, s22 });
        },
      }),
    );
    for (const { element } of ends)
      element.addEventListener("lostpointercapture", () => (grabbed = null));
    const probe = handle(chart, {
      label: "The point x at which the density is taken",
      kind: "ex-probe",
      step: 0.05,
      shape: svg("path", { d: "M-7 0H7M0 -7V7", class: "ex-cross" }),
      move: (x, y) => panel.set({ px: x, py: y }),
    });
    const canvas = html("canvas", { class: "ex-hill", role: "img", "aria-label": "The density as a hill" });
    const paint = hill(canvas, panel.root);
    const sigmaOf = ({ s11, s12, s22 }) => [s11, s12, s22];
    const repaint = () => paint([panel.state.mx, panel.state.my], sigmaOf(panel.state));
    paintWithTheme(repaint);
    panel.below.append(
      controls(
        slider(panel, "s11", "σ₁₁", (v) => number(v)),
        slider(panel, "s12", "σ₁₂", (v) => number(v)),
        slider(panel, "s22", "σ₂₂", (v) => number(v)),
      ),
    );
    return (state) => {
      const { mx, my, s11, s12, s22, px, py } = state;
      const sigma = sigmaOf(state);
      const shape = eigen(sigma);
      const [large, small] = shape.values;
      rings.forEach(([radius, path]) => path.setAttribute("d", ellipse(chart, [mx, my], shape, radius)));
      const along = (i, way = 1) => {
        const angle = shape.angle + (i ? Math.PI / 2 : 0);
        const length = way * Math.sqrt(shape.values[i]);
        return [mx + length * Math.cos(angle), my + length * Math.sin(angle)];
      };
      [0, 1].forEach((i) => {
        const [from, to] = [along(i, -1), along(i)];
        axes[i].setAttribute("x1", chart.X(from[0]));
        axes[i].setAttribute("y1", chart.Y(from[1]));
        axes[i].setAttribute("x2", chart.X(to[0]));
        axes[i].setAttribute("y2", chart.Y(to[1]));
        ends[i].put(...to, `${number(Math.sqrt(shape.values[i]))} long`);
      });
      centre.put(mx, my, `x₁ ${number(mx)}, x₂ ${number(my)}`);
      const density = Math.exp(logNormal2([px, py], [mx, my], sigma));
      probe.put(px, py, `x₁ ${number(px)}, x₂ ${number(py)}, density ${number(density, 4)}`);
      repaint();
      const rho = s12 / Math.sqrt(s11 * s22);
      const top = 1 / (2 * Math.PI * Math.sqrt(determinant(sigma)));
      const area = Math.PI * Math.sqrt(determinant(sigma));
      const entry = (v) => m.num(v);
      return {
        formula: [
          canvas,
          formula(
            "μ =", m.matrix([[entry(mx)], [entry(my)]]), m.text("  "),
            "Σ =", m.matrix([[entry(s11), entry(s12)], [entry(s12), entry(s22)]]),
          ),
          formula("ρ =", m.frac(m.sub("σ", "12"), m.sqrt(m(m.sub("σ", "11"), m.sub("σ", "22")))), "=", m.num(rho, 3)),
          formula(
            m.sqrt(m.sub("λ", "1")), "=", m.num(Math.sqrt(large), 3), m.text(",  "),
            m.sqrt(m.sub("λ", "2")), "=", m.num(Math.sqrt(small), 3), m.text("  (half axes)"),
          ),
          formula(
            m.frac("1", m("2 π", m.sup(m("|Σ|"), "½"))), "=", m.num(top, 4), m.text(" high,  "),
            "π", m.sup(m("|Σ|"), "½"), "=", m.num(area, 2), m.text(" wide"),
          ),
          note("Height × area of the inner ellipse is ½, whatever Σ is: the volume stays 1."),
          formula("p ( x ) =", m.num(top, 4), "·", m.sup("e", m("−½ ·", m.num((-2 * (Math.log(density) - Math.log(top))), 2))), "=", m.num(density, 4)),
        ],
        python: `from genus import MultivariateNormal\nMultivariateNormal([${mx}, ${my}], [[${s11}, ${s12}], [${s12}, ${s22}]]).density([${px}, ${py}])`,
        answer: [density],
        words: `A normal distribution with mean (${number(mx)}, ${number(my)}), variances ${number(s11)} and ${number(s22)}, correlation ${number(rho)}. Half axes ${number(Math.sqrt(large))} and ${number(Math.sqrt(small))}. Its top is ${number(top, 4)} high. At x the density is ${number(density, 4)}.`,
      };
    };
  },
});
