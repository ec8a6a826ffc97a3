// Unpacks the columns that the command wrote (crates/tracer/src/columns.rs) into typed arrays.
"use strict";

const KINDS = { call: 0, access: 1, task: 2, wait: 3, range: 4 };

async function unpack(text) {
  const base64 = text.trim();
  let packed;
  if (Uint8Array.fromBase64) packed = Uint8Array.fromBase64(base64);
  else {
    const letters = atob(base64);
    packed = new Uint8Array(letters.length);
    for (let i = 0; i < letters.length; i++) packed[i] = letters.charCodeAt(i);
  }
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Reads numbers of seven bits per byte. Numbers beyond 2^53 do not occur.
class NumberReader {
  constructor(bytes) { this.bytes = bytes; this.at = 0; }
  next() {
    const bytes = this.bytes;
    let byte = bytes[this.at++];
    if (byte < 0x80) return byte;
    let value = byte & 0x7f, scale = 128;
    do { byte = bytes[this.at++]; value += (byte & 0x7f) * scale; scale *= 128; } while (byte >= 0x80);
    return value;
  }
  nextSigned() { const value = this.next(); return value % 2 ? -(value + 1) / 2 : value / 2; }
}

// Rows of slices that do not overlap, in columns. Times are ns since the first one.
function readTrace(layout, bytes) {
  const reader = new NumberReader(bytes), rows = [];
  let count = 0;
  for (const row of layout.rows) {
    rows.push({ track: row.track, first: count, end: count + row.slices });
    count += row.slices;
  }
  const column = (Type, value) => {
    const out = new Type(count);
    for (const row of rows) for (let i = row.first; i < row.end; i++) out[i] = value(i, i === row.first, out);
    return out;
  };
  const plain = (Type) => column(Type, () => reader.next());
  const start = column(Float64Array, (i, isFirst, out) => reader.next() + (isFirst ? 0 : out[i - 1]));
  const end = column(Float64Array, (i) => start[i] + reader.next());
  const trace = {
    layout, rows, count, start, end, name: plain(Uint32Array), kind: plain(Uint8Array), bytes: plain(Float64Array),
    entries: plain(Uint32Array), route: plain(Uint32Array),
    task: column(Float64Array, (i, isFirst, out) => reader.nextSigned() + (isFirst ? 0 : out[i - 1])),
    // The time of the submit; NaN for what was not submitted.
    submitted: column(Float64Array, (i) => {
      const value = reader.next();
      if (value === 0) return NaN;
      const before = value - 1;
      return start[i] - (before % 2 ? -(before + 1) / 2 : before / 2);
    }),
    submitter: plain(Uint32Array), runner: plain(Uint32Array), blocked: plain(Float64Array),
    code: column(Int32Array, () => reader.nextSigned()), unfinished: plain(Uint8Array),
  };
  const triple = (n, read) => Array.from({ length: n }, read);
  trace.arrows = { count: layout.arrows, fromTrack: new Uint32Array(layout.arrows), from: new Float64Array(layout.arrows),
                   toTrack: new Uint32Array(layout.arrows), to: new Float64Array(layout.arrows) };
  for (let i = 0; i < layout.arrows; i++) {
    trace.arrows.fromTrack[i] = reader.next();
    trace.arrows.from[i] = reader.next();
    trace.arrows.toTrack[i] = reader.next();
    trace.arrows.to[i] = trace.arrows.from[i] + reader.next();
  }
  trace.marks = triple(layout.marks, () => ({ track: reader.next(), at: reader.next(), name: reader.next() }));
  trace.memory = new Map();
  for (let i = 0; i < layout.memory; i++) {
    const key = `${reader.next()} ${reader.next()}`;
    if (!trace.memory.has(key)) trace.memory.set(key, { at: [], bytes: [], most: 0 });
    const curve = trace.memory.get(key), at = reader.next(), size = reader.next();
    curve.at.push(at);
    curve.bytes.push(size);
    curve.most = Math.max(curve.most, size);
  }
  if (reader.at !== bytes.length) throw new Error(`${bytes.length - reader.at} bytes of the trace were not read`);
  sumUp(trace);
  return trace;
}

// Prefix sums: the time that the slices of a row before this one were busy, and moved bytes.
function sumUp(trace) {
  const { rows, start, end, kind, bytes, code } = trace;
  trace.busyBefore = new Float64Array(trace.count);
  trace.movedBefore = new Float64Array(trace.count);
  for (const row of rows) {
    let busy = 0, moved = 0;
    for (let i = row.first; i < row.end; i++) {
      trace.busyBefore[i] = busy;
      trace.movedBefore[i] = moved;
      const ns = end[i] - start[i];
      if (kind[i] !== KINDS.wait) busy += ns;
      if (isMoving(trace, i)) moved += ns;
    }
    row.busy = busy;
    row.moved = moved;
  }
}

const isMoving = (trace, i) =>
  trace.bytes[i] > 0 && trace.code[i] === 0 && (trace.kind[i] === KINDS.task || trace.kind[i] === KINDS.access);

// The first index in [low, high) whose value is greater than `limit` (or equal, if `orEqual`).
function firstAbove(values, low, high, limit, orEqual) {
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (orEqual ? values[middle] >= limit : values[middle] > limit) high = middle;
    else low = middle + 1;
  }
  return low;
}

