// Playing a run: the entries that lead to a write, one after the other, as fast as one can read or faster.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { lastUpTo } from "./run.js";
import { leadsToWrite } from "./steps.js";
import { chain } from "./why.js";

/** How long an entry stays at speed 1, in milliseconds; a caption stays longer, by its length. */
const STAY = 700, LETTER = 45;
/** So many links of its chain are shown at most before a caption. */
const MOST_LINKS = 6;
export const SPEEDS = [0.25, 0.5, 1, 2, 4];
const SKIPPED = /^(api\.respond|object\.change|fifo\.pop|queue\.done|kubelet\.volume|reflector\.|admission\.|component\.)/;
const isBackground = (subject) => /^(events|leases)\//.test(subject);

/** The entries that the story consists of: decisions, writes, and all that leads to them. */
export function storyOf(run) {
  const places = [];
  for (let i = run.begin; i < run.count; i++) {
    const stage = run.stageOf(i);
    if (SKIPPED.test(stage) || isBackground(run.subject(i))) continue;
    if (/^(step|check|fault)\./.test(stage) || run.word(i, "decided") || leadsToWrite(run, i)) places.push(i);
  }
  return places;
}

/** The newest decision or write, which the view of a running cluster follows; Events and Leases do not count. */
export function newestAct(run) {
  const isAct = (i) => (run.stageOf(i) === "store.commit" && !isBackground(run.subject(i))) || Boolean(run.word(i, "decided")) || /^(check|fault|step)\./.test(run.stageOf(i));
  for (let i = run.count - 1; i >= Math.max(0, run.count - 5000); i--) if (isAct(i)) return i;
  return run.count - 1;
}

/** What is played of a lesson: the entries of its captions, and between two of them the chain that leads to the second one. */
export function tourOf(run, captioned) {
  const links = (i, after) => chain(run, i).links.map(({ at }) => at).filter((at) => at > after).slice(0, MOST_LINKS);
  return [...new Set(captioned.flatMap((i, k) => [i, ...(k > 0 ? links(i, captioned[k - 1]) : [])]))].sort((a, b) => a - b);
}

/** The player of a run: `step` goes along the story, `toggle` plays and pauses. A lesson has a tour: `advance` may go to its next caption first, and a caption of so many `letters` stays until it is read. */
export function usePlayer(run, cursor, select, tour) {
  const [isPlaying, setPlaying] = useState(false), [speed, setSpeed] = useState(1);
  const places = useMemo(() => (tour ? tourOf(run, tour.captioned) : storyOf(run)), [run, tour?.captioned]);
  const next = places[lastUpTo(places, cursor) + 1], isOver = next === undefined;
  const step = (forwards) => {
    if (forwards) return isOver ? undefined : select(next);
    const at = lastUpTo(places, cursor), before = places[places[at] === cursor ? at - 1 : at];
    return before === undefined ? undefined : select(before);
  };
  const tick = useRef(), stay = useRef();
  tick.current = () => {
    if (tour?.advance(next)) return;
    if (isOver) setPlaying(false); else select(next);
  };
  stay.current = STAY + (tour?.letters ?? 0) * LETTER;
  useEffect(() => {
    if (!isPlaying) return undefined;
    let frame = 0, last = performance.now();
    const turn = (now) => {
      if (now - last >= stay.current / speed) {
        last = now;
        tick.current();
      }
      frame = requestAnimationFrame(turn);
    };
    frame = requestAnimationFrame(turn);
    return () => cancelAnimationFrame(frame);
  }, [isPlaying, speed]);
  const faster = (by) => setSpeed((now) => SPEEDS[Math.min(SPEEDS.length - 1, Math.max(0, SPEEDS.indexOf(now) + by))]);
  return { isPlaying, speed, faster, step, pace: STAY / speed, toggle: () => setPlaying(!isPlaying) };
}
