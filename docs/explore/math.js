// The closed forms behind the explorables. Each function is compared with the Python package, to
// 1e-9 on random input, by tests/test_explore.py.

export const sum = (values) => values.reduce((total, value) => total + value, 0);
export const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

// log Σ exp(v), and the shares exp(v) / Σ exp(v): Bayes' rule in logarithms.

export function logSumExp(values) {
  const top = Math.max(...values);
  return Number.isFinite(top) ? top + Math.log(sum(values.map((v) => Math.exp(v - top)))) : top;
}

export function softmax(values) {
  const total = logSumExp(values);
  return values.map((v) => Math.exp(v - total));
}

// The normal distribution, in one dimension and in two

export const logNormal = (x, mean, variance) =>
  -0.5 * (Math.log(2 * Math.PI * variance) + (x - mean) ** 2 / variance);

// Σ is [σ11, σ12, σ22] throughout.
export const determinant = ([a, b, c]) => a * c - b * b;

export function squaredDistance([x, y], [mx, my], sigma) {
  const [a, b, c] = sigma;
  const u = x - mx;
  const v = y - my;
  return (c * u * u - 2 * b * u * v + a * v * v) / determinant(sigma);
}

export const logNormal2 = (point, mean, sigma) =>
  -Math.log(2 * Math.PI) - 0.5 * (Math.log(determinant(sigma)) + squaredDistance(point, mean, sigma));

// Eigenvalues of Σ, the larger first, and the angle of the first eigenvector to the x-axis.
export function eigen([a, b, c]) {
  const middle = (a + c) / 2;
  const radius = Math.hypot((a - c) / 2, b);
  const large = middle + radius;
  return { values: [large, (a * c - b * b) / large], angle: 0.5 * Math.atan2(2 * b, a - c) };
}

export function fromAxes([first, second], angle) {
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  return [
    first * cos * cos + second * sin * sin,
    (first - second) * cos * sin,
    first * sin * sin + second * cos * cos,
  ];
}

// The distribution function of the standard normal: a series near 0, a continued fraction far out.
export function normalCdf(z) {
  const size = Math.abs(z);
  if (size > 38) return z < 0 ? 0 : 1;
  const height = Math.exp((-size * size) / 2) / Math.sqrt(2 * Math.PI);
  let upper;
  if (size < 4) {
    let term = size;
    let total = size;
    for (let k = 1; Math.abs(term) > 1e-18 * total && k < 300; k++) {
      term *= (size * size) / (2 * k + 1);
      total += term;
    }
    upper = 0.5 - height * total;
  } else {
    let fraction = size;
    for (let k = 60; k > 0; k--) fraction = size + k / fraction;
    upper = height / fraction;
  }
  return z < 0 ? upper : 1 - upper;
}

// Gaussian discriminant analysis on points [x, y, class]: means of what is counted, divided by m.

export function fitGda(points, classes, shared) {
  const groups = Array.from({ length: classes }, (_, k) => points.filter((p) => p[2] === k));
  const means = groups.map((g) => [0, 1].map((j) => sum(g.map((p) => p[j])) / g.length));
  const scatter = groups.map((g, k) => {
    const d = g.map((p) => [p[0] - means[k][0], p[1] - means[k][1]]);
    return [sum(d.map(([u]) => u * u)), sum(d.map(([u, v]) => u * v)), sum(d.map(([, v]) => v * v))];
  });
  const pooled = [0, 1, 2].map((j) => sum(scatter.map((s) => s[j])) / points.length);
  return {
    counts: groups.map((g) => g.length),
    priors: groups.map((g) => g.length / points.length),
    means,
    covariances: scatter.map((s, k) => (shared ? pooled : s.map((v) => v / groups[k].length))),
  };
}

// log p(x, y) of each class, as a function of the point: a picture asks for thousands of them.
export function gdaScorer({ priors, means, covariances }) {
  const parts = priors.map((p, k) => {
    const [a, b, c] = covariances[k];
    const d = determinant(covariances[k]);
    const constant = Math.log(p) - Math.log(2 * Math.PI) - 0.5 * Math.log(d);
    return [constant, ...means[k], c / d, b / d, a / d];
  });
  return ([x, y]) =>
    parts.map(([constant, mx, my, a, b, c]) => {
      const u = x - mx;
      const v = y - my;
      return constant - 0.5 * (a * u * u - 2 * b * u * v + c * v * v);
    });
}

