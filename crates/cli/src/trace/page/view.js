// Lanes and how they are drawn: one pass per row, at most a few operations per pixel for any number of slices.
"use strict";

const COLORS = {
  light: { ink: "#1c2330", dim: "#5c6678", line: "#d9dee7", card: "#fff", band: "#f3f5f8", call: "#b9c7dd", H2D: "#3f8fd2",
           D2H: "#2f9e6e", D2D: "#8d6fd1", P2P: "#c2669f", H2H: "#9aa063", task: "#7e93b5", kernel: "#d08a2e", wait: "#c9a24a",
           hot: "#c2222f", warm: "#b87708", range: "#d7c6ec", accent: "#2456b3", memory: "#8aa4c8", text: "#10151f" },
  dark: { ink: "#e5e9f0", dim: "#9aa5b8", line: "#323a48", card: "#1b2029", band: "#20262f", call: "#41516c", H2D: "#3f87c6",
          D2H: "#2f8f66", D2D: "#7a60bd", P2P: "#a9598c", H2H: "#7f844f", task: "#566a8c", kernel: "#b0752a", wait: "#8a6f2f",
          hot: "#ff6b72", warm: "#e3b04b", range: "#4d4166", accent: "#7fb0ff", memory: "#4d6488", text: "#f2f5fa" },
};
const RULER = 26, GROUP = 22, ROW = 20, STRIP = 30, MEMORY = 34;
const MAX_ARROWS = 600;

class View {
  constructor(trace, canvas) {
    Object.assign(this, { trace, canvas, context: canvas.getContext("2d"), from: 0, to: Math.max(trace.layout.ns, 1),
                          scroll: 0, collapsed: new Set(), selected: -1, hovered: -1, range: null, found: null,
                          frames: 0, drawn: 0, widths: new Map() });
    this.colorNames = trace.layout.texts.map(colorOf);
    this.rowOf = new Map();
    this.layLanes();
  }

  get total() { return Math.max(this.trace.layout.ns, 1); }
  get gutter() { return this.width < 700 ? 104 : 190; }
  get plot() { return Math.max(this.width - this.gutter - 8, 10); }
  x(time) { return this.gutter + (time - this.from) / (this.to - this.from) * this.plot; }
  time(x) { return this.from + (x - this.gutter) / this.plot * (this.to - this.from); }
  isDark() {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }

  // Lanes from top to bottom: copies at once, then for each process its threads, and its devices with their streams.
  layLanes() {
    const { layout, rows, memory } = this.trace, groups = new Map(), lanes = [];
    rows.forEach((row, index) => {
      const track = layout.tracks[row.track];
      const key = track.device === null ? `program, process ${track.process}` : `device ${track.device}, process ${track.process}`;
      if (!groups.has(key)) groups.set(key, { process: track.process, device: track.device ?? -1, rows: [] });
      groups.get(key).rows.push({ track, index });
    });
    if (rows.some((row) => row.moved > 0)) lanes.push({ kind: "strip", name: "copies at once", height: STRIP });
    const order = [...groups].sort(([, a], [, b]) => a.process - b.process || a.device - b.device);
    for (const [name, group] of order) {
      lanes.push({ kind: "group", name, height: GROUP });
      if (this.collapsed.has(name)) continue;
      const curve = memory.get(`${group.process} ${group.device}`);
      if (curve) lanes.push({ kind: "memory", name: "memory in use", curve, height: MEMORY });
      let last = null;
      for (const { track, index } of group.rows) {
        const isFirst = track !== last;
        last = track;
        const name = track.kind === "ranges" ? `ranges, ${track.name}` : track.name;
        lanes.push({ kind: "row", name: isFirst ? name : "", row: index, track, height: ROW });
      }
    }
    let top = 0;
    for (const lane of lanes) { lane.top = top; top += lane.height; if (lane.kind === "row") this.rowOf.set(lane.row, lane); }
    this.lanes = lanes;
    this.content = top;
    this.firstLane = new Map();
    for (const lane of lanes)
      if (lane.kind === "row" && !this.firstLane.has(rows[lane.row].track)) this.firstLane.set(rows[lane.row].track, lane);
  }

  resize() {
    const box = this.canvas.getBoundingClientRect(), scale = devicePixelRatio || 1;
    this.width = box.width;
    this.height = box.height;
    this.canvas.width = Math.round(box.width * scale);
    this.canvas.height = Math.round(box.height * scale);
    this.context.setTransform(scale, 0, 0, scale, 0, 0);
    // At once: setting the size has cleared the canvas.
    this.draw();
  }

