// Why something is there: the same chain as the crate's `chain`, which `coracle why` prints.

import { isMap } from "./objects.js";
import { CAUSES } from "./run.js";

/** Where the sync ends that an entry starts; `undefined` if it starts none, or the log does not hold the end. */
export const endOf = (run, i) => (run.stageOf(i) === "sync.start" ? run.effects(i).find((one) => run.stageOf(one) === "sync.end") : undefined);

const MOST = 4;

/** Which fields an update changed, as the crate's `changed` reports; empty if the entry is no update, or the log does not have the change. */
function changedBy(run, i) {
  if (run.stageOf(i) !== "store.commit" || run.word(i, "op") !== "put") return "";
  const change = run.effects(i).find((one) => run.stageOf(one) === "object.change" && run.subject(one) === run.subject(i));
  const patch = (change && run.word(change, "patch")) || {};
  const below = ([name, value]) => (isMap(value) && Object.keys(value).length > 0 ? Object.keys(value).map((field) => `${name}.${field}`) : [name]);
  const fields = Object.entries(patch).flatMap(below).filter((field) => field !== "metadata.resourceVersion").sort();
  return fields.slice(0, MOST).join(", ") + (fields.length > MOST ? ` and ${fields.length - MOST} more` : "");
}

/** The entry, its newest cause, the newest cause of that, and so on; `lost` is a cause that the log does not hold. */
export function chain(run, i) {
  const links = [];
  let at = i, lost = null;
  while (at >= 0) {
    const causes = run.entries[at][CAUSES], end = endOf(run, at);
    links.push({ at, others: Math.max(0, causes.length - 1), decided: end && run.word(end, "decided"), changed: changedBy(run, at) });
    if (causes.length === 0) break;
    const newest = causes.reduce((most, id) => Math.max(most, id));
    const next = run.place(newest);
    if (next < 0 || next >= at) {
      lost = newest;
      break;
    }
    at = next;
  }
  return { links, lost };
}

/** Where the chain of an object begins: its last creation up to a place, or else the first entry about it. */
export function origin(run, subject, upTo = run.count - 1) {
  for (const place of [...run.of("store.commit")].reverse()) {
    if (place <= upTo && run.subject(place) === subject && run.word(place, "op") === "create") return place;
  }
  for (let i = 0; i < run.count; i++) if (run.subject(i) === subject) return i;
  return -1;
}

/** All that an entry follows from. */
export function ancestors(run, i, most = 2000) {
  const found = new Set([i]), open = [i];
  while (open.length > 0 && found.size < most) {
    for (const cause of run.causes(open.pop())) {
      if (cause >= 0 && !found.has(cause)) {
        found.add(cause);
        open.push(cause);
      }
    }
  }
  return found;
}
