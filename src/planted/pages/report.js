(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const place = (id) => document.getElementById(id);
  const BARS = 400;
  themeButton(place("theme"));

  /** Rows of bars with whiskers, one row a neuron. */
  function bars(matrix) {
    const { rows, columns, values, lower, upper } = matrix;
    const step = Math.max(14, Math.min(110, 820 / columns.length)), tall = 64, left = 90;
    const slanted = columns.some((name) => name.length * 6.5 > step);
    const short = (name) => (name.length > 24 ? `${name.slice(0, 23)}…` : name);
    const longest = 7.5 * Math.max(...columns.map((name) => short(name).length));
    const turn = (40 * Math.PI) / 180, top = slanted ? 20 + Math.ceil(longest * Math.sin(turn)) : 24;
    const width = left + step * columns.length + (slanted ? Math.max(12, Math.ceil(longest * Math.cos(turn) - step / 2)) : 12), height = top + tall * rows.length + 4;
    const ends = [...values.flat(), ...(lower ? lower.flat() : []), ...(upper ? upper.flat() : [])].filter((v) => v !== null);
    const largest = Math.max(...values.flat().map(Math.abs)) || 1;
    const reach = Math.min(Math.max(...ends.map(Math.abs)) || 1, 1.6 * largest);
    const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": `${matrix.title}: bars with intervals; the table below has the numbers` });
    columns.forEach((name, j) => {
      const x = left + step * (j + 0.5);
      svg.append(draw("text", slanted ? { transform: `translate(${x} ${top - 6}) rotate(-40)`, style: "fill:var(--soft)" } : { x, y: top - 8, "text-anchor": "middle", style: "fill:var(--soft)" }, short(name)));
    });
    rows.forEach((name, i) => {
      const middle = top + tall * (i + 0.5), Y = (value) => middle - (value / reach) * (tall / 2 - 4);
      const inside = (value) => Math.max(-reach, Math.min(reach, value));
      svg.append(draw("text", { x: left - 8, y: middle + 4, "text-anchor": "end", style: "fill:var(--ink)" }, name),
        draw("line", { x1: left, x2: left + step * columns.length, y1: middle, y2: middle, style: "stroke:var(--line)" }));
      values[i].forEach((value, j) => {
        const x = left + step * (j + 0.5), wide = Math.min(0.6 * step, 34);
        const open = lower && (lower[i][j] === null || upper[i][j] === null);
        const low = lower && !open ? lower[i][j] : null, high = lower && !open ? upper[i][j] : null;
        const words = `${name}, ${columns[j]}: ${show(value)}${low !== null ? ` (${show(low)} to ${show(high)})` : open ? " (left open by the rows)" : ""}`;
        const group = draw("g", {}, draw("title", {}, words),
          draw("rect", { x: x - wide / 2, width: wide, y: Math.min(Y(value), middle), height: Math.max(Math.abs(Y(value) - middle), 0.5), style: `fill:var(--${value < 0 ? "second" : "first"});opacity:.8` }));
        if (low !== null) {
          const from = Y(inside(low)), to = Y(inside(high));
          group.append(draw("path", { d: `M${x} ${from}V${to}M${x - 3} ${from}h6M${x - 3} ${to}h6`, style: "stroke:var(--ink);stroke-width:1.5;fill:none" }));
        }
        svg.append(group);
      });
    });
    const inside = make("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": `figure of ${matrix.title}` }, svg);
    inside.text = () => svgText(svg);
    const note = lower ? `Whiskers are ${100 * data.level} % intervals.` : `No intervals: ${data.no_intervals}.`;
    return figure(inside, [matrix.unit, "Blue adds, orange subtracts.", note].join(" ").trim(), matrix.title);
  }

  /** A heat map for thousands of weights: zoom, pan, search, read cell by cell. */
  function heat(matrix) {
    const { rows, columns, values, lower, upper } = matrix;
    const canvas = make("canvas", { tabindex: 0, role: "application", "aria-label": `heat map of ${matrix.title}, ${rows.length} rows and ${columns.length} columns; arrow keys move, plus and minus zoom` });
    const read = make("p", { class: "read soft", "aria-live": "polite" }, "Point at a cell, or move with the arrow keys.");
    const largest = Math.max(...values.map((row) => Math.max(...row.map(Math.abs)))) || 1;
    const gutter = 74, head = 20;
    let view = { x: 0, y: 0, w: columns.length, h: rows.length }, cursor = null, marked = { rows: new Set(), columns: new Set() };
    const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    const channels = (text) => [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
    const mix = (value, ends) => {
      const part = Math.min(1, Math.abs(value) / largest) ** 0.7, to = value < 0 ? ends.negative : ends.positive;
      return ends.zero.map((zero, c) => Math.round(zero + (to[c] - zero) * part));
    };
    const palette = () => ({ zero: channels(colour("--card")), positive: channels(colour("--first")), negative: channels(colour("--second")) });
    function paint() {
      const box = canvas.parentElement.clientWidth || 800, ratio = devicePixelRatio || 1;
      const tall = Math.max(160, Math.min(560, Math.round((box - gutter) * Math.min(1.1, view.h / view.w) + head)));
      canvas.width = box * ratio; canvas.height = tall * ratio; canvas.style.height = `${tall}px`;
      const pen = canvas.getContext("2d"); pen.scale(ratio, ratio);
      pen.fillStyle = colour("--card"); pen.fillRect(0, 0, box, tall);
      const cw = (box - gutter) / view.w, ch = (tall - head) / view.h, ends = palette();
      for (let i = Math.floor(view.y); i < Math.min(rows.length, view.y + view.h); i++) {
        for (let j = Math.floor(view.x); j < Math.min(columns.length, view.x + view.w); j++) {
          const [r, g, b] = mix(values[i][j], ends);
          const x = gutter + (j - view.x) * cw, y = head + (i - view.y) * ch;
          if (x + cw < gutter || y + ch < head) continue;
          pen.fillStyle = `rgb(${r},${g},${b})`;
          pen.fillRect(Math.max(x, gutter), Math.max(y, head), cw + 0.6 - Math.max(0, gutter - x), ch + 0.6 - Math.max(0, head - y));
        }
      }
      pen.fillStyle = colour("--card"); pen.fillRect(0, 0, gutter, tall); pen.fillRect(0, 0, box, head);
      pen.font = "11px system-ui, sans-serif"; pen.textBaseline = "middle";
      const everyRow = Math.max(1, Math.ceil(13 / ch)), everyColumn = Math.max(1, Math.ceil(52 / cw));
      for (let i = Math.ceil(view.y); i < Math.min(rows.length, view.y + view.h); i++) if (i % everyRow === 0 || marked.rows.has(i)) {
        pen.fillStyle = colour(marked.rows.has(i) ? "--bad" : "--soft"); pen.textAlign = "right"; pen.fillText(rows[i].slice(0, 12), gutter - 5, head + (i - view.y + 0.5) * ch);
      }
      for (let j = Math.ceil(view.x); j < Math.min(columns.length, view.x + view.w); j++) if (j % everyColumn === 0 || marked.columns.has(j)) {
        pen.fillStyle = colour(marked.columns.has(j) ? "--bad" : "--soft"); pen.textAlign = "center"; pen.fillText(columns[j].slice(0, 9), gutter + (j - view.x + 0.5) * cw, head / 2);
      }
      pen.strokeStyle = colour("--bad"); pen.lineWidth = 1.5;
      for (const i of marked.rows) if (i >= view.y - 1 && i < view.y + view.h) pen.strokeRect(gutter, head + (i - view.y) * ch, box - gutter, ch);
      for (const j of marked.columns) if (j >= view.x - 1 && j < view.x + view.w) pen.strokeRect(gutter + (j - view.x) * cw, head, cw, tall - head);
      if (cursor) { pen.strokeStyle = colour("--ink"); pen.lineWidth = 2; pen.strokeRect(gutter + (cursor.j - view.x) * cw, head + (cursor.i - view.y) * ch, cw, ch); }
    }
    const clamp = () => {
      view.w = Math.max(Math.min(4, columns.length), Math.min(columns.length, view.w)); view.h = Math.max(Math.min(4, rows.length), Math.min(rows.length, view.h));
      view.x = Math.max(0, Math.min(columns.length - view.w, view.x)); view.y = Math.max(0, Math.min(rows.length - view.h, view.y));
    };
    const zoom = (factor, i = view.y + view.h / 2, j = view.x + view.w / 2) => {
      view = { x: j - (j - view.x) * factor, y: i - (i - view.y) * factor, w: view.w * factor, h: view.h * factor };
      clamp(); paint();
    };
    const say = () => {
      const { i, j } = cursor, interval = lower && lower[i][j] !== null ? `, ${show(lower[i][j])} to ${show(upper[i][j])}` : "";
      read.textContent = `${rows[i]}, ${columns[j]}: ${show(values[i][j])}${interval}`;
    };
    const cellAt = (event) => {
      const box = canvas.getBoundingClientRect();
      const j = Math.floor(view.x + (event.clientX - box.left - gutter) / ((box.width - gutter) / view.w)), i = Math.floor(view.y + (event.clientY - box.top - head) / ((box.height - head) / view.h));
      return i >= 0 && j >= 0 && i < rows.length && j < columns.length ? { i, j } : null;
    };
    let grip = null;
    canvas.addEventListener("pointerdown", (event) => { grip = { x: event.clientX, y: event.clientY, view: { ...view } }; canvas.setPointerCapture(event.pointerId); });
    canvas.addEventListener("pointerup", () => { grip = null; });
    canvas.addEventListener("pointermove", (event) => {
      if (grip) {
        const box = canvas.getBoundingClientRect();
        view.x = grip.view.x - (event.clientX - grip.x) / ((box.width - gutter) / view.w); view.y = grip.view.y - (event.clientY - grip.y) / ((box.height - head) / view.h);
        clamp();
      } else cursor = cellAt(event) || cursor;
      if (cursor) say();
      paint();
    });
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.shiftKey && view.w === columns.length && event.deltaY > 0) return;
      event.preventDefault();
      const cell = cellAt(event); zoom(event.deltaY > 0 ? 1.25 : 0.8, cell ? cell.i : undefined, cell ? cell.j : undefined);
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      if (event.key === "+" || event.key === "=") zoom(0.6, cursor?.i, cursor?.j);
      else if (event.key === "-") zoom(1 / 0.6, cursor?.i, cursor?.j);
      else if (step) {
        const { i, j } = cursor || { i: 0, j: -1 };
        cursor = { i: Math.max(0, Math.min(rows.length - 1, i + step[0])), j: Math.max(0, Math.min(columns.length - 1, j + step[1])) };
        if (cursor.i < view.y || cursor.i >= view.y + view.h) view.y = cursor.i - view.h / 2;
        if (cursor.j < view.x || cursor.j >= view.x + view.w) view.x = cursor.j - view.w / 2;
        clamp(); say(); paint();
      } else return;
      event.preventDefault();
    });
    const matches = make("span", { class: "soft", "aria-live": "polite" });
    const search = make("input", { type: "search", placeholder: `search ${matrix.column} or neuron`, "aria-label": `search ${matrix.title}`, oninput: () => {
      const word = search.value.trim().toLowerCase();
      const hits = (names) => new Set(word ? names.flatMap((name, at) => (name.toLowerCase().includes(word) ? [at] : [])) : []);
      marked = { rows: hits(rows), columns: hits(columns) };
      matches.textContent = word ? `${marked.rows.size + marked.columns.size} found` : "";
      const column = marked.columns.values().next().value, row = marked.rows.values().next().value;
      if (column !== undefined && (column < view.x || column >= view.x + view.w)) view.x = column - view.w / 2;
      if (row !== undefined && (row < view.y || row >= view.y + view.h)) view.y = row - view.h / 2;
      clamp(); paint();
    } });
    const press = (text, label, action) => make("button", { type: "button", "aria-label": label, onclick: action }, text);
    const tools = make("div", { class: "tools" }, search, matches, press("+", "zoom in", () => zoom(0.6, cursor?.i, cursor?.j)), press("−", "zoom out", () => zoom(1 / 0.6, cursor?.i, cursor?.j)),
      press("all", "show all weights", () => { view = { x: 0, y: 0, w: columns.length, h: rows.length }; paint(); }));
    const holder = make("div", { class: "heat" }, canvas);
    holder.text = () => {
      const ends = palette(), size = 6;
      const cells = values.map((row, i) => row.map((value, j) => { const [r, g, b] = mix(value, ends); return `<rect x="${j * size}" y="${i * size}" width="${size}" height="${size}" fill="rgb(${r},${g},${b})"/>`; }).join("")).join("");
      return `<svg xmlns="${SVG_NAMESPACE}" viewBox="0 0 ${columns.length * size} ${rows.length * size}">${cells}</svg>`;
    };
    const node = make("div", {}, tools, figure(holder, [matrix.unit, "Blue adds, orange subtracts; the stronger the colour, the larger."].join(" ").trim(), matrix.title), read);
    requestAnimationFrame(paint); addEventListener("resize", paint); addEventListener("themechange", paint); addEventListener("beforeprint", paint);
    return node;
  }

  function longTable(matrix) {
    const columns = [matrix.rows.length > 1 ? "neuron" : "part", matrix.column, "value", ...(matrix.lower ? ["lower", "upper"] : [])];
    const rows = matrix.values.flatMap((row, i) => row.map((value, j) => [matrix.rows[i], matrix.columns[j], value, ...(matrix.lower ? [matrix.lower[i][j], matrix.upper[i][j]] : [])]));
    return [columns, rows];
  }

  const neurons = place("neurons");
  if (data.neurons) neurons.append(table(data.neurons.columns, data.neurons.rows, "neurons", { caption: ["Strongest first.", data.neurons.note].join(" ").trim() }));
  for (const matrix of data.matrices) {
    const size = matrix.rows.length * matrix.columns.length;
    neurons.append(make("h3", {}, matrix.title), size <= BARS ? bars(matrix) : heat(matrix));
    const [columns, rows] = longTable(matrix);
    const inside = make("details", {}, make("summary", {}, `all ${show(size)} numbers`));
    const name = matrix.title.replace(/ /g, "-");
    // Thousands of rows are made when they are asked for.
    inside.addEventListener("toggle", () => { if (inside.open && inside.children.length === 1) inside.append(table(columns, rows, name)); });
    neurons.append(inside);
  }
  if (!data.matrices.length) neurons.remove();
  else if (data.matrices.every((matrix) => matrix.title === "linear part")) neurons.querySelector("h2").textContent = "Weights";

  const responses = place("responses"), evidence = data.evidence;
  if (!evidence || !evidence.neurons.length) responses.remove();
  else {
    responses.append(make("p", { class: "soft" }, "Along each neuron's own direction: its contribution (line), what the rows say it should be (points: its contribution plus the mean residual there), and where the rows are (shade)."));
    const grid = make("div", { class: "triple" }), FIRST = 12;
    const one = (neuron) => {
      const most = Math.max(...neuron.share) || 1, top = Math.max(...neuron.response.map(Math.abs), 1e-12);
      const shade = { x: neuron.z, y: neuron.share.map((share) => (share / most) * top * 0.5), kind: "area", colour: "soft" };
      return figure(chart([shade, { x: neuron.z, y: neuron.response, colour: "first" }, { x: neuron.z, y: neuron.partial, kind: "points", colour: "second", size: 3 }],
        { width: 320, height: 200, xLabel: "w·x + b", yLabel: neuron.output, label: `response of ${neuron.name}` }), neuron.name, neuron.name.replace(" ", "-"));
    };
    grid.append(...evidence.neurons.slice(0, FIRST).map(one));
    responses.append(grid);
    if (evidence.neurons.length > FIRST) {
      const more = make("button", { type: "button", onclick: () => { grid.append(...evidence.neurons.slice(FIRST).map(one)); more.remove(); } }, `show ${evidence.neurons.length - FIRST} more`);
      responses.append(more);
    }
  }

  const fit = place("fit");
  if (data.numbers.length) fit.append(table(["measured", "value"], data.numbers.map(({ what, value }) => [what, value]), "numbers"));
  if (!data.numbers.length && !evidence) fit.remove();
  if (!evidence) fit.querySelector("h2").textContent = "What was measured";
  if (evidence) {
    const pair = make("div", { class: "pair" });
    // Of several targets, or classes, every row has so many residuals.
    const each = Math.round(evidence.counts.reduce((sum, count) => sum + count, 0) / evidence.sampled), many = each > 1;
    const inSpread = evidence.standard ? ", in standard deviations of each target" : "";
    if (data.labels) {
      const bins = 10, sums = Array.from({ length: bins }, () => [0, 0, 0]);
      evidence.predicted.forEach((p, i) => { const bin = sums[Math.max(0, Math.min(bins - 1, Math.floor(p * bins)))]; bin[0] += 1; bin[1] += p; bin[2] += evidence.truth[i]; });
      const live = sums.filter((bin) => bin[0] > 4);
      pair.append(figure(chart([{ x: live.map((b) => b[1] / b[0]), y: live.map((b) => b[2] / b[0]), kind: "points", size: 5 }], { xLabel: "probability by the network", yLabel: "share that came", diagonal: true, xRange: [0, 1], yRange: [0, 1], label: "calibration: share that came against the probability" }), `Calibration: ${evidence.source}.`, "calibration"));
    } else {
      pair.append(figure(chart([{ x: evidence.predicted, y: evidence.truth, kind: "points" }], { xLabel: `prediction${inSpread}`, yLabel: "truth", diagonal: true, label: "truth against prediction" }), `Truth against prediction: ${evidence.source}.`, "fit"));
    }
    const middle = evidence.counts.map((_, i) => (evidence.edges[i] + evidence.edges[i + 1]) / 2);
    pair.append(figure(chart([{ x: middle, y: evidence.counts, kind: "bars" }], { xLabel: `truth − prediction${inSpread}`, yLabel: many ? "residuals" : "rows", label: "histogram of residuals" }), `Residuals of ${show(evidence.sampled)} of ${show(evidence.n_rows)} rows${many ? `, ${each} of each` : ""}.`, "residuals"));
    fit.append(pair);
    const p = data.numbers.find(({ what }) => what.startsWith("p-value"));
    if (p) fit.append(make("p", {}, p.value === null ? `The residual test was not run: ${data.untested}.`
      : `The residual test regresses residuals on random bumps and ridges of the inputs. A right network leaves p spread evenly between 0 and 1; below 0.001 counts as structure. Here p = ${show(p.value, 3)}: ${p.value < 0.001 ? "structure is left" : "no structure was seen"}.`));
  }

  const search = place("search"), found = data.search, charts = make("div", { class: "pair" }), tables = make("div", { class: "triple" });
  const lossBars = (name, entries, xLabel, caption) => {
    const losses = entries.filter(([, value]) => typeof value === "number");
    if (!losses.length) return;
    const numeric = losses.every(([key]) => !Number.isNaN(Number(key)));
    if (numeric && losses.length > 1) charts.append(figure(chart([{ x: losses.map(([key]) => Number(key)), y: losses.map(([, v]) => Math.max(v, 1e-32)), kind: "points", size: 5 }], { xLabel, yLabel: "loss", logY: losses.every(([, v]) => v > 0), label: caption }), caption, name));
    tables.append(table([xLabel, losses.length === entries.length ? "loss" : "loss or reason"], entries, name, { caption }));
  };
  if (found.descents.some((one) => one.curve.length > 1)) {
    const series = found.descents.filter((one) => one.curve.length > 1).slice(0, 4).map((one) => ({ x: one.step, y: one.curve, label: one.name }));
    charts.append(figure(chart(series, { xLabel: "step", yLabel: "loss", logY: series.every((s) => s.y.every((v) => v === null || v > 0)), label: "loss along the descents" }), "Losses on the way, by phase; phases may count the target in units of their own.", "descents"));
  }
  if (found.runs.length > 1) charts.append(figure(chart([{ x: found.runs.map((_, i) => i + 1), y: found.runs, kind: "points", size: 5 }], { xLabel: "run", yLabel: "loss", logY: found.runs.every((v) => v > 0), label: "losses of independent runs" }), "Where independent runs ended.", "runs"));
  search.append(charts);
  if (found.choice) search.append(table(["candidate", "numbers", "held-out loss", "± standard error", "why"], found.choice.rows, "candidates", { caption: `Candidates that were compared. ${found.choice.reason}` }));
  lossBars("widths", Object.entries(found.widths), "neurons", "Widths tried, with their loss on held-out rows.");
  lossBars("activations", Object.entries(found.activations), "activation", "Activations tried.");
  lossBars("race", Object.entries(found.race), "method", "Methods tried: relative loss, or why one did not apply.");
  search.append(tables);
  if (found.restarts.length) search.append(table(["signs", "fate", "loss"], found.restarts.map((one) => [one.signs, one.fate, one.loss]), "restarts", { caption: "Restarts of the shared filter." }));
  if (found.descents.length) search.append(table(["phase", "ended", "steps", "loss", "seconds", "why"], found.descents.map((one) => [one.name, one.status, one.steps, one.value, one.seconds, one.reason]), "phases", { caption: "Descents by phase." }));
  if (!search.querySelector("figure, table")) search.remove();

  const certificate = place("certificate"), proof = data.certificate;
  if (!proof) certificate.remove();
  else {
    certificate.append(make("p", {}, make("span", { class: `badge ${proof.kind.split(" ")[0]}` }, proof.kind), ` ${proof.words} ${proof.reason}`));
    if (proof.flat.length) certificate.append(make("p", { class: "soft" }, `Flat along: ${proof.flat.join("; ")}.`));
    if (proof.descent) certificate.append(make("pre", {}, proof.descent));
    const pair = make("div", { class: "pair" }, table(["measured", "value"], proof.numbers.map(({ what, value }) => [what, value]), "certificate"));
    if (proof.spectrum) pair.append(figure(chart([{ x: proof.spectrum.map((_, i) => i + 1), y: proof.spectrum, kind: proof.spectrum.length > 60 ? "line" : "bars" }], { xLabel: "eigenvalue, from the smallest", yLabel: "curvature", label: "spectrum of the Hessian" }), "Spectrum of the Hessian: below zero the loss curves down.", "spectrum"));
    certificate.append(pair);
  }

  const assumptions = place("assumptions");
  if (!data.assumptions.length) assumptions.remove();
  else {
    assumptions.append(make("p", { class: "soft" }, "The theorems behind the methods hold under these. A fit can be right where they fail: then the verdict above rests on the rows alone."),
      table(["assumption", "in words", "status", "number", "what it is", "needed by"], data.assumptions, "assumptions", { cell: (value, column) => (column === 2 ? make("span", { class: `badge ${value}` }, value) : null) }));
  }

  for (const id of ["advice", "formula"]) if (!place(id).textContent.trim()) place(id).remove();
  if (place("next").children.length === 1) place("next").remove();
  document.querySelector("nav").append(...[...document.querySelectorAll("section")].map((section) => make("a", { href: `#${section.id}` }, section.querySelector("h2").textContent)));
})();
