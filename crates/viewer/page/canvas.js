// Draws lanes on a canvas: only what is in sight, and of marks in one pixel only the one that weighs most.

import { ticksOf } from "./axis.js";

export const ROW = 20;
export const HEAD = 22;
export const RULER = 26;

/** The rows in sight: groups' heads and, where they are open, their lanes; each with its place from above. */
export function rowsOf(groups, folded) {
  const rows = [];
  let y = RULER;
  for (const group of groups) {
    rows.push({ group, y, height: HEAD });
    y += HEAD;
    if (!folded.has(group.name)) {
      for (const lane of group.lanes) {
        rows.push({ lane, y, height: ROW });
        y += ROW;
      }
    }
  }
  return { rows, height: y + 6 };
}

/** Reads the colours of the page's theme. */
export function coloursOf(element) {
  const style = getComputedStyle(element), known = new Map();
  return (name) => {
    if (!known.has(name)) known.set(name, style.getPropertyValue(`--${name}`).trim());
    return known.get(name);
  };
}

/**
 * Draws. `view` is `{ axis, from, to }` in the axis' unit; `scene` holds what is drawn.
 */
export function draw(context, size, scene, view, colour) {
  const { width, height, left, top } = size;
  const x = (value) => left + ((value - view.from) / (view.to - view.from)) * (width - left);
  context.clearRect(0, 0, width, height);
  context.font = "12px system-ui, sans-serif";
  context.textBaseline = "middle";
  context.save();
  context.beginPath();
  context.rect(left, 0, width - left, height);
  context.clip();
  ticks(context, size, scene, view, x, colour);
  const inSight = scene.rows.rows.filter((row) => row.y + row.height > top + RULER && row.y < top + height);
  for (const row of inSight) {
    const y = row.y - top;
    if (row.group) continue;
    context.fillStyle = colour("rule");
    context.fillRect(left, y + row.height - 0.5, width - left, 0.5);
    if (row.lane.ghost) ghosts(context, row, y, view, scene, x, colour, left, width);
    if (row.lane.isUnknown) hatch(context, left, y + 2, width - left, row.height - 4, colour);
    spans(context, row, y, view, scene, x, colour, left, width);
    marks(context, row, y, view, scene, x, colour);
    labels(context, row, y, view, x, colour, left, width);
  }
  edges(context, size, scene, x, colour);
  faults(context, size, scene, x, colour);
  if (scene.ghost) parting(context, size, scene, x, colour);
  chainLines(context, size, scene, x, colour);
  const at = x(view.axis[scene.cursor]);
  context.fillStyle = colour("cursor");
  context.fillRect(Math.round(at) - 0.5, 0, 1.5, height);
  const place = placeOf(scene, scene.cursor);
  if (place !== null) ring(context, at, place - top, colour);
  if (scene.flag) {
    flag(context, size, scene, x, colour);
    guessMark(context, size, scene, x, colour);
  }
  if (scene.isBlind) {
    context.fillStyle = colour("veil");
    context.fillRect(Math.round(at) + 1, 0, width - at, height);
  }
  context.restore();
  context.fillStyle = colour("panel");
  context.fillRect(0, 0, width, RULER - 1);
  ruler(context, size, scene, view, x, colour);
  if (scene.flag) flagText(context, size, scene, x, colour);
}

/** Where the guess was made stands a line with what was guessed. */
function flag(context, { height }, scene, x, colour) {
  context.strokeStyle = colour(scene.flag.isRight ? "good" : "bad");
  context.lineWidth = 1.5;
  context.setLineDash([2, 3]);
  context.beginPath();
  context.moveTo(x(scene.axis[scene.flag.at]), RULER);
  context.lineTo(x(scene.axis[scene.flag.at]), height);
  context.stroke();
  context.setLineDash([]);
}