// θ and θ0 of the two classes of a model with one Σ.
export function gdaTheta({ priors, means: [m0, m1], covariances: [sigma] }) {
  const [a, b, c] = sigma;
  const d = determinant(sigma);
  const u = m1[0] - m0[0];
  const v = m1[1] - m0[1];
  const theta = [(c * u - b * v) / d, (a * v - b * u) / d];
  const constant =
    0.5 * (squaredDistance(m0, [0, 0], sigma) - squaredDistance(m1, [0, 0], sigma)) +
    Math.log(priors[1] / priors[0]);
  return { theta, constant };
}

// The same on a line: one variance for both classes.
export function fitBells(values, labels) {
  const groups = [0, 1].map((k) => values.filter((_, i) => labels[i] === k));
  const means = groups.map((g) => sum(g) / g.length);
  const variance = sum(values.map((x, i) => (x - means[labels[i]]) ** 2)) / values.length;
  const prior = groups[1].length / values.length;
  return {
    means,
    variance,
    theta: (means[1] - means[0]) / variance,
    constant:
      (means[0] ** 2 - means[1] ** 2) / (2 * variance) + Math.log(prior / (1 - prior)),
  };
}

export function fitPoisson(values, labels) {
  const groups = [0, 1].map((k) => values.filter((_, i) => labels[i] === k));
  const rates = groups.map((g) => sum(g) / g.length);
  const prior = groups[1].length / values.length;
  return {
    rates,
    theta: Math.log(rates[1] / rates[0]),
    constant: rates[0] - rates[1] + Math.log(prior / (1 - prior)),
  };
}

export const sigmoid = (t) => (t >= 0 ? 1 / (1 + Math.exp(-t)) : Math.exp(t) / (1 + Math.exp(t)));

// x of A x = b, for a few unknowns.
export function solve(matrix, right) {
  const n = right.length;
  const rows = matrix.map((row, i) => [...row, right[i]]);
  for (let i = 0; i < n; i++) {
    let best = i;
    for (let r = i + 1; r < n; r++) if (Math.abs(rows[r][i]) > Math.abs(rows[best][i])) best = r;
    [rows[i], rows[best]] = [rows[best], rows[i]];
    for (let r = i + 1; r < n; r++) {
      const factor = rows[r][i] / rows[i][i];
      for (let c = i; c <= n; c++) rows[r][c] -= factor * rows[i][c];
    }
  }
  const x = new Array(n).fill(0);
  for (let i = n - 1; i >= 0; i--) {
    let rest = rows[i][n];
    for (let c = i + 1; c < n; c++) rest -= rows[i][c] * x[c];
    x[i] = rest / rows[i][i];
  }
  return x;
}

