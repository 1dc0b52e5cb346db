/**
 * Population losses of small networks for x ~ N(0, I), in the formulas of planted.objectives.
 * Rows of weights are arrays of numbers; a point is one flat Float64Array.
 */
const Losses = (() => {
  const POLE = 1e-15, ORDER = 60, SMALL = 0.01, LEAST_RATIO = 0.05, STEP = 1e-3;
  const dot = (u, v) => { let sum = 0; for (let i = 0; i < u.length; i++) sum += u[i] * v[i]; return sum; };
  const norm = (u) => Math.sqrt(dot(u, u));

  /** Angle θ and its sine for a cosine, exact at the poles. */
  function angle(rho) {
    if (1 - rho * rho < POLE) return rho > 0 ? [0, 0] : [Math.PI, 0];
    return [Math.acos(rho), Math.sqrt(1 - rho * rho)];
  }

  /** sin θ + (π − θ) cos θ and its derivative by cos θ. */
  function arc(rho) {
    const [theta, sine] = angle(rho);
    return [sine + (Math.PI - theta) * rho, Math.PI - theta];
  }

  // Each kernel gives K(u, v) = E[φ(u·x) φ(v·x)] from ‖u‖, ‖v‖ and the cosine ρ, with ∂K/∂‖u‖ and ∂K/∂ρ.
  const reluKernel = (s, t, rho) => { const [r, slope] = arc(rho), c = 1 / (2 * Math.PI); return [c * s * t * r, c * t * r, c * s * t * slope]; };
  const leakyKernel = (slope) => (s, t, rho) => {
    const [value, bySize, byCosine] = reluKernel(s, t, rho), rest = (1 - slope) ** 2;
    return [slope * s * t * rho + rest * value, slope * t * rho + rest * bySize, slope * s * t + rest * byCosine];
  };
  const absKernel = (s, t, rho) => {
    const [theta, sine] = angle(rho), c = 2 / Math.PI, r = sine + (Math.PI / 2 - theta) * rho;
    return [c * s * t * r, c * t * r, c * s * t * (Math.PI / 2 - theta)];
  };
  const quadraticKernel = (s, t, rho) => { const r = 1 + 2 * rho * rho; return [(s * t) ** 2 * r, 2 * s * t * t * r, 4 * (s * t) ** 2 * rho]; };
  const squaredReluKernel = (s, t, rho) => {
    const [theta, sine] = angle(rho), c = 1 / (2 * Math.PI), left = Math.PI - theta;
    const r = 3 * sine * rho + left * (1 + 2 * rho * rho);
    return [c * (s * t) ** 2 * r, 2 * c * s * t * t * r, 4 * c * (s * t) ** 2 * (sine + left * rho)];
  };
  // √2 erf(z/√2), whose slope at zero is 2/√π; Williams (1998).
  const erfKernel = (s, t, rho) => {
    const p = 1 + s * s, q = 1 + t * t, root = Math.sqrt(p * q), sine = s * t * rho / root, c = 4 / Math.PI / Math.sqrt(1 - sine * sine);
    return [4 / Math.PI * Math.asin(sine), c * (t * rho / root) / p, c * s * t / root];
  };

  /** Gauss–Legendre nodes and weights on [−1, 1], by Newton's method. */
  function legendre(n) {
    const nodes = [], weights = [];
    for (let i = 0; i < n; i++) {
      let x = Math.cos(Math.PI * (i + 0.75) / (n + 0.5)), slope = 1;
      for (let k = 0; k < 100; k++) {
        let before = 1, now = x;
        for (let j = 2; j <= n; j++) [before, now] = [now, ((2 * j - 1) * x * now - (j - 1) * before) / j];
        slope = n * (x * now - before) / (x * x - 1);
        const change = now / slope;
        x -= change;
        if (Math.abs(change) < 1e-16) break;
      }
      nodes.push(-x); weights.push(2 / ((1 - x * x) * slope * slope));
    }
    return [nodes, weights];
  }

  let rule = null;
  /** Positive nodes z_q and weights w_jq with E[φ(s z) h_j(z)] ≈ Σ_q w_jq (φ(s z_q) + (−1)^j φ(−s z_q)), j = 0..60. */
  function seriesRule() {
    if (rule) return rule;
    const edges = [0, ...Array.from({ length: 12 }, (_, i) => 2 ** (i - 12)), ...Array.from({ length: 24 }, (_, i) => 1 + i / 2)];
    const [points, weights] = legendre(16), nodes = [], mass = [];
    for (let e = 0; e + 1 < edges.length; e++) {
      const width = (edges[e + 1] - edges[e]) / 2;
      points.forEach((point, i) => { const z = edges[e] + width * (1 + point); nodes.push(z); mass.push(width * weights[i] * Math.exp(-0.5 * z * z) / Math.sqrt(2 * Math.PI)); });
    }
    const table = Array.from({ length: ORDER + 1 }, () => new Float64Array(nodes.length));
    nodes.forEach((z, q) => {
      let before = 0, now = 1;
      for (let j = 0; j <= ORDER; j++) {
        table[j][q] = now * mass[q];
        [before, now] = [now, (z * now - Math.sqrt(j) * before) / Math.sqrt(j + 1)];
      }
    });
    rule = { nodes: Float64Array.from(nodes), table };
    return rule;
  }

  /** c_j(s) = E[φ(s z) h_j(z)], j = 0..60, and their derivatives by s where they are wanted. */
  function coefficients(activation, s, slopes = false) {
    const { nodes, table } = seriesRule(), n = nodes.length, sums = [new Float64Array(n), new Float64Array(n)], steep = [new Float64Array(n), new Float64Array(n)];
    for (let q = 0; q < n; q++) {
      const z = nodes[q], right = activation.value(s * z), left = activation.value(-s * z);
      sums[0][q] = right + left; sums[1][q] = right - left;
      if (slopes) { const up = activation.slope(s * z) * z, down = activation.slope(-s * z) * z; steep[0][q] = up - down; steep[1][q] = up + down; }
    }
    return [table.map((row, j) => dot(row, sums[j % 2])), slopes ? table.map((row, j) => dot(row, steep[j % 2])) : null];
  }

  const softplus = (z) => Math.max(z, 0) + Math.log1p(Math.exp(-Math.abs(z)));
  const sigmoid = (z) => (z >= 0 ? 1 / (1 + Math.exp(-z)) : Math.exp(z) / (1 + Math.exp(z)));
  const root = Math.sqrt;
  // `even` are E[φ h_j] for j = 0, 2, 4 at length one, `degree` the degree of homogeneity, `jump` that of the slope at zero.
  const ACTIVATIONS = {
    relu: { kernel: reluKernel, degree: 1, jump: 1, even: { 0: 1 / root(2 * Math.PI), 2: 1 / root(4 * Math.PI), 4: -1 / root(48 * Math.PI) } },
    leaky_relu: { kernel: leakyKernel(0.01), degree: 1, jump: 0.99, even: { 0: 0.99 / root(2 * Math.PI), 2: 0.99 / root(4 * Math.PI), 4: -0.99 / root(48 * Math.PI) } },
    abs: { kernel: absKernel, degree: 1, jump: 2, mirrored: true, even: { 0: 2 / root(2 * Math.PI), 2: 2 / root(4 * Math.PI), 4: -2 / root(48 * Math.PI) } },
    quadratic: { kernel: quadraticKernel, degree: 2, mirrored: true, even: { 0: 1, 2: root(2), 4: 0 } },
    squared_relu: { kernel: squaredReluKernel, degree: 2, even: { 0: 0.5, 2: root(0.5), 4: 0 } },
    erf: { kernel: erfKernel, even: { 0: 0, 2: 0, 4: 0 } },
    tanh: { value: Math.tanh, slope: (z) => 1 - Math.tanh(z) ** 2, even: { 0: 0, 2: 0, 4: 0 } },
    sigmoid: { value: sigmoid, slope: (z) => sigmoid(z) * (1 - sigmoid(z)), even: { 0: 0.5, 2: 0, 4: 0 } },
    softplus: { value: softplus, slope: sigmoid },
  };

  /** E[φ(s z) h_j(z)] for j = 0, 2, 4. */
  function hermite(name, j, s = 1) {
    const activation = ACTIVATIONS[name];
    if (activation.degree) return activation.even[j] * s ** activation.degree;
    if (activation.even && (j || activation.even[0] === 0)) return activation.even[j];
    return coefficients(activation, s)[0][j];
  }

  /** A row made ready for `pair`: its length, and its coefficients where there is no closed form. */
  function prepare(activation, row, slopes = false) {
    const size = norm(row);
    return activation.kernel ? { row, size } : { row, size, series: coefficients(activation, size, slopes) };
  }

  /** K of two prepared rows, ∂K/∂‖u‖ and ∂K/∂ρ, and ρ. */
  function pair(activation, u, v) {
    const scale = u.size * v.size, rho = dot(u.row, v.row) / (scale || 1);
    if (activation.kernel) return [...activation.kernel(u.size, v.size, rho), rho];
    const [c, slopes] = u.series, [e] = v.series;
    let value = 0, bySize = 0, byCosine = 0;
    for (let j = ORDER; j >= 0; j--) {
      byCosine = byCosine * rho + (j < ORDER ? (j + 1) * c[j + 1] * e[j + 1] : 0);
      value = value * rho + c[j] * e[j];
      if (slopes) bySize = bySize * rho + slopes[j] * e[j];
    }
    return [value, bySize, byCosine, rho];
  }

  function rowsOf(x, d) {
    const rows = [];
    for (let i = 0; i < x.length; i += d) rows.push(x.subarray(i, i + d));
    return rows;
  }

  /** ½ E (Σ o_i φ(w_i·x) − y)² with fixed outputs o. */
  function squared(teacher, output) {
    const activation = ACTIVATIONS[teacher.activation], d = teacher.weights[0].length;
    const goal = teacher.weights.map((row) => prepare(activation, row)), a = teacher.output, o = output || a;
    let energy = 0;
    goal.forEach((u, i) => goal.forEach((v, j) => { energy += a[i] * a[j] * pair(activation, u, v)[0]; }));
    function evaluate(x, gradient) {
      const rows = rowsOf(x, d).map((row) => prepare(activation, row, Boolean(gradient)));
      let value = energy;
      rows.forEach((u, i) => {
        let along = 0, place = gradient && gradient.subarray(i * d, (i + 1) * d);
        const add = (v, factor) => {
          const [k, bySize, byCosine, rho] = pair(activation, u, v);
          if (gradient && u.size > 0) {
            along += factor * (bySize / u.size - byCosine * rho / u.size ** 2);
            const across = v.size > 0 ? factor * byCosine / (u.size * v.size) : 0;
            for (let c = 0; c < d; c++) place[c] += across * v.row[c];
          }
          return k;
        };
        rows.forEach((v, j) => { value += o[i] * o[j] * add(v, o[i] * o[j]); });
        goal.forEach((v, j) => { value -= 2 * o[i] * a[j] * add(v, -o[i] * a[j]); });
        if (gradient) for (let c = 0; c < d; c++) place[c] += along * u.row[c];
      });
      return 0.5 * value;
    }
    return { evaluate, d, energy: 0.5 * energy };
  }

  /** f' = E (Σ o_i γ(w_i·x) − y)², γ = φ̂₂h₂ + φ̂₄h₄. */
  function hermite24(teacher, output) {
    const d = teacher.weights[0].length, o = output || teacher.output;
    const second = hermite(teacher.activation, 2) / root(2), fourth = hermite(teacher.activation, 4) / root(24);
    if (Math.abs(second) < 1e-12 && Math.abs(fourth) < 1e-12) throw new Error(`f' does not see the weights of ${teacher.activation} neurons: their second and fourth Hermite coefficients are zero`);
    const sizes = teacher.weights.map(norm), directions = teacher.weights.map((row, i) => row.map((w) => w / sizes[i]));
    const moments = Object.fromEntries([0, 2, 4].map((j) => [j, teacher.output.map((a, i) => a * hermite(teacher.activation, j, sizes[i]))]));
    const energy = 2 * squared(teacher).energy;
    function evaluate(x, gradient) {
      const rows = rowsOf(x, d), m = rows.length;
      const excess = rows.map((row) => dot(row, row) - 1);
      const profile = {
        0: [rows.map((_, i) => o[i] * (second * excess[i] + 3 * fourth * excess[i] ** 2)), rows.map((_, i) => o[i] * (second + 6 * fourth * excess[i]))],
        2: [rows.map((_, i) => o[i] * (second + 6 * fourth * excess[i]) * root(2)), rows.map((_, i) => o[i] * 6 * fourth * root(2))],
        4: [rows.map((_, i) => o[i] * fourth * root(24)), rows.map(() => 0)],
      };
      let value = energy;
      for (const j of [0, 2, 4]) {
        const [c, slopes] = profile[j], target = moments[j];
        for (let i = 0; i < m; i++) {
          let by = 0;
          const place = gradient && gradient.subarray(i * d, (i + 1) * d);
          const term = (other, factor) => {
            const inner = dot(rows[i], other), power = inner ** j;
            by += factor * power;
            if (gradient && j) { const push = 2 * c[i] * factor * j * inner ** (j - 1); for (let k = 0; k < d; k++) place[k] += push * other[k]; }
            return power;
          };
          rows.forEach((other, l) => { value += c[i] * c[l] * term(other, c[l]); });
          directions.forEach((other, l) => { value -= 2 * c[i] * target[l] * term(other, -target[l]); });
          if (gradient) for (let k = 0; k < d; k++) place[k] += 4 * by * slopes[i] * rows[i][k];
        }
      }
      return value;
    }
    return { evaluate, d, energy };
  }

  /** Σ_l w_l (Σ_{i≠j} P²P² · outer − inner · Σ P⁴) + λ Σ (b_iᵀ T b_i − 1)² with P_li = ⟨u_l, b_i⟩: G, F and L. */
  function quartic(directions, weights, outer, inner, lam, T) {
    const d = directions[0].length;
    const through = (row) => (T ? T.map((line) => dot(line, row)) : row);
    function evaluate(x, gradient) {
      const rows = rowsOf(x, d), m = rows.length;
      let value = 0;
      directions.forEach((u, l) => {
        const p = rows.map((row) => dot(u, row));
        let sum = 0, fourth = 0;
        for (const one of p) { sum += one * one; fourth += one ** 4; }
        value += weights[l] * (outer * (sum * sum - fourth) - inner * fourth);
        if (gradient) for (let i = 0; i < m; i++) {
          const push = weights[l] * (outer * 4 * p[i] * (sum - p[i] * p[i]) - inner * 4 * p[i] ** 3);
          for (let c = 0; c < d; c++) gradient[i * d + c] += push * u[c];
        }
      });
      rows.forEach((row, i) => {
        const image = through(row), excess = dot(image, row) - 1;
        value += lam * excess * excess;
        if (gradient) for (let c = 0; c < d; c++) gradient[i * d + c] += 4 * lam * excess * image[c];
      });
      return value;
    }
    return { evaluate, d };
  }

  function tensor(teacher, order) {
    const sizes = teacher.weights.map(norm);
    return [teacher.weights.map((row, i) => row.map((w) => w / sizes[i])), teacher.output.map((a, i) => a * hermite(teacher.activation, order, sizes[i]))];
  }

  function constants(fourth, largest, smallest) {
    if (!(largest > 0)) throw new Error("this loss needs positive output weights");
    return { mu: 12 * SMALL / (largest / Math.max(smallest, LEAST_RATIO * largest)), lam: 4 * root(6) * Math.abs(fourth) * largest };
  }

  function needsFourth(teacher) {
    const fourth = hermite(teacher.activation, 4);
    if (Math.abs(fourth) < 1e-12) throw new Error(`the fourth Hermite coefficient of ${teacher.activation} is zero, so a fourth-order loss cannot see the weights`);
    return fourth;
  }

  /** G of Ge, Lee and Ma (2017). */
  function landscape(teacher) {
    const fourth = needsFourth(teacher), [directions, weights] = tensor(teacher, 4), outputs = weights.map((w) => w / fourth);
    const { mu, lam } = constants(fourth, Math.max(...outputs), Math.min(...outputs));
    return { ...quartic(directions, weights.map((w) => Math.sign(fourth) * w), root(6), mu / (2 * root(6)), lam), constants: { mu, lam } };
  }

  /** F, for teachers whose rows are not orthonormal. */
  function fullRank(teacher) {
    const fourth = needsFourth(teacher), [directions, weights] = tensor(teacher, 4), second = hermite(teacher.activation, 2);
    const scale = tensor(teacher, 2)[1].map((w) => w / second), d = directions[0].length;
    const outputs = scale.map((s, i) => fourth * s * s / weights[i]);
    if (scale.some((s) => !(s > 0)) || outputs.some((a) => !(a > 0))) throw new Error("F needs positive output weights");
    const { mu, lam } = constants(fourth, 1 / Math.min(...outputs), 1 / Math.max(...outputs));
    const T = Array.from({ length: d }, (_, r) => Array.from({ length: d }, (_, c) => directions.reduce((sum, u, i) => sum + scale[i] * u[r] * u[c], 0)));
    return { ...quartic(directions, weights.map((w) => Math.sign(fourth) * w), root(6), mu / (2 * root(6)), lam, T), constants: { mu, lam }, T };
  }

  /** κ_i = a_i E[φ''''(u_i·x)] for x ~ N(0, I), or for ½N(m, I) + ½N(−m, I), where a kink of jump J has J p''(0). */
  function kappas(teacher, shift) {
    const [directions, weights] = tensor(teacher, 4), far = shift && shift.some((s) => s !== 0);
    if (!far) return weights.map((w) => root(24) * w);
    const { jump } = ACTIVATIONS[teacher.activation];
    if (!jump) throw new Error(`L under a mixture is known here for relu, leaky_relu and abs, not for ${teacher.activation}`);
    return directions.map((u, i) => { const m = dot(u, shift); return teacher.output[i] * norm(teacher.weights[i]) * jump * (m * m - 1) * Math.exp(-0.5 * m * m) / root(2 * Math.PI); });
  }

  /** L of Gao et al. (2018) for that law of the inputs. */
  function score(teacher, shift) {
    needsFourth(teacher);
    const [directions] = tensor(teacher, 4), kappa = kappas(teacher, shift);
    const sign = Math.sign(kappa.reduce((sum, one) => sum + one, 0)), signed = kappa.map((one) => sign * one);
    const largest = Math.max(...signed), smallest = Math.max(Math.min(...signed), LEAST_RATIO * largest);
    const mu = SMALL * smallest / largest, lam = 4 * largest;
    return { ...quartic(directions, signed, 1, mu, lam), constants: { mu, lam }, kappa };
  }

  /** One ReLU filter shared by patches (Du et al. 2017): the point is the filter, then the outputs. */
  function conv(teacher) {
    const p = teacher.filter.length, size = norm(teacher.filter), goal = teacher.filter.map((w) => w / size), target = teacher.output.map((a) => a * size);
    function evaluate(x, gradient) {
      const filter = x.subarray(0, p), output = x.subarray(p), long = norm(filter), rho = dot(filter, goal) / long, [g, slope] = arc(rho);
      let squares = 0, total = 0, cross = 0;
      output.forEach((a, i) => { const change = a - target[i]; squares += change * change; total += change; cross += a * target[i]; });
      if (gradient) {
        output.forEach((a, i) => { gradient[p + i] += ((Math.PI - 1) * (a - target[i]) + (Math.PI - g) * target[i] + total) / (2 * Math.PI); });
        for (let c = 0; c < p; c++) gradient[c] -= cross * slope * (goal[c] / long - rho * filter[c] / (long * long)) / (2 * Math.PI);
      }
      return ((Math.PI - 1) * squares + 2 * (Math.PI - g) * cross + total * total) / (4 * Math.PI);
    }
    return { evaluate, d: p, goal, target };
  }

  const MAKERS = { squared, "f'": hermite24, G: landscape, F: fullRank, L: score, conv };

  /** A loss by name with value, gradient and Hessian of a flat point. */
  function create(name, teacher, option) {
    const core = MAKERS[name](teacher, option);
    const unit = name === "f'";
    // f' is minimised over rows of length one: it is taken at the normalised rows.
    const onto = (x) => { if (!unit) return x; const y = Float64Array.from(x); rowsOf(y, core.d).forEach((row) => { const size = norm(row) || 1; for (let c = 0; c < row.length; c++) row[c] /= size; }); return y; };
    const raw = (x) => { const gradient = new Float64Array(x.length), value = core.evaluate(x, gradient); return { value, gradient }; };
    function valueAndGradient(x) {
      if (!unit) return raw(x);
      const { value, gradient } = raw(onto(x)), rows = rowsOf(x, core.d);
      rowsOf(gradient, core.d).forEach((g, i) => {
        const size = norm(rows[i]) || 1, along = dot(g, rows[i]) / (size * size);
        for (let c = 0; c < g.length; c++) g[c] = (g[c] - along * rows[i][c]) / size;
      });
      return { value, gradient };
    }
    /** Central differences of the gradient, to fourth order. */
    function hessian(x) {
      const n = x.length, matrix = Array.from({ length: n }, () => new Float64Array(n)), y = Float64Array.from(x);
      for (let i = 0; i < n; i++) {
        const at = (by) => { y[i] = x[i] + by; const { gradient } = valueAndGradient(y); y[i] = x[i]; return gradient; };
        const [a, b, c, e] = [at(STEP), at(-STEP), at(2 * STEP), at(-2 * STEP)];
        for (let j = 0; j < n; j++) matrix[i][j] = (8 * (a[j] - b[j]) - (c[j] - e[j])) / (12 * STEP);
      }
      for (let i = 0; i < n; i++) for (let j = 0; j < i; j++) matrix[i][j] = matrix[j][i] = 0.5 * (matrix[i][j] + matrix[j][i]);
      return matrix;
    }
    /** Unit directions along which the loss is flat by its form: lengths of rows or of the filter. */
    function flat(x) {
      const parts = unit ? rowsOf(x, core.d).map((_, i) => [i * core.d, core.d]) : name === "conv" ? [[0, core.d]] : [];
      return parts.map(([from, count]) => { const v = new Float64Array(x.length), size = norm(x.subarray(from, from + count)) || 1; for (let c = from; c < from + count; c++) v[c] = x[c] / size; return v; });
    }
    return { name, core, d: core.d, onto, raw, valueAndGradient, value: (x) => core.evaluate(onto(x)), hessian, flat, constants: core.constants, kappa: core.kappa };
  }

  /** Eigenvalues, rising, and vectors of a symmetric matrix, by Jacobi's rotations. */
  function eigen(matrix) {
    const n = matrix.length, A = matrix.map((row) => Float64Array.from(row)), V = A.map((_, i) => { const row = new Float64Array(n); row[i] = 1; return row; });
    for (let sweep = 0; sweep < 60; sweep++) {
      let off = 0, all = 0;
      for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) { all += A[i][j] ** 2; if (i !== j) off += A[i][j] ** 2; }
      if (off <= 1e-30 * all) break;
      for (let p = 0; p < n; p++) for (let q = p + 1; q < n; q++) {
        if (A[p][q] === 0) continue;
        const tau = (A[q][q] - A[p][p]) / (2 * A[p][q]), t = (tau >= 0 ? 1 : -1) / (Math.abs(tau) + Math.sqrt(1 + tau * tau)), c = 1 / Math.sqrt(1 + t * t), s = t * c;
        for (let k = 0; k < n; k++) { const a = A[k][p], b = A[k][q]; A[k][p] = c * a - s * b; A[k][q] = s * a + c * b; }
        for (let k = 0; k < n; k++) { const a = A[p][k], b = A[q][k]; A[p][k] = c * a - s * b; A[q][k] = s * a + c * b; }
        for (let k = 0; k < n; k++) { const a = V[p][k], b = V[q][k]; V[p][k] = c * a - s * b; V[q][k] = s * a + c * b; }
      }
    }
    const order = [...A.keys()].sort((i, j) => A[i][i] - A[j][j]);
    return { values: order.map((i) => A[i][i]), vectors: order.map((i) => V[i]) };
  }

  /** Newton's method on |H|, with backtracking, until the gradient is zero to rounding. */
  function settle(loss, start, steps = 200) {
    let x = Float64Array.from(start), now = loss.valueAndGradient(x);
    for (let k = 0; k < steps && norm(now.gradient) > 1e-12; k++) {
      const { values, vectors } = eigen(loss.hessian(x)), largest = Math.max(...values.map(Math.abs)) || 1;
      const move = new Float64Array(x.length);
      vectors.forEach((v, i) => { const size = Math.abs(values[i]), along = size > 1e-9 * largest ? dot(v, now.gradient) / size : 0; for (let c = 0; c < x.length; c++) move[c] -= along * v[c]; });
      let accepted = false;
      for (let t = 1; t > 1e-9 && !accepted; t /= 2) {
        const next = x.map((w, c) => w + t * move[c]), after = loss.valueAndGradient(next);
        accepted = after.value < now.value || (after.value <= now.value + 1e-15 * Math.abs(now.value) + 1e-18 && norm(after.gradient) < norm(now.gradient));
        if (accepted) { x = next; now = after; }
      }
      if (!accepted) break;
    }
    return x;
  }

  /** The kind of a point, as planted.certify has it, with its spectrum; `least` is the global minimum, −∞ if unknown. */
  function certify(loss, x, least) {
    const tolerance = 1e-6, { value, gradient } = loss.valueAndGradient(x), matrix = loss.hessian(x), lifted = loss.flat(x);
    const free = eigen(matrix.map((row, i) => row.map((h, j) => h - lifted.reduce((sum, v) => sum + v[i] * dot(v, matrix.map((line) => line[j])), 0))));
    const size = Math.max(...free.values.map(Math.abs)) || 1, long = norm(x), slope = norm(gradient);
    // The known flat directions are eigenvectors of eigenvalue zero now: they are left out.
    const kept = free.values.map((lambda, i) => ({ lambda, vector: free.vectors[i] })).filter(({ vector }) => lifted.every((v) => Math.abs(dot(v, vector)) < 0.5));
    const values = kept.map(({ lambda }) => lambda), smallest = values[0];
    const answer = (kind, reason) => ({ kind, reason, value, slope, values, direction: kept[0].vector, skipped: lifted.length });
    if (value - least <= 0.5 * tolerance ** 2 * size * long ** 2 + 1e-13 * Math.abs(value)) return answer("global minimum", "no student has a lower loss");
    if (slope > tolerance * size * long) return answer("not critical", "the gradient does not vanish");
    if (smallest < -tolerance * size) return answer("saddle", "the gradient vanishes and the Hessian has a negative eigenvalue");
    if (loss.name === "conv" && dot(x.subarray(0, loss.d), loss.core.goal) < 0) {
      const cross = dot(x.subarray(loss.d), loss.core.target);
      return cross < 0 ? answer("local minimum", "the filter points away from the teacher's, and the loss grows with the third power of a turn") : answer("saddle", "the filter points away from the teacher's, and the loss falls with the third power of a turn");
    }
    if (smallest > tolerance * size) return answer("local minimum", "the gradient vanishes and the Hessian is positive definite");
    return answer("undecided", `second derivatives vanish in ${values.filter((l) => Math.abs(l) <= tolerance * size).length} directions`);
  }

  return { ACTIVATIONS, create, eigen, settle, certify, hermite, kappas, dot, norm, rowsOf, MAKERS };
})();