/** On the lane of the component that was guessed, a dashed sign stands where it would have acted. */
function guessMark(context, { width, left, top }, scene, x, colour) {
  const y = scene.yOf.get(scene.flag.lane);
  if (y === undefined) return;
  const at = x(scene.axis[scene.flag.then]), text = "your guess", long = context.measureText(text).width + 8, middle = y - top;
  if (at < left || at > width) return;
  context.save();
  context.strokeStyle = context.fillStyle = colour("guess");
  context.lineWidth = 2;
  context.setLineDash([3, 2]);
  context.beginPath();
  context.arc(at, middle, 7, 0, 7);
  context.stroke();
  const from = at + 12 + long > width ? at - 12 - long : at + 12;
  context.fillStyle = colour("panel");
  context.fillRect(from, middle - 8, long, 16);
  context.lineWidth = 1;
  context.strokeRect(from, middle - 8, long, 16);
  context.fillStyle = colour("guess");
  context.fillText(text, from + 4, middle);
  context.restore();
}

function flagText(context, { width, left }, scene, x, colour) {
  const at = x(scene.axis[scene.flag.at]), { text } = scene.flag, long = context.measureText(text).width + 10;
  if (at < left || at > width) return;
  const from = Math.max(left, Math.min(at, width - long));
  context.fillStyle = colour(scene.flag.isRight ? "good" : "bad");
  context.fillRect(from, 2, long, RULER - 6);
  context.fillStyle = colour("panel");
  context.fillText(text, from + 5, RULER / 2 - 1);
}

function ticks(context, { width, height, left }, scene, view, x, colour) {
  context.fillStyle = colour("grid");
  for (const value of ticksOf(view, width - left)) context.fillRect(Math.round(x(value)), RULER, 1, height);
}

function ruler(context, { width, left }, scene, view, x, colour) {
  context.fillStyle = colour("quiet");
  context.textAlign = "left";
  for (const value of ticksOf(view, width - left)) {
    const at = x(value);
    const text = scene.tickText(value);
    if (at < left || at + 5 + context.measureText(text).width > width) continue;
    context.fillRect(Math.round(at), RULER - 6, 1, 5);
    context.fillText(text, at + 3, RULER / 2 - 1);
  }
}

function spans(context, row, y, view, scene, x, colour, left, width) {
  let filled = -Infinity;
  for (const span of row.lane.spans) {
    const from = x(view.axis[span.from]), to = x(view.axis[span.to]);
    // A span that ends within the pixel of the previous one would not be visible next to it.
    if (to < left || from > width || (to < filled && span.kind !== "syncFailed")) continue;
    filled = Math.max(filled, Math.floor(from) + 1);
    const isSync = span.kind === "sync" || span.kind === "syncFailed";
    const [above, thick] = isSync ? [5, row.height - 10] : [3, row.height - (row.lane.ghost ? 10 : 7)];
    context.fillStyle = colour(`span-${span.kind}`);
    if (span.kind === "unknown") hatch(context, Math.max(from, left), y + above, Math.min(to, width) - Math.max(from, left), thick, colour);
    else context.fillRect(from, y + above, Math.max(to - from, isSync ? 2 : 1), thick);
  }
}

/** The text of each span, over the marks, where it is not cut. */
function labels(context, row, y, view, x, colour, left, width) {
  context.fillStyle = colour("text");
  context.textAlign = "left";
  for (const span of row.lane.spans) {
    if (!span.text || span.kind === "sync" || span.kind === "syncFailed") continue;
    const from = x(view.axis[span.from]), start = Math.max(from, left) + 8, room = Math.min(x(view.axis[span.to]), width) - start - 4;
    if (room < 10 || from > width) continue;
    const text = [span.text, SHORTER[span.text], /^\d/.test(span.text) ? span.text.split(" ")[0] : ""].find((one) => one && context.measureText(one).width <= room);
    if (text) context.fillText(text, start, y + row.height / 2 - (row.lane.ghost ? 1 : 0));
  }
}

const SHORTER = { ContainerCreating: "creating", terminating: "ending", scheduled: "sched." };