// Logistic regression by Newton's method. It minimises C Σ loss + |w|²/2 as scikit-learn does, the
// constants free. Rows are lists of numbers; the result has a score function, and weights by class
// with the constant last. Two classes have one list of weights.
export function fitLogistic(rows, labels, classes, C = 1e4) {
  const width = rows[0].length + 1;
  const outputs = classes === 2 ? 1 : classes;
  const data = rows.map((row) => [...row, 1]);
  const size = outputs * width;
  const score = (w, x) =>
    Array.from({ length: outputs }, (_, k) => {
      let total = 0;
      for (let j = 0; j < width; j++) total += w[k * width + j] * x[j];
      return total;
    });
  const log1pExp = (t) => (t > 0 ? t + Math.log1p(Math.exp(-t)) : Math.log1p(Math.exp(t)));
  const objective = (w) => {
    let total = 0;
    data.forEach((x, i) => {
      const s = score(w, x);
      if (outputs === 1) total += log1pExp(labels[i] ? -s[0] : s[0]);
      else total += logSumExp(s) - s[labels[i]];
    });
    let penalty = 0;
    w.forEach((v, j) => (penalty += j % width === width - 1 ? 0 : v * v));
    return C * total + penalty / 2;
  };
  let w = new Array(size).fill(0);
  let value = objective(w);
  let steps = 0;
  for (; steps < 100; steps++) {
    const gradient = new Array(size).fill(0);
    const hessian = Array.from({ length: size }, () => new Array(size).fill(0));
    data.forEach((x, i) => {
      const s = score(w, x);
      const p = outputs === 1 ? [sigmoid(s[0])] : softmax(s);
      for (let k = 0; k < outputs; k++) {
        const target = outputs === 1 ? labels[i] : Number(labels[i] === k);
        for (let j = 0; j < width; j++) gradient[k * width + j] += C * (p[k] - target) * x[j];
        for (let l = 0; l < outputs; l++) {
          const h = C * (k === l ? p[k] * (1 - p[k]) : -p[k] * p[l]);
          for (let j = 0; j < width; j++)
            for (let q = 0; q < width; q++) hessian[k * width + j][l * width + q] += h * x[j] * x[q];
        }
      }
    });
    for (let j = 0; j < size; j++) {
      if (j % width === width - 1) continue;
      gradient[j] += w[j];
      hessian[j][j] += 1;
    }
    // Adding one number to all constants changes nothing: hold their sum.
    if (outputs > 1)
      for (let k = 0; k < outputs; k++)
        for (let l = 0; l < outputs; l++) hessian[k * width + width - 1][l * width + width - 1] += 1;
    const direction = solve(hessian, gradient);
    if (!direction.every(Number.isFinite)) break;
    let scale = 1;
    let next = w.map((v, j) => v - direction[j]);
    let found = objective(next);
    const rounding = 1e-12 * Math.abs(value);
    while (found > value + rounding && scale > 1e-10) {
      scale /= 2;
      next = w.map((v, j) => v - scale * direction[j]);
      found = objective(next);
    }
    if (!(found <= value + rounding)) break;
    const moved = Math.max(...next.map((v, j) => Math.abs(v - w[j]) / (1 + Math.abs(v))));
    [w, value] = [next, found];
    if (moved < 1e-12) break;
  }
  const weights = Array.from({ length: outputs }, (_, k) => w.slice(k * width, (k + 1) * width));
  return {
    weights,
    steps,
    scores: (row) => {
      const s = score(w, [...row, 1]);
      return outputs === 1 ? [0, s[0]] : s;
    },
  };
}

// Rosenblatt's perceptron, one class against the others: a row on the wrong side is added to the
// weights, or taken from them, until a pass makes no mistake.
export function fitPerceptron(rows, labels, classes, passes = 100) {
  const outputs = classes === 2 ? [1] : Array.from({ length: classes }, (_, k) => k);
  let settled = true;
  let mistakes = 0;
  const weights = outputs.map((k) => {
    const w = new Array(rows[0].length + 1).fill(0);
    let wrong = 1;
    for (let pass = 0; pass < passes && wrong; pass++) {
      wrong = 0;
      rows.forEach((row, i) => {
        const y = labels[i] === k ? 1 : -1;
        const side = row.reduce((t, v, j) => t + v * w[j], 0) + w[row.length];
        if (y * side > 0) return;
        wrong += 1;
        row.forEach((v, j) => (w[j] += y * v));
        w[row.length] += y;
      });
      mistakes += wrong;
    }
    settled &&= wrong === 0;
    return w;
  });
  const scores = (row) => {
    const s = weights.map((w) => row.reduce((t, v, j) => t + v * w[j], 0) + w[row.length]);
    return outputs.length === 1 ? [0, s[0]] : s;
  };
  return { weights, scores, settled, mistakes };
}

