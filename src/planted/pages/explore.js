const Explorer = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const place = (id) => document.getElementById(id);
  const { dot, norm, rowsOf } = Losses;
  const SIZE = 420, UNIT = 130, FRAMES = 3000, LINE = 121;
  const LOSS_WORDS = { squared: "squared loss", "f'": "f' (Hermite parts 2 and 4)", G: "G (landscape design)", F: "F (G for slanted teachers)", L: "L (score functions)", conv: "shared filter, squared loss" };
  const NAMES = Object.keys(LOSS_WORDS);

  /** Numbers between 0 and 1 that a seed decides. */
  function generator(seed) {
    let state = seed >>> 0;
    return () => { state = (state + 0x6d2b79f5) >>> 0; let t = state; t = Math.imul(t ^ (t >>> 15), t | 1); t ^= t + Math.imul(t ^ (t >>> 7), t | 61); return ((t ^ (t >>> 14)) >>> 0) / 4294967296; };
  }
  const gaussian = (random) => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const unit = (row) => { const size = norm(row) || 1; return row.map((w) => w / size); };

  const state = { teacher: null, loss: "squared", rival: "", students: 2, shift: 0, seed: 1, start: null, axes: [0, 1, 2], yaw: 0.6, pitch: 0.4, running: false };
  let runners = [], shown = null, frames = 0;

  // ---- teacher and losses -------------------------------------------------------------------------------------
  function teacherRows(shape, k, d, seed) {
    const random = generator(1000 + seed), rows = [];
    for (let i = 0; i < k; i++) {
      if (shape === "orthonormal" || shape === "slanted") {
        const row = Array(d).fill(0); row[i % d] = i < d ? 1 : -1;
        if (shape === "slanted" && i > 0) { row[(i - 1) % d] = 0.6; }
        rows.push(unit(row));
      } else if (shape === "around") {
        const angle = 2 * Math.PI * i / k, row = Array(d).fill(0); row[0] = Math.cos(angle); row[1] = Math.sin(angle); rows.push(row);
      } else rows.push(unit(Array.from({ length: d }, () => gaussian(random))));
    }
    return rows;
  }
  const outputsOf = (kind, k) => Array.from({ length: k }, (_, i) => (kind === "rising" ? 1 + (k > 1 ? i / (k - 1) : 0) : kind === "mixed" && i === k - 1 && k > 1 ? -1 : 1));
  const isConv = () => state.loss === "conv";
  const convTeacher = () => ({ filter: unit(state.teacher.weights[0]), output: state.teacher.output.map((a, i) => (i % 2 && state.teacher.alternate ? -a : a)) });
  const shiftVector = () => { const d = state.teacher.weights[0].length; return Array.from({ length: d }, (_, i) => (i === 0 ? state.shift : 0.5 * state.shift)); };
  const fixedOutputs = () => { const { output } = state.teacher, m = state.students; if (output.length === m) return output; const total = output.reduce((a, b) => a + Math.abs(b), 0); return Array.from({ length: m }, (_, i) => (i < output.length ? output[i] : Math.sign(output[i % output.length]) * total / output.length)); };

  function makeLoss(name) {
    if (name === "conv") return Losses.create("conv", convTeacher());
    const option = name === "L" ? shiftVector() : name === "squared" || name === "f'" ? fixedOutputs() : undefined;
    return Losses.create(name, state.teacher, option);
  }

  /** Rows at which a student is the teacher: for F the dual ones, of length one in the norm of T. */
  function goals(name) {
    const { weights, output } = state.teacher;
    if (name === "conv") return [convTeacher().filter];
    if (name === "F" && weights.length === weights[0].length) {
      const scaled = weights.map((row, i) => row.map((w) => w * Math.sqrt(Math.abs(output[i])))), inverse = invert(scaled);
      if (inverse) return scaled.map((_, i) => inverse.map((row) => row[i]));
    }
    return weights;
  }
  function invert(matrix) {
    const n = matrix.length, A = matrix.map((row, i) => [...row, ...Array.from({ length: n }, (_, j) => (i === j ? 1 : 0))]);
    for (let c = 0; c < n; c++) {
      const pivot = A.slice(c).reduce((best, row, i) => (Math.abs(row[c]) > Math.abs(A[best][c]) ? i + c : best), c);
      if (Math.abs(A[pivot][c]) < 1e-12) return null;
      [A[c], A[pivot]] = [A[pivot], A[c]];
      const by = A[c][c]; A[c] = A[c].map((v) => v / by);
      A.forEach((row, r) => { if (r !== c && row[c]) A[r] = row.map((v, j) => v - row[c] * A[c][j]); });
    }
    return A.map((row) => row.slice(n));
  }

  const mirrored = (name) => ["f'", "G", "F", "L"].includes(name) || (name !== "conv" && Losses.ACTIVATIONS[state.teacher.activation].mirrored);

  /** The teacher nearest to a point, as a point: the best assignment of its rows, by the angles. */
  function nearestTeacher(name, x) {
    const targets = goals(name), d = targets[0].length;
    if (name === "conv") { const t = convTeacher(), long = norm(x.subarray(0, d)); return Float64Array.from([...t.filter.map((w) => w * long), ...t.output]); }
    const rows = rowsOf(x, d), m = rows.length, o = fixedOutputs(), both = mirrored(name);
    const scaled = name === "squared" || name === "f'";
    const cost = rows.map((row, i) => targets.map((goal, j) => {
      const cosine = dot(row, goal) / ((norm(row) || 1) * norm(goal));
      const wrong = scaled && Math.sign(o[i]) !== Math.sign(state.teacher.output[j]) ? 10 : 0;
      return wrong + 1 - (both ? Math.abs(cosine) : cosine);
    }));
    let best = null, least = Infinity;
    const assign = (i, free, chosen, sum) => {
      if (sum >= least) return;
      if (i === m) { best = chosen; least = sum; return; }
      const options = free.length ? free : targets.map((_, j) => j);
      for (const j of options) assign(i + 1, free.filter((other) => other !== j), [...chosen, j], sum + cost[i][j]);
    };
    assign(0, targets.map((_, j) => j), [], 0);
    const degree = Losses.ACTIVATIONS[state.teacher.activation].degree, count = targets.map((_, j) => best.filter((one) => one === j).length);
    const point = rows.flatMap((row, i) => {
      const goal = targets[best[i]], sign = both && dot(row, goal) < 0 ? -1 : 1;
      const size = name === "squared" && degree ? Math.abs(state.teacher.output[best[i]] / o[i] / count[best[i]]) ** (1 / degree) : 1;
      return [...goal].map((w) => sign * size * w);
    });
    return Object.assign(Float64Array.from(point), { assignment: best });
  }

  /** The largest angle between a student row and its teacher row, in degrees. */
  function worstAngle(name, x) {
    const near = nearestTeacher(name, x), d = goals(name)[0].length, rows = rowsOf(name === "conv" ? x.subarray(0, d) : x, d), targets = rowsOf(name === "conv" ? near.subarray(0, d) : near, d);
    return Math.max(...rows.map((row, i) => Math.acos(Math.max(-1, Math.min(1, dot(row, targets[i]) / ((norm(row) || 1) * (norm(targets[i]) || 1)))))) ) * 180 / Math.PI;
  }

  // ---- runs ---------------------------------------------------------------------------------------------------
  function runner(name, x) {
    const loss = makeLoss(name), here = loss.onto(Float64Array.from(x));
    const least = name === "squared" || name === "conv" ? 0 : loss.value(Losses.settle(loss, nearestTeacher(name, here)));
    return { name, loss, least, known: guaranteed(name, loss), ...fresh(loss, here) };
  }

  /** Whether the teacher is known to be a global minimum: zero loss, or the theorem of the loss. */
  function guaranteed(name, loss) {
    const { weights } = state.teacher, k = weights.length, square = k === weights[0].length && k === state.students;
    const orthonormal = weights.every((row, i) => weights.every((other, j) => Math.abs(dot(row, other) - (i === j ? 1 : 0)) < 1e-9));
    if (name === "squared") return k <= state.students;
    if (name === "f'") return k === state.students;
    if (name === "F") return square;
    return name === "conv" || (square && orthonormal && (name === "G" || new Set(loss.kappa.map(Math.sign)).size === 1));
  }
  const kindOf = (run) => Losses.certify(run.loss, shownPoint(run), run.known ? run.least : -Infinity);

  const fresh = (loss, x) => { const value = loss.value(x); return { x, value, rate: 0.1, steps: 0, path: [Float64Array.from(x)], at: [0], values: [value], done: false }; };

  function advance(run, count) {
    for (let s = 0; s < count && !run.done; s++) {
      const { value, gradient } = run.loss.valueAndGradient(run.x);
      if (norm(gradient) < 1e-11) { run.done = true; break; }
      let moved = false;
      for (let tries = 0; tries < 40 && !moved; tries++) {
        const next = run.loss.onto(run.x.map((w, c) => w - run.rate * gradient[c])), after = run.loss.value(next);
        if (after < value) { run.x = next; run.value = after; run.rate *= 1.25; moved = true; } else run.rate *= 0.5;
      }
      if (!moved) { run.done = true; break; }
      run.steps += 1;
    }
    record(run);
  }
  function record(run) {
    run.path.push(Float64Array.from(run.x)); run.at.push(run.steps); run.values.push(run.value);
    if (run.path.length > FRAMES) for (const list of ["path", "at", "values"]) run[list] = run[list].filter((_, i) => i % 2 === 0 || i === run[list].length - 1);
  }

  function startPoint() {
    const d = state.teacher.weights[0].length, random = generator(state.seed), kind = place("begin").value;
    if (isConv()) {
      const t = convTeacher(), noise = t.filter.map(() => gaussian(random)), sign = kind === "opposite" ? -1 : 1;
      const filter = kind === "near" || kind === "opposite" ? t.filter.map((w, i) => sign * w + 0.15 * noise[i]) : noise;
      return Float64Array.from([...unit(filter), ...t.output.map((a) => (kind === "near" ? a : 0) + 0.5 * gaussian(random))]);
    }
    const targets = goals(state.loss), rows = [];
    for (let i = 0; i < state.students; i++) {
      const goal = targets[i % targets.length], noise = goal.map(() => gaussian(random));
      if (kind === "near") rows.push(goal.map((w, c) => w + 0.25 * noise[c]));
      else if (kind === "opposite") rows.push(goal.map((w, c) => -w + 0.1 * noise[c]));
      else if (kind === "together") rows.push(unit(goal.map((_, c) => 1 + 0.15 * noise[c])));
      else rows.push(unit(noise));
    }
    return Float64Array.from(rows.flat().slice(0, state.students * d));
  }

  function say(text) { place("message").textContent = text; }

  /** Make the runs anew, from `state.start` or a start of the chosen kind. */
  function restart(keep = false) {
    if (!keep || !state.start) state.start = startPoint();
    running(false);
    const names = [state.loss, ...(state.rival && !isConv() ? [state.rival] : [])];
    const made = [];
    for (const name of names) {
      try { made.push(runner(name, state.start)); } catch (error) { say(error.message); }
    }
    if (!made.length) {
      const because = place("message").textContent;
      state.loss = "squared"; place("loss").value = "squared"; made.push(runner("squared", state.start));
      say(`${because}. The squared loss is shown instead.`);
    } else if (made.length === names.length) say(lawWords());
    runners = made; shown = null;
    buildStage(); render(true);
  }
  function lawWords() {
    const l = runners.length && [state.loss, state.rival].includes("L");
    if (!l) return "";
    try {
      const kappa = Losses.kappas(state.teacher, shiftVector());
      const signs = new Set(kappa.map(Math.sign));
      return `L: the neurons weigh κ = ${kappa.map((one) => show(one, 2)).join(", ")} under this law${signs.size > 1 ? "; they have both signs, and L loses its good landscape" : ""}.`;
    } catch { return ""; }
  }

  function readControls() {
    const number = (id) => { const input = place(id), value = Math.round(Number(input.value)); const fine = Math.max(Number(input.min), Math.min(Number(input.max), value || 1)); input.value = fine; return fine; };
    const k = number("neurons"), d = number("inputs");
    const shape = place("shape").value, outputs = place("outputs").value;
    const weights = shape === "own" && state.teacher && state.teacher.weights.length === k && state.teacher.weights[0].length === d ? state.teacher.weights : teacherRows(shape === "own" ? "orthonormal" : shape, k, d, state.seed);
    const output = outputs === "own" && state.teacher && state.teacher.output.length === k ? state.teacher.output : outputsOf(outputs, k);
    state.loss = place("loss").value; state.rival = place("rival").value;
    state.teacher = { weights, output, activation: isConv() ? "relu" : place("activation").value };
    if (isConv()) place("activation").value = "relu";
    state.students = isConv() ? k : number("students");
    state.shift = Number(place("shift").value);
    if (state.axes.some((axis) => axis >= d)) state.axes = [0, 1, 2];
    labels();
  }
  function labels() {
    place("shift-value").textContent = show(state.shift, 2);
    place("law-label").hidden = ![state.loss, state.rival].includes("L");
    place("students").disabled = place("rival").disabled = place("activation").disabled = place("shape").disabled = isConv();
    place("teacher-fields").querySelector("label:nth-of-type(2)").firstChild.textContent = isConv() ? "patches " : "neurons ";
  }

  // ---- the picture of the neurons -----------------------------------------------------------------------------
  const dimension = () => state.teacher.weights[0].length;
  function turned(row) {
    if (dimension() === 2) return [row[0], row[1], 0];
    const [a, b, c] = state.axes.map((axis) => row[axis]), { yaw, pitch } = state;
    const x = Math.cos(yaw) * a + Math.sin(yaw) * b, y = -Math.sin(yaw) * a + Math.cos(yaw) * b;
    return [y, Math.cos(pitch) * c - Math.sin(pitch) * x, Math.sin(pitch) * c + Math.cos(pitch) * x];
  }
  function turnedBack([h, v, depth]) {
    if (dimension() === 2) return [h, v];
    const { yaw, pitch } = state, x = Math.cos(pitch) * depth - Math.sin(pitch) * v, c = Math.sin(pitch) * depth + Math.cos(pitch) * v;
    return [Math.cos(yaw) * x - Math.sin(yaw) * h, Math.sin(yaw) * x + Math.cos(yaw) * h, c];
  }
  const screen = (row) => { const [h, v, depth] = turned(row); return [SIZE / 2 + UNIT * h, SIZE / 2 - UNIT * v, depth]; };

  function buildStage() {
    const stage = place("stage");
    stage.replaceChildren(...runners.map((run, index) => {
      const svg = draw("svg", { viewBox: `0 0 ${SIZE} ${SIZE}`, role: "group", "aria-label": `neurons of ${LOSS_WORDS[run.name]}` });
      const colour = index ? "second" : "first", d = dimension();
      svg.append(draw("circle", { cx: SIZE / 2, cy: SIZE / 2, r: UNIT, style: "fill:var(--ground);stroke:var(--line);stroke-width:1.5" }));
      run.wires = draw("g", { style: "fill:none;stroke:var(--line)" });
      run.trails = draw("g", { style: `fill:none;stroke:var(--${colour});opacity:.45;stroke-width:1.5` });
      run.marks = draw("g"); run.dots = [];
      svg.append(run.wires, run.trails, run.marks);
      run.goals = goals(run.name);
      const rows = studentRows(run);
      rows.forEach((_, i) => {
        const dot_ = draw("circle", { r: 11, class: "dot", style: `fill:var(--${colour})` });
        const line = draw("line", { x1: SIZE / 2, y1: SIZE / 2, style: `stroke:var(--${colour});stroke-width:2;opacity:.6` });
        const group = draw("g", { class: "student", tabindex: 0, role: "slider", "aria-label": `student neuron ${i + 1}`, "aria-valuemin": -180, "aria-valuemax": 180, "data-neuron": i },
          line, dot_, draw("text", { "text-anchor": "middle", dy: 4, style: "fill:var(--card);font-weight:600;pointer-events:none" }, run.name === "conv" ? "w" : String(i + 1)));
        group.addEventListener("pointerdown", (event) => grab(event, run, i, svg));
        group.addEventListener("keydown", (event) => nudge(event, run, i));
        run.dots.push({ group, line, dot: dot_, text: group.lastChild });
        run.trails.append(draw("path"));
        svg.append(group);
      });
      if (d > 2) svg.addEventListener("pointerdown", (event) => { if (!event.target.closest(".student")) rotate(event, svg); });
      run.facts = make("p", { class: "facts", "aria-live": "off" });
      const card = make("div", { class: "card" }, make("h2", {}, make("span", {}, LOSS_WORDS[run.name]), run.badge = make("span", { class: "soft" })), svg, run.facts);
      if (d > 3 && index === 0) card.append(axesChoice(d));
      if (run.name === "conv") card.append(outputSliders(run));
      return card;
    }));
  }
  function axesChoice(d) {
    return make("p", { class: "axes" }, make("span", { class: "soft" }, `shown of ${d} inputs:`), ...[0, 1, 2].map((at) => {
      const select = make("select", { "aria-label": `axis ${at + 1}`, onchange: () => { state.axes[at] = Number(select.value); render(true); } }, ...Array.from({ length: d }, (_, i) => make("option", { value: i, selected: state.axes[at] === i }, `x${i + 1}`)));
      return select;
    }));
  }
  function outputSliders(run) {
    run.sliders = Array.from(run.x.subarray(run.loss.d), (value, i) => make("input", { type: "range", min: -3, max: 3, step: 0.01, value, "aria-label": `output of patch ${i + 1}`, oninput: (event) => { const x = Float64Array.from(run.x); x[run.loss.d + i] = Number(event.target.value); placed(x); } }));
    const goal = convTeacher().output;
    return make("p", { class: "sliders" }, make("span", { class: "soft" }, "outputs of patches (teacher):"), ...run.sliders.map((slider, i) => make("label", {}, slider, show(goal[i], 2))));
  }
  const studentRows = (run, x = shownPoint(run)) => (run.name === "conv" ? [x.subarray(0, run.loss.d)] : rowsOf(x, run.loss.d));
  const shownPoint = (run) => (shown === null ? run.x : run.path[Math.min(shown, run.path.length - 1)]);

  /** A point that the user made: the start of all runs. */
  function placed(x) {
    place("begin").value = "own"; state.start = x;
    for (const run of runners) {
      Object.assign(run, fresh(run.loss, run.loss.onto(Float64Array.from(x))));
    }
    shown = null; render();
  }
  function moveRow(run, i, row) {
    const x = Float64Array.from(shownPoint(run));
    x.set(row, i * run.loss.d);
    placed(x);
  }
  function grab(event, run, i, svg) {
    event.preventDefault(); running(false);
    run.dots[i].group.focus();
    const box = svg.getBoundingClientRect();
    const move = (to) => {
      const h = ((to.clientX - box.left) / box.width * SIZE - SIZE / 2) / UNIT, v = -((to.clientY - box.top) / box.height * SIZE - SIZE / 2) / UNIT;
      const row = Float64Array.from(studentRows(run)[i]), [, , depth] = turned(row), flat = dimension() === 2;
      const visible = flat ? [0, 1] : state.axes, long = norm(visible.map((axis) => row[axis])) || 1, reach = Math.hypot(h, v) || 1e-9;
      // On the circle or sphere unless shift is held, which changes the length too.
      let next = to.shiftKey ? [h, v, depth] : reach >= long || flat ? [h * long / reach, v * long / reach, 0] : [h, v, (depth < 0 ? -1 : 1) * Math.sqrt(long * long - reach * reach)];
      turnedBack(next).forEach((value, at) => { row[visible[at]] = value; });
      moveRow(run, i, row);
    };
    const drop = () => { removeEventListener("pointermove", move); removeEventListener("pointerup", drop); render(true); };
    addEventListener("pointermove", move); addEventListener("pointerup", drop);
  }
  function nudge(event, run, i) {
    const turn = { ArrowLeft: [0.08, 0], ArrowRight: [-0.08, 0], ArrowUp: [0, 0.08], ArrowDown: [0, -0.08] }[event.key];
    if (!turn) return;
    event.preventDefault(); running(false);
    const row = Float64Array.from(studentRows(run)[i]), flat = dimension() === 2, visible = flat ? [0, 1] : state.axes;
    if (flat && turn[1]) { const grow = 1 + turn[1]; row.forEach((w, c) => { row[c] = w * grow; }); }
    else {
      let [h, v, depth] = turned(row);
      if (flat) { const [c, s] = [Math.cos(turn[0]), Math.sin(turn[0])]; [h, v] = [c * h - s * v, s * h + c * v]; }
      else if (turn[0]) { const [c, s] = [Math.cos(turn[0]), Math.sin(turn[0])]; [h, depth] = [c * h - s * depth, s * h + c * depth]; }
      else { const [c, s] = [Math.cos(turn[1]), Math.sin(turn[1])]; [v, depth] = [c * v + s * depth, -s * v + c * depth]; }
      turnedBack([h, v, depth]).forEach((value, at) => { row[visible[at]] = value; });
    }
    moveRow(run, i, row); render(true);
  }
  function rotate(event, svg) {
    const from = { x: event.clientX, y: event.clientY, yaw: state.yaw, pitch: state.pitch };
    const move = (to) => { state.yaw = from.yaw - (to.clientX - from.x) / 120; state.pitch = Math.max(-1.5, Math.min(1.5, from.pitch + (to.clientY - from.y) / 120)); render(); };
    const drop = () => { removeEventListener("pointermove", move); removeEventListener("pointerup", drop); };
    addEventListener("pointermove", move); addEventListener("pointerup", drop);
  }

  function renderNeurons(run) {
    const d = dimension(), rows = studentRows(run);
    if (d > 2) {
      const ring = (make_) => `M${Array.from({ length: 49 }, (_, i) => screen(make_(i * Math.PI / 24)).slice(0, 2).map((w) => w.toFixed(1)).join(" ")).join("L")}`;
      const at = (a, b, c) => { const row = Array(d).fill(0); [a, b, c].forEach((value, i) => { row[state.axes[i]] = value; }); return row; };
      run.wires.replaceChildren(draw("path", { d: ring((t) => at(Math.cos(t), Math.sin(t), 0)) }), draw("path", { d: ring((t) => at(Math.cos(t), 0, Math.sin(t))) }), draw("path", { d: ring((t) => at(0, Math.cos(t), Math.sin(t))) }));
    }
    const both = mirrored(run.name);
    run.marks.replaceChildren(...run.goals.flatMap((goal, i) => (both ? [1, -1] : [1]).map((sign) => {
      const [x, y] = screen([...goal].map((w) => sign * w));
      return draw("g", { style: `opacity:${sign < 0 ? 0.45 : 1}` }, draw("line", { x1: SIZE / 2, y1: SIZE / 2, x2: x, y2: y, style: "stroke:var(--third);stroke-dasharray:4 4" }),
        draw("rect", { x: x - 9, y: y - 9, width: 18, height: 18, transform: `rotate(45 ${x} ${y})`, style: "fill:none;stroke:var(--third);stroke-width:2.5" }, draw("title", {}, `teacher neuron ${i + 1}${sign < 0 ? ", mirrored" : ""}`)));
    })));
    const until = shown === null ? run.path.length : Math.min(shown + 1, run.path.length), every = Math.max(1, Math.ceil(until / 150));
    rows.forEach((row, i) => {
      const [x, y, depth] = screen(row), part = run.dots[i];
      part.line.setAttribute("x2", x); part.line.setAttribute("y2", y);
      part.dot.setAttribute("cx", x); part.dot.setAttribute("cy", y); part.dot.setAttribute("r", depth < -0.05 ? 8 : 11);
      part.text.setAttribute("x", x); part.text.setAttribute("y", y);
      part.group.style.opacity = depth < -0.05 ? 0.75 : 1;
      const angle = Math.round(Math.atan2(SIZE / 2 - y, x - SIZE / 2) * 180 / Math.PI);
      part.group.setAttribute("aria-valuenow", angle);
      part.group.setAttribute("aria-valuetext", `${angle} degrees, length ${show(norm(row), 2)}`);
      let trail = "";
      for (let p = 0; p < until; p += every) { const [tx, ty] = screen(studentRows(run, run.path[p])[i]); trail += `${p ? "L" : "M"}${tx.toFixed(1)} ${ty.toFixed(1)}`; }
      run.trails.children[i].setAttribute("d", trail ? `${trail}L${x.toFixed(1)} ${y.toFixed(1)}` : "");
    });
    const point = shownPoint(run), value = shown === null ? run.value : run.values[Math.min(shown, run.values.length - 1)], steps = shown === null ? run.steps : run.at[Math.min(shown, run.at.length - 1)];
    run.facts.textContent = "";
    run.facts.append(...[["loss", show(value)], run.known ? ["above the least", show(Math.max(0, value - run.least))] : ["against the teacher", show(value - run.least)], ["steps", show(steps)], ["worst angle to the teacher", `${show(worstAngle(run.name, point), 3)}°`]].map(([what, text]) => make("span", {}, make("span", { class: "soft" }, `${what} `), text)));
    if (run.sliders) run.sliders.forEach((slider, i) => { slider.value = point[run.loss.d + i]; });
  }

  function renderCurve() {
    if (runners.every((run) => run.path.length < 2)) { place("curve").replaceChildren(make("p", { class: "soft" }, "Press run, or drag a student neuron first: on the circle or sphere, with shift off it. Arrow keys move the neuron in focus.")); return; }
    const floor = 1e-16, series = runners.map((run, index) => {
      const every = Math.max(1, Math.ceil(run.values.length / 300)), keep = (_, i) => i % every === 0 || i === run.values.length - 1, first = Math.max(run.values[0] - run.least, floor);
      return { x: run.at.filter(keep), y: run.values.filter(keep).map((value) => Math.max((value - run.least) / first, floor)), colour: index ? "second" : "first", label: LOSS_WORDS[run.name] };
    });
    place("curve").replaceChildren(figure(chart(series, { width: 860, height: 190, xLabel: "steps", yLabel: "share left", logY: true, label: "loss above the least one, relative to the start" }), "Loss above the least one, as a share of that of the start.", "loss"));
  }

  // ---- lines, plane, spectrum ---------------------------------------------------------------------------------
  function lineDirection(run, x, kind) {
    if (kind === "teacher") return nearestTeacher(run.name, x).map((w, c) => w - x[c]);
    if (kind === "start") return run.path[0].map((w, c) => w - x[c]);
    if (kind === "random") { const random = generator(7 + state.seed), v = x.map(() => gaussian(random)), size = norm(v); return v.map((w) => w / size); }
    const v = kind === "down" ? run.loss.valueAndGradient(x).gradient.map((g) => -g) : Float64Array.from(kindOf(run).direction), size = norm(v) || 1;
    return v.map((w) => w / size);
  }
  function renderLine() {
    const kind = place("line").value, series = runners.map((run, index) => {
      const x = shownPoint(run), v = lineDirection(run, x, kind), t = Array.from({ length: LINE }, (_, i) => -0.5 + 2 * i / (LINE - 1));
      const values = t.map((one) => run.loss.value(x.map((w, c) => w + one * v[c])));
      const low = Math.min(...values), high = Math.max(...values) - low || 1;
      return { x: t, y: runners.length > 1 ? values.map((value) => (value - low) / high) : values, colour: index ? "second" : "first", label: runners.length > 1 ? LOSS_WORDS[run.name] : "" };
    });
    place("line-chart").replaceChildren(figure(chart(series, { width: 380, height: 230, xLabel: kind === "teacher" || kind === "start" ? "0 here, 1 there" : "distance", yLabel: runners.length > 1 ? "loss, scaled" : "loss", label: "loss along a line" }), "", "line"));
  }
  function renderPlane() {
    const run = runners[0], here = shownPoint(run), start = run.path[0], goal = nearestTeacher(run.name, here);
    const slow = !run.loss.core || (run.name === "squared" && !Losses.ACTIVATIONS[state.teacher.activation].kernel), n = slow ? 17 : 61;
    let u = goal.map((w, c) => w - here[c]), v = start.map((w, c) => w - here[c]);
    if (norm(u) < 1e-6) { const random = generator(3); u = here.map(() => gaussian(random) * 0.5); }
    const reach = norm(u); u = u.map((w) => w / reach);
    v = v.map((w, c) => w - dot(v, u) * u[c]);
    if (norm(v) < 1e-6) { const random = generator(5); v = here.map(() => gaussian(random)); const along = dot(v, u); v = v.map((w, c) => w - along * u[c]); }
    const size = norm(v); v = v.map((w) => w / size);
    const flat = (x) => { const w = x.map((one, c) => one - here[c]); return [dot(w, u), dot(w, v)]; };
    const corners = [flat(here), flat(start), flat(goal)], span = 1.25 * Math.max(0.4, ...corners.map(([a, b]) => Math.max(Math.abs(a - reach / 2), Math.abs(b - flat(start)[1] / 2)))), middle = [reach / 2, flat(start)[1] / 2];
    const values = [];
    for (let r = 0; r < n; r++) for (let c = 0; c < n; c++) {
      const a = middle[0] + span * (2 * c / (n - 1) - 1), b = middle[1] - span * (2 * r / (n - 1) - 1);
      values.push(Math.log10(Math.max(run.loss.value(here.map((w, i) => w + a * u[i] + b * v[i])) - run.least, 0) + 1e-4 * Math.max(run.values[0] - run.least, 1e-3)));
    }
    const low = Math.min(...values), high = Math.max(...values), canvas = make("canvas", { width: 366, height: 366, role: "img", "aria-label": "loss on the plane through start, present point and nearest teacher" }), pen = canvas.getContext("2d"), cell = 366 / n;
    const style = getComputedStyle(document.documentElement), colour = (name) => style.getPropertyValue(name).trim(), channels = (text) => [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
    const light = channels(colour("--ground")), dark = channels(colour("--first"));
    values.forEach((value, at) => {
      const part = 1 - Math.round(14 * (value - low) / (high - low || 1)) / 14;
      pen.fillStyle = `rgb(${light.map((w, i) => Math.round(w + (dark[i] - w) * part)).join(",")})`;
      pen.fillRect((at % n) * cell, Math.floor(at / n) * cell, cell + 0.7, cell + 0.7);
    });
    const spot = ([a, b]) => [183 + 183 * (a - middle[0]) / span, 183 - 183 * (b - middle[1]) / span];
    pen.strokeStyle = colour("--ink"); pen.lineWidth = 1.5; pen.beginPath();
    const every = Math.max(1, Math.ceil(run.path.length / 200));
    run.path.forEach((x, i) => { if (i % every === 0) { const [px, py] = spot(flat(x)); if (i) pen.lineTo(px, py); else pen.moveTo(px, py); } });
    pen.stroke(); pen.font = "600 12px system-ui, sans-serif"; pen.textAlign = "center";
    [...(run.path.length > 1 ? [["start", start]] : []), ["here", here], ["teacher", goal]].forEach(([word, x]) => {
      const [px, py] = spot(flat(x));
      pen.fillStyle = colour("--card"); pen.strokeStyle = colour("--ink"); pen.beginPath(); pen.arc(px, py, 5, 0, 7); pen.fill(); pen.stroke();
      pen.lineWidth = 3; pen.strokeStyle = colour("--card"); const up = py < 24 ? 18 : -10; pen.strokeText(word, px, py + up); pen.fillStyle = colour("--ink"); pen.fillText(word, px, py + up); pen.lineWidth = 1.5;
    });
    canvas.loss = run.name;
    place("plane").replaceChildren(canvas, make("p", { class: "soft" }, `${LOSS_WORDS[run.name]}, ${n} × ${n} points, logarithmic.`));
  }
  function renderSpectrum() {
    place("spectrum").replaceChildren(...runners.map((run, index) => {
      const found = kindOf(run);
      const trap = found.kind === "local minimum" && worstAngle(run.name, shownPoint(run)) > 1 ? " A trap: descent stays here." : "";
      run.badge.replaceChildren(make("span", { class: `badge ${trap ? "trap" : found.kind.split(" ")[0]}` }, trap ? "trap" : found.kind));
      return make("div", {}, make("p", {}, make("span", { class: `badge ${trap ? "trap" : found.kind.split(" ")[0]}` }, found.kind), ` ${LOSS_WORDS[run.name]}: ${found.reason}.${trap} Gradient ${show(found.slope, 2)}${found.skipped ? `; ${found.skipped} direction${found.skipped > 1 ? "s" : ""} of length left out` : ""}.`),
        figure(chart([{ x: found.values.map((_, i) => i + 1), y: found.values, kind: "bars", colour: index ? "second" : "first" }], { width: 380, height: 180, xLabel: "eigenvalue, from the smallest", yLabel: "curvature", label: "spectrum of the Hessian" }), "", `spectrum-${run.name}`));
    }));
  }

  let slowTimer = null;
  function render(now = false) {
    runners.forEach(renderNeurons);
    const replay = place("replay"), last = Math.max(...runners.map((run) => run.path.length)) - 1;
    replay.max = last; replay.value = shown === null ? last : shown;
    clearTimeout(slowTimer);
    if (now) { renderCurve(); renderLine(); renderPlane(); renderSpectrum(); } else if (!state.running) slowTimer = setTimeout(() => render(true), 120);
  }

  function running(on) {
    state.running = on;
    place("run").setAttribute("aria-pressed", on); place("run").textContent = on ? "pause" : "run";
    if (on) { shown = null; runners.forEach((run) => { run.badge.textContent = ""; }); requestAnimationFrame(frame); }
  }
  function frame() {
    if (!state.running) return;
    const count = Math.max(1, Math.round(10 ** Number(place("speed").value) / 4));
    runners.forEach((run) => { if (!run.done) advance(run, count); });
    render(); frames += 1;
    if (frames % 6 === 0) renderCurve();
    if (runners.every((run) => run.done)) { running(false); render(true); } else requestAnimationFrame(frame);
  }
  function settleAll() {
    running(false); shown = null;
    runners.forEach((run) => { run.x = run.loss.onto(Losses.settle(run.loss, run.x)); run.value = run.loss.value(run.x); record(run); });
    render(true);
  }

  // ---- traps, links -------------------------------------------------------------------------------------------
  function choose(settings) {
    for (const [id, value] of Object.entries(settings)) place(id).value = value;
  }
  function loadTrap(name, off = 0) {
    if (name === "conv") {
      choose({ loss: "conv", rival: "", neurons: 3, inputs: 2, outputs: "own", begin: "own" });
      state.teacher = { weights: [[1, 0], [0, 1], [1, 0]], output: [1, -1, 0.5], activation: "relu" };
      place("shape").value = "own"; readControls();
      // The best outputs for a filter that points away, Lemma 4.1.
      const a = state.teacher.output, total = a.reduce((sum, one) => sum + one, 0), shared = Math.PI * total / (a.length + Math.PI - 1);
      state.start = Float64Array.from([-1, off, ...a.map((one) => (shared - one) / (Math.PI - 1))]);
      restart(true);
      say("The filter points exactly away from the teacher's, and the outputs do their best (Du et al. 2017).");
      return;
    }
    const trap = data.traps.find((one) => one.name === name);
    choose({ shape: "own", outputs: "own", neurons: trap.weights.length, inputs: trap.weights[0].length, students: trap.student.length, activation: "relu", begin: "own" });
    if (isConv() || place("loss").value === "conv") place("loss").value = "squared";
    state.teacher = { weights: trap.weights, output: trap.output, activation: "relu" };
    readControls();
    const random = generator(11), d = trap.weights[0].length, point = Float64Array.from(trap.student.flat()), near = nearestTeacher("squared", point);
    // The inputs along which the student is wrong most are those to look at.
    const wrong = Array.from({ length: d }, (_, c) => trap.student.reduce((sum, row, i) => sum + Math.abs(row[c] - near[i * d + c]), 0));
    if (d > 3) state.axes = [...wrong.keys()].sort((a, b) => wrong[b] - wrong[a]).slice(0, 3).sort();
    state.start = Float64Array.from(trap.student.flat().map((w) => w + off * gaussian(random)));
    restart(true);
    say(`${trap.words[0].toUpperCase()}${trap.words.slice(1)}.`);
  }
  const rounded = (values) => Array.from(values, (w) => Number(w.toFixed(6)));
  function link() {
    const about = { w: state.teacher.weights.map(rounded), o: rounded(state.teacher.output), a: state.teacher.activation, l: state.loss, r: state.rival, m: state.students, s: state.shift, x: rounded(state.start) };
    return `#${btoa(JSON.stringify(about)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "")}`;
  }
  function open(hash) {
    try {
      const about = JSON.parse(atob(hash.slice(1).replace(/-/g, "+").replace(/_/g, "/")));
      const numbers = (list) => Array.isArray(list) && list.length > 0 && list.every(Number.isFinite);
      const fine = Array.isArray(about.w) && about.w.length > 0 && about.w.length <= 6 && about.w.every((row) => numbers(row) && row.length === about.w[0].length && row.length >= 2 && row.length <= 6) && numbers(about.o) && about.o.length === about.w.length && numbers(about.x) && NAMES.includes(about.l) && (about.r === "" || NAMES.includes(about.r)) && Losses.ACTIVATIONS[about.a] && about.m >= 1 && about.m <= 6;
      const size = fine && (about.l === "conv" ? about.w[0].length + about.o.length : about.m * about.w[0].length);
      if (!fine || about.x.length !== size) return false;
      choose({ shape: "own", outputs: "own", neurons: about.w.length, inputs: about.w[0].length, students: about.m, activation: about.a, loss: about.l, rival: about.r, shift: about.s, begin: "own" });
      state.teacher = { weights: about.w, output: about.o, activation: about.a };
      readControls(); state.start = Float64Array.from(about.x); restart(true);
      return true;
    } catch { return false; }
  }

  // ---- controls -----------------------------------------------------------------------------------------------
  themeButton(place("theme"));
  addEventListener("themechange", () => render(true));
  place("activation").append(...Object.keys(Losses.ACTIVATIONS).map((name) => make("option", { value: name }, name)));
  place("loss").append(...NAMES.map((name) => make("option", { value: name }, LOSS_WORDS[name])));
  place("rival").append(make("option", { value: "" }, "nobody"), ...NAMES.filter((name) => name !== "conv").map((name) => make("option", { value: name }, LOSS_WORDS[name])));
  place("trap").append(...data.traps.map((trap) => make("option", { value: trap.name, title: trap.words }, trap.name)), make("option", { value: "conv" }, "a shared filter that points away"));
  for (const id of ["shape", "neurons", "inputs", "outputs", "activation", "loss", "rival", "students", "shift", "begin"]) {
    place(id).addEventListener("change", () => {
      if (id === "neurons") { place("students").value = place("neurons").value; if (Number(place("inputs").value) < 2) place("inputs").value = 2; }
      const whole = state.start && ["loss", "rival", "shift"].includes(id) && (place("loss").value === "conv") === isConv();
      if (id === "begin" && place("begin").value === "own") return;
      if (!whole && place("begin").value === "own") place("begin").value = "random";
      readControls(); restart(whole);
    });
  }
  place("shift").addEventListener("input", () => { place("shift-value").textContent = show(Number(place("shift").value), 2); });
  place("controls").addEventListener("submit", (event) => event.preventDefault());
  place("shuffle").addEventListener("click", () => { state.seed += 1; if (place("begin").value === "own") place("begin").value = "random"; readControls(); restart(); });
  place("run").addEventListener("click", () => { if (!state.running && runners.every((run) => run.done)) restart(true); running(!state.running); if (!state.running) render(true); });
  place("step").addEventListener("click", () => { running(false); shown = null; runners.forEach((run) => advance(run, 1)); render(true); });
  place("settle").addEventListener("click", settleAll);
  place("reset").addEventListener("click", () => restart(true));
  place("replay").addEventListener("input", () => { running(false); shown = Number(place("replay").value); render(); });
  place("play").addEventListener("click", () => {
    running(false); const last = Number(place("replay").max), began = performance.now(), mine = {};
    place("play").current = mine;
    const turn = (time) => { if (place("play").current !== mine || state.running) return; shown = Math.min(last, Math.round((time - began) / 4000 * last)); render(); if (shown < last) requestAnimationFrame(turn); else { shown = null; render(true); } };
    requestAnimationFrame(turn);
  });
  place("line").addEventListener("change", renderLine);
  place("load-trap").addEventListener("click", () => loadTrap(place("trap").value));
  place("share").addEventListener("click", async () => {
    history.replaceState(null, "", link());
    try { await navigator.clipboard.writeText(location.href); say("The link is copied."); } catch { say("The link is in the address bar."); }
  });
  addEventListener("hashchange", () => open(location.hash));
  if (!(location.hash.length > 1 && open(location.hash))) { choose({ neurons: 5, inputs: 2, shape: "around", students: 5, loss: "squared", begin: "random" }); state.seed = 5; readControls(); restart(); }

  return { state, choose, readControls, restart, running, settleAll, loadTrap, link, open, place, get runners() { return runners; }, get frames() { return frames; } };
})();