  request() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => { this.pending = false; this.draw(); });
  }

  // Shows a range of time, at least 20 ns long and not far outside the trace.
  show(from, to) {
    const span = Math.min(Math.max(to - from, 20), this.total * 1.1), middle = (from + to) / 2;
    const margin = span * 0.5;
    const start = Math.min(Math.max(middle - span / 2, -margin), this.total + margin - span);
    this.from = start;
    this.to = start + span;
    this.request();
  }
  fit() { this.show(-this.total * 0.005, this.total * 1.005); }
  zoom(factor, at = (this.from + this.to) / 2) { this.show(at - (at - this.from) * factor, at + (this.to - at) * factor); }
  pan(pixels) { const time = pixels / this.plot * (this.to - this.from); this.show(this.from + time, this.to + time); }
  scrollBy(pixels) {
    this.scroll = Math.min(Math.max(this.scroll + pixels, 0), Math.max(this.content - (this.height - RULER), 0));
    this.request();
  }
  laneTop(lane) { return RULER + lane.top - this.scroll; }

  laneAt(y) { return y < RULER ? null : this.lanes.find((lane) => y >= this.laneTop(lane) && y < this.laneTop(lane) + lane.height) ?? null; }

  // The slice under a point, or within 3 pixels of it. -1 if there is none.
  sliceAt(x, y) {
    const lane = this.laneAt(y);
    if (!lane || lane.kind !== "row" || x < this.gutter) return -1;
    const row = this.trace.rows[lane.row], time = this.time(x), reach = 3 / this.plot * (this.to - this.from);
    let i = firstAbove(this.trace.end, row.first, row.end, time - reach, true);
    let best = -1, distance = Infinity;
    for (; i < row.end && this.trace.start[i] <= time + reach; i++) {
      const away = Math.max(this.trace.start[i] - time, time - this.trace.end[i], 0);
      if (away < distance) { best = i; distance = away; }
      if (away === 0) break;
    }
    return best;
  }

  rowIndex(slice) { return this.trace.rows.findIndex((row) => slice >= row.first && slice < row.end); }

  draw() {
    const started = performance.now(), { context: c, width, height } = this;
    const colors = this.colors = COLORS[this.isDark() ? "dark" : "light"];
    this.scrollClamp();
    this.hatch = hatching(c, colors.warm, colors.card);
    c.fillStyle = colors.card;
    c.fillRect(0, 0, width, height);
    c.textBaseline = "middle";
    c.save();
    c.beginPath();
    c.rect(0, RULER, width, height - RULER);
    c.clip();
    this.drawn = 0;
    for (const lane of this.lanes) {
      const y = this.laneTop(lane);
      if (y + lane.height < RULER || y > height) continue;
      this.drawLane(lane, y);
    }
    this.drawGrid();
    this.drawMarks();
    this.drawArrows();
    this.drawRange();
    this.drawNames();
    c.restore();
    this.drawRuler();
    this.frames += 1;
    this.frameMs = performance.now() - started;
  }
  scrollClamp() { this.scroll = Math.min(this.scroll, Math.max(this.content - (this.height - RULER), 0)); }

  drawLane(lane, y) {
    const { context: c, colors } = this;
    if (lane.kind === "group") {
      c.fillStyle = colors.band;
      c.fillRect(0, y, this.width, lane.height);
    } else if (lane.kind === "strip") this.drawStrip(lane, y);
    else if (lane.kind === "memory") this.drawMemory(lane, y);
    else this.drawRow(this.trace.rows[lane.row], lane, y);
    c.fillStyle = colors.line;
    c.fillRect(this.gutter, y + lane.height - 1, this.width, 0.5);
  }

  // Draws slices of two pixels and more one by one, and the shorter ones of each pixel as one bar whose strength is the
  // share of the pixel that they fill.
  drawRow(row, lane, y) {
    const { trace, context: c, colors, from, to } = this, { start, end } = trace;
    const pixel = (to - from) / this.plot, left = this.gutter, right = left + this.plot;
    const top = y + 2, tall = lane.height - 5, isStream = lane.track.device !== null;
    let i = firstAbove(end, row.first, row.end, from, true);
    while (i < row.end && start[i] < to) {
      const x0 = this.x(start[i]), x1 = this.x(end[i]);
      if (isStream && i > row.first) this.drawStall(row, i, y + lane.height - 3);
      if (x1 - x0 >= 2) {
        this.drawSlice(i, Math.max(x0, left - 2), Math.min(x1, right + 2), top, tall);
        i += 1;
        continue;
      }
      const column = Math.floor(x0), edge = this.time(column + 1);
      let next = i + 1;
      if (next < row.end && start[next] < edge) next = firstAbove(start, next, row.end, edge, true);
      // A longer slice may begin in the same pixel.
      if (next - i > 1 && end[next - 1] - start[next - 1] >= 2 * pixel) next -= 1;
      const busy = next < row.end ? trace.busyBefore[next] - trace.busyBefore[i] : row.busy - trace.busyBefore[i];
      const isMatch = !this.found || this.hasMatch(i, next);
      c.globalAlpha = (isMatch ? 1 : 0.15) * (0.35 + 0.65 * Math.min(busy / pixel, 1));
      c.fillStyle = this.colorOf(i);
      c.fillRect(Math.max(column, left), top, 1.2, tall);
      c.globalAlpha = 1;
      if (this.selected >= i && this.selected < next) this.outline(column - 2, top - 1, 5, tall + 2);
      this.drawn += 1;
      i = next;
    }
  }
  hasMatch(i, next) {
    for (let at = i; at < next && at < i + 64; at++) if (this.found[this.trace.name[at]]) return true;
    return false;
  }

  colorOf(i) {
    const { trace, colors } = this;
    if (trace.code[i]) return colors.hot;
    const kind = trace.kind[i];
    if (kind === KINDS.range) return colors.range;
    if (kind === KINDS.wait) return colors.wait;
    if (kind === KINDS.call) return colors.call;
    return colors[this.colorNames[trace.name[i]]];
  }

  drawSlice(i, x0, x1, top, tall) {
    const { trace, context: c, colors } = this, wide = x1 - x0;
    c.globalAlpha = this.found && !this.found[trace.name[i]] ? 0.15 : 1;
    c.fillStyle = trace.kind[i] === KINDS.wait && !trace.code[i] ? this.hatch : this.colorOf(i);
    c.fillRect(x0, top, Math.max(wide - (wide > 4 ? 0.6 : 0), 1), tall);
    if (trace.blocked[i] > 0) {
      // The call waited for its stream, at its end.
      const waited = Math.max(wide * Math.min(trace.blocked[i] / (trace.end[i] - trace.start[i]), 1), 1);
      c.fillStyle = this.hatch;
      c.fillRect(x1 - waited, top, waited, tall);
    }
    if (trace.unfinished[i] && trace.kind[i] >= KINDS.task && wide > 3) {
      c.fillStyle = colors.hot;
      for (let y = top; y < top + tall; y += 4) c.fillRect(x1 - 2, y, 2, 2);
    }
    if (wide > 26) this.label(trace.layout.texts[trace.name[i]], Math.max(x0, this.gutter) + 4, top + tall / 2 + 0.5, x1 - Math.max(x0, this.gutter) - 8);
    c.globalAlpha = 1;
    if (i === this.selected || i === this.hovered) this.outline(x0 - 0.5, top - 1, Math.max(wide, 2) + 1, tall + 2, i !== this.selected);
    this.drawn += 1;
  }
  outline(x, y, wide, tall, isThin) {
    const { context: c, colors } = this;
    c.strokeStyle = isThin ? colors.dim : colors.accent;
    c.lineWidth = isThin ? 1 : 2;
    c.strokeRect(x, y, wide, tall);
  }

  // A task was queued and its stream did nothing: a line at the foot of the row.
  drawStall(row, i, y) {
    const { trace, context: c } = this, begin = Math.max(trace.end[i - 1], trace.submitted[i]);
    const x0 = Math.max(this.x(begin), this.gutter), x1 = this.x(trace.start[i]);
    if (!(x1 - x0 >= 2)) return;
    c.fillStyle = this.colors.warm;
    c.fillRect(x0, y, x1 - x0, 2);
  }

  // Draws text in a width, shortened if necessary.
  label(text, x, y, wide, color = this.colors.text, font = "11px system-ui, 'DejaVu Sans', sans-serif") {
    const { context: c } = this;
    c.font = font;
    const key = font.length + text;
    let full = this.widths.get(key);
    if (full === undefined) this.widths.set(key, full = c.measureText(text).width);
    if (full > wide) {
      const letters = Math.floor(text.length * (wide - 8) / full);
      if (letters < 2) return;
      text = `${text.slice(0, letters)}…`;
    }
    c.fillStyle = color;
    c.fillText(text, x, y);
  }

  // The average number of copies in each pixel: one copy fills the lower part, more than one the upper part.
  drawStrip(lane, y) {
    const { trace, context: c, colors } = this, rows = trace.rows.filter((row) => row.moved > 0);
    const step = rows.length > 24 ? 3 : 1, left = this.gutter, foot = y + lane.height - 2;
    const counts = (i) => isMoving(trace, i), sums = trace.movedBefore;
    const before = rows.map((row) => timeBefore(trace, row, this.from, sums, counts));
    const most = Math.max(2, Math.min(rows.length, 8));
    for (let px = 0; px < this.plot; px += step) {
      const edge = this.time(left + px + step), span = (this.to - this.from) / this.plot * step;
      let total = 0;
      rows.forEach((row, index) => {
        const moved = timeBefore(trace, row, edge, sums, counts);
        total += (moved - before[index]) / span;
        before[index] = moved;
      });
      if (total <= 0.0001) continue;
      const tall = (count) => (lane.height - 6) * Math.min(count, most) / most;
      c.fillStyle = colors.D2H;
      c.fillRect(left + px, foot - Math.max(tall(Math.min(total, 1)), 1), step, Math.max(tall(Math.min(total, 1)), 1));
      if (total > 1.0001) {
        c.fillStyle = colors.accent;
        c.fillRect(left + px, foot - tall(total), step, tall(total) - tall(1));
      }
    }
  }

  drawMemory(lane, y) {
    const { context: c, colors } = this, { at, bytes, most } = lane.curve, foot = y + lane.height - 2;
    c.fillStyle = colors.memory;
    for (let px = 0; px < this.plot; px += 1) {
      const low = firstAbove(at, 0, at.length, this.time(this.gutter + px), false);
      const high = firstAbove(at, low, at.length, this.time(this.gutter + px + 1), false);
      let value = low > 0 ? bytes[low - 1] : 0;
      for (let i = low; i < Math.min(high, low + 64); i++) value = Math.max(value, bytes[i]);
      if (value > 0) { const tall = Math.max((lane.height - 6) * value / most, 1); c.fillRect(this.gutter + px, foot - tall, 1, tall); }
    }
  }

  drawMarks() {
    const { context: c, colors } = this;
    c.fillStyle = colors.accent;
    let last = -9;
    for (const mark of this.trace.marks) {
      const lane = this.firstLane.get(mark.track), x = this.x(mark.at);
      if (!lane || x < this.gutter || x > this.width || Math.abs(x - last) < 1) continue;
      last = x;
      const y = this.laneTop(lane);
      c.beginPath();
      c.moveTo(x - 4, y);
      c.lineTo(x + 4, y);
      c.lineTo(x, y + 7);
      c.fill();
    }
  }

  // Arrows between tasks, if they are few enough to be distinguished, and always those of the selected task.
  drawArrows() {
    const { trace, colors } = this, { arrows } = trace, chosen = [];
    this.arrowsShown = 0;
    for (let i = 0; i < arrows.count && chosen.length <= MAX_ARROWS; i++) {
      if (arrows.to[i] < this.from || arrows.from[i] > this.to) continue;
      if (this.firstLane.has(arrows.fromTrack[i]) && this.firstLane.has(arrows.toTrack[i])) chosen.push(i);
    }
    this.hidesArrows = chosen.length > MAX_ARROWS;
    const s = this.selected, row = s < 0 ? null : trace.rows[this.rowIndex(s)];
    for (const i of chosen) {
      const isChosen = row && ((arrows.toTrack[i] === row.track && arrows.to[i] >= trace.start[s] && arrows.to[i] <= trace.end[s])
        || (arrows.fromTrack[i] === row.track && arrows.from[i] >= trace.start[s] && arrows.from[i] <= trace.end[s]));
      if (this.hidesArrows && !isChosen) continue;
      this.arrow(arrows.fromTrack[i], arrows.from[i], arrows.toTrack[i], arrows.to[i], isChosen ? colors.accent : colors.dim, isChosen);
    }
    if (row && !Number.isNaN(trace.submitted[s])) {
      const { layout } = trace, process = layout.tracks[row.track].process;
      const thread = layout.tracks.findIndex((track) => track.kind === "thread" && track.process === process && track.id === trace.submitter[s]);
      if (thread >= 0) this.arrow(thread, trace.submitted[s], row.track, trace.start[s], colors.accent, true);
    }
  }
  arrow(fromTrack, from, toTrack, to, color, isStrong) {
    const one = this.firstLane.get(fromTrack), other = this.firstLane.get(toTrack), { context: c } = this;
    if (!one || !other) return;
    const x0 = this.x(from), x1 = this.x(to), y0 = this.laneTop(one) + ROW / 2, y1 = this.laneTop(other) + ROW / 2;
    const bend = Math.min(Math.max(Math.abs(x1 - x0) / 2, 12), 80);
    c.strokeStyle = c.fillStyle = color;
    c.lineWidth = isStrong ? 2 : 1;
    c.beginPath();
    c.moveTo(x0, y0);
    c.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1 - 3, y1);
    c.stroke();
    c.beginPath();
    c.moveTo(x1, y1);
    c.lineTo(x1 - 6, y1 - 3.5);
    c.lineTo(x1 - 6, y1 + 3.5);
    c.fill();
    this.arrowsShown += 1;
  }

  drawRange() {
    if (!this.range) return;
    const { context: c, colors } = this, [from, to] = this.range, x0 = this.x(from), x1 = this.x(to);
    c.globalAlpha = 0.16;
    c.fillStyle = colors.accent;
    c.fillRect(x0, RULER, x1 - x0, this.height);
    c.globalAlpha = 1;
    c.fillRect(x0, RULER, 1, this.height);
    c.fillRect(x1, RULER, 1, this.height);
  }

  drawNames() {
    const { context: c, colors, gutter } = this;
    c.fillStyle = colors.card;
    c.fillRect(0, RULER, gutter, this.height);
    for (const lane of this.lanes) {
      const y = this.laneTop(lane);
      if (y + lane.height < RULER || y > this.height) continue;
      const middle = y + lane.height / 2;
      if (lane.kind === "group") {
        c.fillStyle = colors.band;
        c.fillRect(0, y, gutter, lane.height);
        const sign = this.collapsed.has(lane.name) ? "▸" : "▾";
        this.label(`${sign} ${lane.name}`, 8, middle, this.width - 16, colors.ink, "600 12px system-ui, 'DejaVu Sans', sans-serif");
      } else if (lane.name) {
        const isStrip = lane.kind !== "row";
        this.label(lane.name, 20, isStrip ? middle - 6 : middle, gutter - 26, colors.ink);
        if (lane.kind === "memory") this.label(`up to ${size(lane.curve.most)}`, 20, middle + 8, gutter - 26, colors.dim);
        if (lane.kind === "strip") this.label("blue: two or more", 20, middle + 8, gutter - 26, colors.dim);
      }
    }
    c.fillStyle = colors.line;
    c.fillRect(gutter - 1, RULER, 1, this.height);
  }

  ticks() {
    const span = this.to - this.from, rough = span / Math.max(Math.floor(this.plot / 110), 1);
    const power = 10 ** Math.floor(Math.log10(rough)), step = [1, 2, 5, 10].find((n) => n * power >= rough) * power;
    const ticks = [];
    for (let at = Math.ceil(this.from / step) * step; at <= this.to; at += step) ticks.push(at);
    return { ticks, step };
  }
  drawGrid() {
    const { context: c, colors } = this;
    c.globalAlpha = 0.5;
    c.fillStyle = colors.line;
    for (const at of this.ticks().ticks) c.fillRect(Math.round(this.x(at)), RULER, 0.5, this.height);
    c.globalAlpha = 1;
  }
  drawRuler() {
    const { context: c, colors } = this, { ticks, step } = this.ticks();
    c.fillStyle = colors.band;
    c.fillRect(0, 0, this.width, RULER);
    c.fillStyle = colors.line;
    c.fillRect(0, RULER - 1, this.width, 1);
    const exact = (ns) => {
      const [unit, name] = step >= 1e8 ? [1e9, "s"] : step >= 1e5 ? [1e6, "ms"] : step >= 100 ? [1e3, "us"] : [1, "ns"];
      return `${+(ns / unit).toFixed(Math.max(0, Math.ceil(Math.log10(unit / step))))} ${name}`;
    };
    c.save();
    c.beginPath();
    c.rect(this.gutter, 0, this.width, RULER);
    c.clip();
    for (const at of ticks) this.label(exact(at), this.x(at) + 4, RULER / 2, 140, colors.dim);
    c.restore();
    this.label(duration(this.to - this.from), 8, RULER / 2, this.gutter - 16, colors.ink);
  }
}

// The color of a task by its name: copies by their direction, kernels and host functions, and everything else.
function colorOf(name) {
  const route = /(?:^| )(H2D|D2H|D2D|P2P|H2H)$/.exec(name);
  if (route) return route[1];
  return /kernel|host function/.test(name) ? "kernel" : "task";
}

function hatching(context, ink, paper) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const c = tile.getContext("2d");
  c.fillStyle = paper;
  c.fillRect(0, 0, 6, 6);
  c.strokeStyle = ink;
  c.lineWidth = 1.4;
  c.beginPath();
  for (const at of [-6, 0, 6]) { c.moveTo(at, 6); c.lineTo(at + 6, 0); }
  c.stroke();
  return context.createPattern(tile, "repeat");
}