// The share of rows on the wrong side of θ·x + θ0 = 0, exactly, where each of two classes is a
// mixture of normal distributions {weight, mean, sigma}, and both are equally common.
export function lineError({ theta: [a, b], constant }, truth) {
  return sum(
    truth.map((parts, k) =>
      sum(
        parts.map(({ weight, mean, sigma }) => {
          const spread = Math.sqrt(a * a * sigma[0] + 2 * a * b * sigma[1] + b * b * sigma[2]);
          const z = (a * mean[0] + b * mean[1] + constant) / spread;
          return 0.5 * weight * normalCdf(k ? -z : z);
        }),
      ),
    ),
  );
}

// Random numbers from a seed (mulberry32), so that a link shows the same draws.
export function random(seed) {
  let state = seed >>> 0;
  const uniform = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const normal = () =>
    Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
  return { uniform, normal };
}

// Counting words

export const tokens = (text) => text.toLowerCase().match(/[\p{L}\p{N}_]{2,}/gu) ?? [];

// Messages [{text, label}] of two classes, counted both ways: in how many messages of a class a
// word occurs, and how often.
export function countWords(messages) {
  const lists = messages.map((m) => tokens(m.text));
  const vocabulary = [...new Set(lists.flat())].sort();
  const place = new Map(vocabulary.map((word, j) => [word, j]));
  const zero = () => [0, 1].map(() => new Array(vocabulary.length).fill(0));
  const counted = { vocabulary, place, messages: [0, 0], documents: zero(), occurrences: zero() };
  lists.forEach((words, i) => {
    const k = messages[i].label;
    counted.messages[k] += 1;
    for (const word of words) counted.occurrences[k][place.get(word)] += 1;
    for (const word of new Set(words)) counted.documents[k][place.get(word)] += 1;
  });
  return counted;
}

// φ of each class and word: a coin for each word, or a die with a face for each.
export function wordShares(counted, model, alpha = 1) {
  return [0, 1].map((k) => {
    if (model === "coin")
      return counted.documents[k].map((n) => (n + alpha) / (counted.messages[k] + 2 * alpha));
    const all = sum(counted.occurrences[k]) + alpha * counted.vocabulary.length;
    return counted.occurrences[k].map((n) => (n + alpha) / all);
  });
}

// What each word of the vocabulary adds to the log-odds of class 1, and what the shares of the
// classes add. To a coin words that are absent count, to a die those that are there.
export function wordEvidence(counted, model, text, alpha = 1) {
  const shares = wordShares(counted, model, alpha);
  const times = new Array(counted.vocabulary.length).fill(0);
  const unknown = [];
  for (const word of tokens(text)) {
    if (counted.place.has(word)) times[counted.place.get(word)] += 1;
    else unknown.push(word);
  }
  const terms = times.map((n, j) => {
    const [ham, spam] = [shares[0][j], shares[1][j]];
    if (model === "die") return n * Math.log(spam / ham);
    return n ? Math.log(spam / ham) : Math.log((1 - spam) / (1 - ham));
  });
  const prior = Math.log(counted.messages[1] / counted.messages[0]);
  return { shares, times, terms, unknown, prior, logOdds: prior + sum(terms) };
}

// Smoothing: (count + what is added) / (rows + all that is added)

export const smoothed = (count, rows, alpha, values) => (count + alpha) / (rows + alpha * values);
export const mEstimate = (count, rows, m, p) => (count + m * p) / (rows + m);

// p(y, x) of rows of classes from shares φ of the values seen, one list for each class.
export const jointFromShares = (priors, shares) =>
  priors.map((p, k) => p * shares[k].reduce((product, share) => product * share, 1));

// Bins

export const binOf = (x, edges) => edges.filter((edge) => x >= edge).length;

export function binCounts(values, labels, edges, classes) {
  const counts = Array.from({ length: classes }, () => new Array(edges.length + 1).fill(0));
  values.forEach((x, i) => (counts[labels[i]][binOf(x, edges)] += 1));
  return counts;
}

export const binShares = (counts, alpha = 1) =>
  counts.map((row) => row.map((n) => (n + alpha) / (sum(row) + alpha * row.length)));