// The time for which the slices of a row, up to `time`, were busy or moved bytes.
function timeBefore(trace, row, time, sums, counts) {
  const i = firstAbove(trace.start, row.first, row.end, time, true) - 1;
  if (i < row.first) return 0;
  return sums[i] + (counts(i) ? Math.min(time, trace.end[i]) - trace.start[i] : 0);
}

// Statistics of the slices in a range of time, by name: whole counts, and the part of the time inside the range.
function statistics(trace, from, to) {
  const lines = new Map();
  let busyCopies = 0;
  for (const row of trace.rows) {
    const low = firstAbove(trace.end, row.first, row.end, from, false);
    for (let i = low; i < row.end && trace.start[i] < to; i++) {
      const key = trace.name[i] * 8 + trace.kind[i];
      let line = lines.get(key);
      if (!line) lines.set(key, line = { name: trace.layout.texts[trace.name[i]], kind: trace.kind[i], count: 0, ns: 0,
                                         longest: 0, bytes: 0, failed: 0 });
      const whole = trace.end[i] - trace.start[i], inside = Math.min(trace.end[i], to) - Math.max(trace.start[i], from);
      line.count += 1;
      line.ns += inside;
      line.longest = Math.max(line.longest, whole);
      if (trace.code[i]) line.failed += 1;
      // Bytes in proportion to the part of the copy that is inside.
      else if (trace.bytes[i]) line.bytes += whole > 0 ? trace.bytes[i] * inside / whole : trace.bytes[i];
      if (isMoving(trace, i)) busyCopies += inside;
    }
  }
  return { lines: [...lines.values()].sort((a, b) => b.ns - a.ns), busyCopies };
}

// Formats, with the words of the command's summary.
const digits = (value) => value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
function duration(ns) {
  if (ns >= 1e9) return `${digits(ns / 1e9)} s`;
  if (ns >= 1e6) return `${digits(ns / 1e6)} ms`;
  if (ns >= 1e3) return `${digits(ns / 1e3)} us`;
  return `${ns < 10 && ns % 1 ? ns.toFixed(1) : ns.toFixed(0)} ns`;
}
function size(bytes) {
  for (const [bits, unit] of [[30, "GiB"], [20, "MiB"], [10, "KiB"]]) {
    const one = 2 ** bits;
    if (bytes >= one) return bytes % one === 0 ? `${bytes / one} ${unit}` : `${(bytes / one).toFixed(1)} ${unit}`;
  }
  return `${Math.round(bytes)} B`;
}
const rate = (bytes, ns) => ns > 0 && bytes > 0 ? `${digits(bytes / ns)} GB/s` : "";