function marks(context, row, y, view, scene, x, colour) {
  const list = row.lane.marks, { axis } = view;
  let at = firstFrom(list, axis, view.from);
  const middle = y + row.height / 2;
  const unit = (view.to - view.from) / Math.max(1, context.canvas.clientWidth);
  while (at < list.length && axis[list[at].i] <= view.to) {
    let best = list[at];
    const pixel = axis[best.i] + unit;
    // Within a pixel, at most a few are compared: the rest is passed over by halving.
    let next = at + 1, looked = 0;
    while (next < list.length && axis[list[next].i] < pixel && looked++ < 64) {
      if (list[next].weight > best.weight) best = list[next];
      next++;
    }
    if (looked >= 64) next = Math.max(next, firstFrom(list, axis, pixel));
    shape(context, best.kind, x(axis[best.i]), middle, colour);
    at = next;
  }
}

/** The other run lies beneath: a strip under what is a bar, pale signs for what is a sign. */
function ghosts(context, row, y, view, scene, x, colour, left, width) {
  const { ghost, isGhost } = row.lane, { axis } = scene.ghost, [above, thick] = isGhost ? [3, row.height - 7] : [row.height - 6, 5];
  context.save();
  context.globalAlpha = 0.75;
  context.strokeStyle = colour("quiet");
  context.lineWidth = 0.75;
  context.setLineDash([3, 2]);
  for (const span of ghost.spans) {
    const from = Math.max(left - 1, x(axis[span.from])), to = Math.min(width + 1, x(axis[span.to]));
    if (to < left || from > width) continue;
    context.fillStyle = colour(`span-${span.kind}`);
    context.fillRect(from, y + above, Math.max(to - from, 2), thick);
    context.strokeRect(from, y + above, Math.max(to - from, 2), thick);
  }
  context.setLineDash([]);
  context.globalAlpha = isGhost ? 0.55 : 0.4;
  marks(context, { lane: ghost, height: row.height }, y, { ...view, axis }, scene, x, colour);
  context.restore();
}

/** Where two runs part. */
function parting(context, { height }, scene, x, colour) {
  const { axis } = scene, at = Math.min(scene.ghost.same, axis.length - 1);
  context.save();
  context.strokeStyle = colour("bad");
  context.lineWidth = 1;
  context.setLineDash([4, 3]);
  context.beginPath();
  context.moveTo(x(axis[at]), RULER);
  context.lineTo(x(axis[at]), height);
  context.stroke();
  context.restore();
}

function firstFrom(list, axis, value) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (axis[list[middle].i] < value) low = middle + 1; else high = middle;
  }
  return low;
}

/** A state is a shape as well as a colour. */
function shape(context, kind, x, y, colour) {
  context.fillStyle = context.strokeStyle = colour(`mark-${kind}`);
  context.lineWidth = 1.5;
  const path = (...points) => {
    context.beginPath();
    points.forEach(([dx, dy], at) => (at ? context.lineTo(x + dx, y + dy) : context.moveTo(x + dx, y + dy)));
  };
  switch (kind) {
    case "create": path([-4, -5], [4, 0], [-4, 5]); context.fill(); break;
    case "delete": path([-4, -4], [4, 4]); context.stroke(); path([4, -4], [-4, 4]); context.stroke(); break;
    case "put": context.fillRect(x - 0.75, y + 3, 1.5, 5); break;
    case "write": path([0, -5], [4, 3], [-4, 3]); context.fill(); break;
    case "pass": path([-4, 0], [-1, 4], [5, -4]); context.lineWidth = 2.5; context.stroke(); break;
    case "fail": path([-4, -4], [4, 4]); context.lineWidth = 2.5; context.stroke(); path([4, -4], [-4, 4]); context.stroke(); break;
    case "retry": path([-3, -3], [3, 3]); context.stroke(); path([3, -3], [-3, 3]); context.stroke(); break;
    case "stale": path([0, -4], [4, 0], [0, 4], [-4, 0]); context.fill(); break;
    case "merged": context.beginPath(); context.arc(x, y, 2.5, 0, 7); context.stroke(); break;
    case "delay": context.fillRect(x - 2, y - 0.75, 5, 1.5); break;
    case "notified": context.fillRect(x - 0.5, y - 2, 1, 4); break;
    default: context.beginPath(); context.arc(x, y, kind === "add" || kind === "cache" ? 2.5 : 1.7, 0, 7); context.fill();
  }
}