// The mean of -log p(y|x), each row predicted from all others: by subtraction from the counts.
export function leaveOneOutLoss(counts, alpha = 1) {
  const bins = counts[0].length;
  const rows = counts.map(sum);
  const all = sum(rows);
  let loss = 0;
  counts.forEach((row, own) =>
    row.forEach((n, b) => {
      if (!n) return;
      const scores = counts.map((other, k) => {
        const out = k === own ? 1 : 0;
        return (
          Math.log((rows[k] - out) / (all - 1)) +
          Math.log((other[b] - out + alpha) / (rows[k] - out + alpha * bins))
        );
      });
      loss -= n * Math.log(softmax(scores)[own]);
    }),
  );
  return loss / all;
}

// The same for bells, each class with its own mean and variance (divided by the rows).
export function leaveOneOutBells(values, labels, classes) {
  const groups = Array.from({ length: classes }, (_, k) => values.filter((_, i) => labels[i] === k));
  const totals = groups.map((g) => [g.length, sum(g) / g.length]);
  const squares = groups.map((g, k) => sum(g.map((x) => (x - totals[k][1]) ** 2)));
  let loss = 0;
  values.forEach((x, i) => {
    const scores = groups.map((g, k) => {
      let [n, mean] = totals[k];
      let square = squares[k];
      if (labels[i] === k) {
        square -= ((x - mean) ** 2 * n) / (n - 1);
        mean += (mean - x) / (n - 1);
        n -= 1;
      }
      return Math.log(n / (values.length - 1)) + logNormal(x, mean, square / n);
    });
    loss -= Math.log(softmax(scores)[labels[i]]);
  });
  return loss / values.length;
}

// The cell of the fine grid that numbers are counted on: 11 leading bits of the mantissa.
function cell(x) {
  if (x === 0) return [0, 2 ** -1022];
  const size = Math.abs(x);
  const width = 2 ** (Math.floor(Math.log2(size)) - 11);
  const low = Math.floor(size / width) * width;
  return x > 0 ? [low, low + width] : [-low - width, -low];
}

// Counts by cell: [[low, high, counts by class], …], ascending.
export function cells(values, labels, classes) {
  const found = new Map();
  values.forEach((x, i) => {
    const [low, high] = cell(x);
    if (!found.has(low)) found.set(low, [low, high, new Array(classes).fill(0)]);
    found.get(low)[2][labels[i]] += 1;
  });
  return [...found.values()].sort((a, b) => a[0] - b[0]);
}

const between = (grid, cuts) => cuts.map((i) => (grid[i - 1][1] + grid[i][0]) / 2);

function bits(counts) {
  const all = sum(counts);
  return sum(counts.map((n) => (n ? -n * Math.log2(n / all) : 0)));
}

// Fayyad and Irani: cut where the entropy of the classes falls most, while that pays for the cut.
export function mdlpEdges(values, labels, classes) {
  const grid = cells(values, labels, classes);
  const total = (from, to) =>
    Array.from({ length: classes }, (_, k) => sum(grid.slice(from, to).map((c) => c[2][k])));
  const cuts = [];
  const pending = [[0, grid.length]];
  while (pending.length) {
    const [start, end] = pending.pop();
    if (end - start < 2) continue;
    const both = total(start, end);
    const n = sum(both);
    let least = Infinity;
    let cut = 0;
    const left = new Array(classes).fill(0);
    for (let v = start + 1; v < end; v++) {
      grid[v - 1][2].forEach((c, k) => (left[k] += c));
      const mixed = bits(left) + bits(both.map((c, k) => c - left[k]));
      if (mixed < least - 1e-9 * n) [least, cut] = [mixed, v];
    }
    const [one, other] = [total(start, cut), total(cut, end)];
    const kinds = (counts) => counts.filter((c) => c > 0).length;
    const k = kinds(both);
    const price =
      Math.log2(3 ** k - 2) -
      ((k * bits(both)) / n -
        (kinds(one) * bits(one)) / sum(one) -
        (kinds(other) * bits(other)) / sum(other));
    if (bits(both) - least > Math.log2(n - 1) + price + 1e-9 * n) {
      cuts.push(cut);
      pending.push([start, cut], [cut, end]);
    }
  }
  return between(grid, cuts.sort((a, b) => a - b));
}

