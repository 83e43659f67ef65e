// The lanes: their names as HTML, what happened on a canvas; zoom, pan and a click that selects.

import { html } from "./html.js";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { HEAD, ROW, RULER, coloursOf, draw, entryAt, rowsOf } from "./canvas.js";
import { clock, short } from "./run.js";
import { arranged, mostPinned, pinnedOf } from "./arranged.js";
import { spell } from "./axis.js";
import { sentence } from "./sentence.js";
import { overlaid } from "./ghosts.js";
import { RECENT, useRange } from "./range.js";
import { isPartOf } from "./guess.js";

const AXES = { revision: "revision", time: "time", order: "event" };

export function Timeline({ run, live, isFollowing, lanes: own, ghost, cursor, chain, select, isUnfolded, subject, pick, captioned = NONE, flag, guessing, isBlind, isFocused, setFocused }) {
  const lanes = useMemo(() => overlaid(own, ghost), [own, ghost]);
  const [name, setAxis] = useState("revision");
  const [turned, setTurned] = useState(() => new Set());
  const axis = run.axes[name], ghostAxis = ghost?.run.axes[name];
  const first = isUnfolded || cursor < run.begin ? 0 : run.begin;
  const whole = useMemo(() => {
    const from = axis[first], to = Math.max(axis[run.count - 1], run.ahead?.[name] ?? 0, ghostAxis ? ghostAxis[ghost.run.count - 1] : 0);
    const room = Math.max((live ? Math.min(to - from, RECENT[name]) : to - from) * 0.015, name === "time" ? 1e-3 : 0.5);
    // What is forgotten gets a place of its own.
    const edge = first === 0 && run.edges[0] === 0 ? Math.max((to - from) * 0.04, room) : 0;
    return { from: from - room - edge, to: to + room };
  }, [axis, first, ghostAxis]);
  const [range, setRange] = useState(whole);
  useRange({ live, isFollowing, name, whole }, setRange);
  // The lanes of the components that the answers name, or of the one that was guessed.
  const named = useMemo(() => (flag?.component ? [flag.component] : guessing?.components ?? NONE).map((one) => laneNamed(lanes, one)).filter((place) => place >= 0), [lanes, flag, guessing]);
  const [most, setMost] = useState(() => mostPinned(Infinity));
  const kept = useRef({ lanes: null, pinned: new Set() });
  const pinned = useMemo(() => {
    const fresh = pinnedOf(lanes, chain, most, captioned, named), old = kept.current;
    // Lanes that stay where they are can be followed: they change only when the chain needs others.
    if (old.lanes === lanes && old.pinned.size <= most && named.every((place) => old.pinned.has(place)) && [...pinnedOf(lanes, chain, most)].every((place) => old.pinned.has(place)) && (!captioned.length || old.captioned === captioned)) return old.pinned;
    kept.current = { lanes, pinned: fresh, captioned };
    return fresh;
  }, [lanes, chain, captioned, most, named]);
  const groups = useMemo(() => arranged(lanes, { pinned, cursor, isFocused, isHidden: (i) => axis[i] < range.from }), [lanes, pinned, cursor, isFocused, axis, range.from]);
  const folded = useMemo(() => new Set(groups.filter((group) => Boolean(group.isFolded) !== turned.has(group.name)).map((group) => group.name)), [groups, turned]);
  const rows = useMemo(() => rowsOf(groups, folded), [groups, folded]);
  const guessed = flag?.component ? laneNamed(lanes, flag.component) : -1;
  const yOf = useMemo(() => {
    const found = new Map();
    for (const row of rows.rows) {
      if (row.lane) found.set(row.lane.place, row.y + ROW / 2);
      else if (folded.has(row.group.name)) for (const lane of row.group.lanes) found.set(lane.place, row.y + HEAD / 2);
    }
    return found;
  }, [rows, folded]);
  const isFirst = useRef(true);
  const box = useRef(), canvas = useRef(), drag = useRef(null), frame = useRef(0);
  const [tip, setTip] = useState(null);
  const view = { axis, name, from: range.from, to: range.to };
  const zoom = (factor, around) => setRange((old) => {
    const middle = around ?? Math.min(Math.max(axis[cursor], old.from), old.to);
    const least = name === "time" ? 1e-4 : 0.02;
    const span = Math.max(least, Math.min((old.to - old.from) * factor, whole.to - whole.from));
    const from = middle - ((middle - old.from) / (old.to - old.from)) * span;
    return held({ from, to: from + span }, whole);
  });
  useEffect(() => {
    const value = axis[cursor];
    setRange((old) => {
      if (value >= old.from && value <= old.to) return old;
      const span = old.to - old.from;
      return held({ from: value - span / 2, to: value + span / 2 }, whole);
    });
    const y = yOf.get(lanes.laneOf[cursor]), area = box.current;
    const isArrival = isFirst.current;
    isFirst.current = false;
    if (area && pinned.has(lanes.laneOf[cursor])) area.scrollTop = 0;
    else if (!isArrival && !isFollowing && area && y !== undefined && (y - ROW < area.scrollTop + RULER || y + ROW > area.scrollTop + area.clientHeight)) {
      area.scrollTop = Math.max(0, y - area.clientHeight / 2);
    }
  }, [run.id(cursor), name]);
  const paint = () => {
    const area = box.current, target = canvas.current;
    if (!area || !target) return;
    const ratio = window.devicePixelRatio || 1, width = area.clientWidth - left(area), height = area.clientHeight;
    if (target.width !== Math.round(width * ratio) || target.height !== Math.round(height * ratio)) {
      target.width = Math.round(width * ratio);
      target.height = Math.round(height * ratio);
    }
    target.style.width = `${width}px`;
    target.style.height = `${height}px`;
    const context = target.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const faults = lanes.lanes.filter((lane) => lane.isFault).flatMap((lane) => lane.spans);
    const tickText = (value) => (name === "time" ? spell(value) : name === "order" ? `#${Math.round(value)}` : `rev ${Math.round(value)}`);
    const scene = { rows, yOf, laneOf: lanes.laneOf, cursor, chain, axis, faults, edges: run.edges, first, tickText, flag: flag && { ...flag, lane: guessed }, isBlind, ghost: ghost && { axis: ghostAxis, same: ghost.same } };
    draw(context, { width, height, left: 0, top: area.scrollTop }, scene, view, coloursOf(area));
  };
  const later = useRef(paint);
  later.current = paint;
  const request = () => {
    cancelAnimationFrame(frame.current);
    frame.current = requestAnimationFrame(() => later.current());
  };
  useLayoutEffect(paint);
  useEffect(() => {
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    const watcher = new ResizeObserver(() => {
      // The observer may call once more after the lanes of another run have taken the place.
      if (!box.current) return;
      setMost(mostPinned(Math.floor((box.current.clientHeight - RULER - HEAD) / ROW)));
      request();
    });
    watcher.observe(box.current);
    scheme.addEventListener("change", request);
    return () => { watcher.disconnect(); scheme.removeEventListener("change", request); };
  }, []);
  const at = (event) => {
    const area = box.current, bounds = canvas.current.getBoundingClientRect();
    const y = event.clientY - bounds.top + area.scrollTop, unit = (range.to - range.from) / bounds.width;
    const value = range.from + (event.clientX - bounds.left) * unit;
    const row = event.clientY - bounds.top < RULER ? undefined : rows.rows.find((one) => y >= one.y && y < one.y + one.height);
    const i = row?.lane ? entryAt(row.lane, view, unit, value) : -1;
    const isGhost = i < 0 && ghost && row?.lane?.ghost;
    return { value, unit, row, i, ghostly: isGhost ? entryAt(row.lane.ghost, { ...view, axis: ghostAxis }, unit, value) : -1 };
  };
  const point = (event) => {
    const { i, ghostly } = at(event), bounds = box.current.getBoundingClientRect();
    setTip(i < 0 && ghostly < 0 ? null : { i: i < 0 ? ghostly : i, of: i < 0 ? ghost.run : run, isOther: i < 0, x: event.clientX - bounds.left, y: event.clientY - bounds.top });
  };
  useEffect(() => {
    const away = (event) => { if (event.target !== canvas.current) setTip(null); };
    addEventListener("pointerdown", away);
    return () => removeEventListener("pointerdown", away);
  }, []);
  const handlers = {
    onWheel(event) {
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        zoom(Math.exp(event.deltaY / 200), at(event).value);
      } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey) {
        event.preventDefault();
        const by = ((event.deltaX || event.deltaY) / canvas.current.clientWidth) * (range.to - range.from);
        setRange((old) => held({ from: old.from + by, to: old.to + by }, whole));
      }
    },
    onPointerDown(event) {
      drag.current = { x: event.clientX, range, moved: false };
      canvas.current.setPointerCapture(event.pointerId);
    },
    onPointerMove(event) {
      const held_ = drag.current;
      if (!held_) {
        if (event.pointerType !== "touch") point(event);
        return;
      }
      const by = ((held_.x - event.clientX) / canvas.current.clientWidth) * (held_.range.to - held_.range.from);
      if (Math.abs(held_.x - event.clientX) > 3) held_.moved = true;
      if (held_.moved) setRange(held({ from: held_.range.from + by, to: held_.range.to + by }, whole));
    },
    onPointerUp(event) {
      const was = drag.current;
      drag.current = null;
      if (!was || was.moved) return;
      const found = at(event), guess = found.row?.lane && guessing?.at(found.row.lane.actor);
      if (guess) return guess();
      if (event.pointerType === "touch") point(event);
      if (found.i >= 0) select(found.i);
      else if (found.ghostly >= 0) ghost.choose(found.ghostly);
      else select(nearest(axis, found.value, run));
    },
    // A finger that is lifted leaves, too: what it tapped on stays explained until the next tap.
    onPointerLeave: (event) => { if (event.pointerType !== "touch") setTip(null); },
  };
  const fold = (group) => setTurned((old) => {
    const next = new Set(old);
    if (!next.delete(group)) next.add(group);
    return next;
  });
  return html`
    <section class="lanes" aria-label="Lanes" style=${{ "--label": `${widthOf(groups, folded)}px` }}>
      <div class="bar">
        <span class="choice" role="group" aria-label="Lanes over">
          ${Object.entries(AXES).map(([key, text]) => html`<button aria-pressed=${name === key} onClick=${() => setAxis(key)}>${text}</button>`)}
        </span>
        <button aria-label="zoom in" onClick=${() => zoom(0.5)}>+</button>
        <button aria-label="zoom out" onClick=${() => zoom(2)}>−</button>
        <button onClick=${() => setRange(whole)}>all</button>
        <button aria-pressed=${isFocused} title="only the lanes of this chain (o)" onClick=${() => setFocused(!isFocused)}>only this chain</button>
        ${isBlind ? html`<b class="blind">What comes next is hidden until you guess.</b>` : ""}
        <${Legend} />
      </div>
      <div class="scroll" ref=${box} onScroll=${request}>
        <div class="names" style=${{ height: `${rows.height}px` }}>
          <div class="corner">${first > 0 ? html`<span title="the start of the cluster is folded">◂ ${first} before</span>` : run.edges[0] === 0 ? html`<span class="hatched" title="the log has dropped earlier entries">◂ #${run.id(0)} dropped before</span>` : ""}</div>
          ${rows.rows.map((row) => row.group
    ? html`<button class="group" style=${{ top: `${row.y}px` }} aria-expanded=${!folded.has(row.group.name)} onClick=${() => fold(row.group.name)} title=${row.group.note || ""}>
              ${folded.has(row.group.name) ? "▸" : "▾"} ${row.group.label} ${row.group.isCounted ? "" : html`<i>${row.group.lanes.length}</i>`}</button>`
    : html`<button class=${`name${row.lane.subject && row.lane.subject === subject ? " chosen" : ""}${row.lane.isGhost ? " ghost" : ""}${guessing?.at(row.lane.actor) ? " guessable" : ""}`} style=${{ top: `${row.y}px` }} title=${row.lane.name} onClick=${guessing?.at(row.lane.actor) ?? (() => (row.lane.isGhost ? ghost.choose(row.lane.ghost.first) : pick(row.lane)))}><bdi>${short(row.lane.label, letters())}</bdi></button>`)}
        </div>
        <canvas ref=${canvas} role="img" aria-label="Lanes over ${AXES[name]}; the log tab has the same as a table" ...${handlers}></canvas>
        ${tip ? html`<div class="tip" style=${{ left: `${Math.min(tip.x + 12, (box.current?.clientWidth || 400) - 260)}px`, top: `${tip.y + 14 + (box.current?.scrollTop || 0)}px` }}>
            <b>#${tip.of.id(tip.i)}</b> ${clock(tip.of.time(tip.i))} · <bdi>${tip.of.actor(tip.i)}</bdi>${tip.isOther ? html` <i>the other run</i>` : ""}<br /><bdi>${sentence(tip.of, tip.i)}</bdi></div>` : ""}
      </div>
    </section>`;
}

/** The place of the lane of a component, or of its first part; -1 if it has no lane. */
function laneNamed(lanes, component) {
  const found = lanes.lanes.filter(({ actor }) => isPartOf(actor, component));
  return (found.find(({ actor }) => actor === component) ?? found[0])?.place ?? -1;
}

const NONE = [], LETTER = 6.9;

/** How many letters of a name fit: names are shortened in their middle, and never cut. */
const letters = () => (innerWidth <= 900 ? 15 : 34);

/** The labels take as much room as the longest needs. */
function widthOf(groups, folded) {
  const longest = Math.max(14, ...groups.map((group) => (folded.has(group.name) ? 0 : Math.max(...group.lanes.map((lane) => lane.label.length)))));
  return Math.round(Math.min(longest, letters()) * LETTER) + 30;
}

const left = (area) => area.firstElementChild.offsetWidth;

function held({ from, to }, whole) {
  const span = Math.min(to - from, whole.to - whole.from);
  const start = Math.min(Math.max(from, whole.from), whole.to - span);
  return { from: start, to: start + span };
}

function nearest(axis, value, run) {
  let low = 0, high = run.count - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (axis[middle] < value) low = middle + 1; else high = middle;
  }
  return low;
}

function Legend() {
  return html`<details class="legend"><summary>signs</summary><ul>
    <li><b>▶</b> an object is created</li><li><b>❘</b> it is updated</li><li><b>✕</b> it is removed, a request is refused, a check breaks</li>
    <li><b>✓</b> a check holds</li><li><b>▲</b> a write is sent, a node is picked</li><li><b>◆</b> waits for its own write, asks for what is not there</li>
    <li><b>●</b> a key is added, a cache changes</li><li><b>○</b> merged into what was queued</li><li><b>×</b> comes back after a failure</li>
    <li><b>▬</b> a sync, a state</li><li><b>╱╱</b> unknown: not recorded inside, or forgotten</li><li><b>▁▁</b> the other run of two, from where they part</li>
    <li>the line through the lanes is the cursor, the thin one its chain of causes</li></ul></details>`;
}