function hatch(context, x, y, width, height, colour) {
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  context.strokeStyle = colour("hatch");
  context.lineWidth = 1;
  context.beginPath();
  for (let at = x - height; at < x + width; at += 7) {
    context.moveTo(at, y + height);
    context.lineTo(at + height, y);
  }
  context.stroke();
  context.restore();
}

/** A fault is a band over all lanes, from where it struck to where it was put right. */
function faults(context, { height }, scene, x, colour) {
  for (const span of scene.faults) {
    context.fillStyle = colour("fault");
    context.fillRect(x(scene.axis[span.from]), RULER, Math.max(2, x(scene.axis[span.to]) - x(scene.axis[span.from])), height);
  }
}

/** Where the log has forgotten what was, all lanes are hatched: from their beginning, or between two entries. */
function edges(context, { width, height, left }, scene, x, colour) {
  for (const i of scene.edges) {
    if (i < scene.first) continue;
    const to = x(scene.axis[i]), from = i === 0 ? left : Math.min(x(scene.axis[i - 1]), to - 8);
    if (to > left && from < width) hatch(context, Math.max(from, left), RULER, Math.min(to, width) - Math.max(from, left), height - RULER, colour);
  }
}

/** Where an entry lies from above, in the whole of the lanes; null if no lane shows it. */
export function placeOf(scene, i) {
  const lane = scene.laneOf[i];
  if (lane < 0) return null;
  const y = scene.yOf.get(lane);
  return y === undefined ? null : y;
}

/** Only the chain of what is selected is drawn. */
function chainLines(context, { top }, scene, x, colour) {
  const points = scene.chain.map((i) => [x(scene.axis[i]), placeOf(scene, i)]).filter(([, y]) => y !== null);
  context.strokeStyle = colour("chain");
  context.lineWidth = 1.25;
  for (let at = 1; at < points.length; at++) {
    const [[x1, y1], [x2, y2]] = [points[at], points[at - 1]];
    context.beginPath();
    context.moveTo(x1, y1 - top);
    const bend = (y2 - y1) / 2;
    context.bezierCurveTo(x1, y1 - top + bend, x2, y2 - top - bend, x2, y2 - top);
    context.stroke();
  }
  context.fillStyle = colour("chain");
  for (const [px, py] of points) {
    context.beginPath();
    context.arc(px, py - top, 2.2, 0, 7);
    context.fill();
  }
}

function ring(context, x, y, colour) {
  context.strokeStyle = colour("cursor");
  context.lineWidth = 2;
  context.beginPath();
  context.arc(x, y, 6.5, 0, 7);
  context.stroke();
}

/** The entry under a pointer: the heaviest mark within a few pixels, or the span it lies in; -1 if there is no entry. */
export function entryAt(lane, view, unit, value) {
  const near = 7 * unit, { axis } = view;
  let best = -1, weight = -1;
  for (let at = firstFrom(lane.marks, axis, value - near); at < lane.marks.length; at++) {
    const found = lane.marks[at], distance = Math.abs(axis[found.i] - value);
    if (axis[found.i] > value + near) break;
    const worth = found.weight * 2 - (distance / near) * 6 + 6;
    if (worth > weight) [best, weight] = [found.i, worth];
  }
  if (best >= 0) return best;
  const span = lane.spans.findLast((one) => axis[one.from] - near <= value && value <= axis[one.to] + near);
  return span ? span.from : -1;
}