export function quantileEdges(values, labels, classes, count) {
  const grid = cells(values, labels, classes);
  let below = 0;
  const reached = grid.map((c) => (below += sum(c[2])));
  const cuts = new Set();
  for (let i = 1; i < count; i++) {
    const wanted = ((below * i) / count) * (1 - 1e-9);
    const cut = reached.findIndex((r) => r >= wanted) + 1;
    if (cut < grid.length) cuts.add(cut);
  }
  return between(grid, [...cuts].sort((a, b) => a - b));
}

export function uniformEdges(values, labels, classes, count) {
  const grid = cells(values, labels, classes);
  const [first, last] = [grid[0][0], grid[grid.length - 1][0]];
  const cuts = new Set();
  for (let i = 1; i < count; i++) {
    const wanted = first * (1 - i / count) + last * (i / count);
    const cut = grid.findIndex((c) => c[0] >= wanted);
    if (cut > 0) cuts.add(cut);
  }
  return between(grid, [...cuts].sort((a, b) => a - b));
}

// Digits: a coin for each pixel, from counts of inked pixels by digit. A pixel is 1, 0, or null
// where it is hidden, whose factor is left out.

export const inkShares = ({ rows, ink }, alpha = 1) =>
  ink.map((counts, k) => counts.map((n) => (n + alpha) / (rows[k] + 2 * alpha)));

export function digitScores(model, pixels, alpha = 1) {
  const all = sum(model.rows);
  return inkShares(model, alpha).map((shares, k) =>
    pixels.reduce(
      (total, pixel, j) =>
        pixel === null ? total : total + Math.log(pixel ? shares[j] : 1 - shares[j]),
      Math.log(model.rows[k] / all),
    ),
  );
}

// What each pixel adds to the log-odds of digit a against digit b.
export function pixelEvidence(model, pixels, a, b, alpha = 1) {
  const shares = inkShares(model, alpha);
  return pixels.map((pixel, j) => {
    if (pixel === null) return 0;
    const [p, q] = [shares[a][j], shares[b][j]];
    return pixel ? Math.log(p / q) : Math.log((1 - p) / (1 - q));
  });
}

// A drawing of 28 × 28 bits as 8 × 8: the ink's box is stretched to the full height, as in
// scikit-learn's digits, and centred; a pixel is inked if more than 7/16 of its area is.
export function reduceDrawing(drawing) {
  const side = 28;
  const inked = drawing.flatMap((bit, i) => (bit ? [[i % side, Math.floor(i / side)]] : []));
  if (!inked.length) return { grey: new Array(64).fill(0), pixels: new Array(64).fill(0) };
  const columns = inked.map((p) => p[0]);
  const lines = inked.map((p) => p[1]);
  const [left, top] = [Math.min(...columns), Math.min(...lines)];
  const [wide, high] = [Math.max(...columns) - left + 1, Math.max(...lines) - top + 1];
  const size = Math.max(high, wide, 8);
  const [x0, y0] = [left + wide / 2 - size / 2, top + high / 2 - size / 2];
  const step = size / 8;
  const grey = new Array(64).fill(0);
  const overlap = (from, to, cellStart) =>
    Math.max(0, Math.min(to, cellStart + 1) - Math.max(from, cellStart));
  for (const [x, y] of inked) {
    const columnsHit = [Math.floor((x - x0) / step), Math.floor((x + 1 - x0 - 1e-9) / step)];
    const linesHit = [Math.floor((y - y0) / step), Math.floor((y + 1 - y0 - 1e-9) / step)];
    for (let r = linesHit[0]; r <= linesHit[1]; r++)
      for (let c = columnsHit[0]; c <= columnsHit[1]; c++) {
        if (r < 0 || r > 7 || c < 0 || c > 7) continue;
        const area =
          overlap(x0 + c * step, x0 + (c + 1) * step, x) *
          overlap(y0 + r * step, y0 + (r + 1) * step, y);
        grey[8 * r + c] += (16 * area) / (step * step);
      }
  }
  return { grey, pixels: grey.map((g) => Number(g > 7)) };
}
