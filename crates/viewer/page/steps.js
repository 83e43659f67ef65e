// Where the cursor goes: by event, sync and revision, and to the next write of a writer.

import { lastUpTo } from "./run.js";
import { chain } from "./why.js";

/** The kinds of step, with the entries that each stops at. */
export const STEPS = {
  event: () => null,
  revision: (run) => run.of("store.commit"),
  sync: (run) => [...run.of("sync.start"), ...run.of("sync.end")].sort((a, b) => a - b),
  check: (run) => [...run.of("check.pass"), ...run.of("check.fail")].sort((a, b) => a - b),
};

/** The entry one step of a kind away. */
export function stepped(run, cursor, by, forwards) {
  const places = STEPS[by](run);
  if (!places) return Math.min(run.count - 1, Math.max(0, cursor + (forwards ? 1 : -1)));
  return among(places, cursor, forwards);
}

/** The next or the last of some places. */
export function among(places, cursor, forwards) {
  const up = lastUpTo(places, cursor);
  if (forwards) return places[up + 1] ?? cursor;
  const before = places[up] === cursor ? up - 1 : up;
  return places[before] ?? cursor;
}

/** The writers: controllers whose syncs wrote, and users of other requests. */
export function writersOf(run) {
  const writers = new Map();
  for (const i of run.of("store.commit")) {
    if (i < run.begin) continue;
    const name = author(run, i);
    if (!writers.has(name)) writers.set(name, []);
    writers.get(name).push(i);
  }
  return writers;
}

/** Who made a commit, or what a commit made: the sync's actor, or the user who asked. */
export function author(run, i) {
  const commit = run.stageOf(i) === "object.change" ? run.causes(i)[0] : i;
  return asker(run, commit >= 0 ? run.causes(commit)[0] : -1);
}

/** Who sent a request: the sync's actor, or the user. */
export function asker(run, request) {
  if (!(request >= 0) || run.stageOf(request) !== "api.request") return "unknown writer";
  const [sender] = run.causes(request);
  return sender >= 0 && run.stageOf(sender) === "sync.write" ? run.actor(sender) : String(run.word(request, "user"));
}

const soonest = new WeakMap();

/** The first write that each entry leads to. */
function writesAfter(run) {
  if (!soonest.has(run)) {
    const first = new Int32Array(run.count).fill(run.count);
    for (let i = run.count - 1; i >= 0; i--) {
      if (run.stageOf(i) === "store.commit") first[i] = i;
      for (const cause of run.causes(i)) if (cause >= 0) first[cause] = Math.min(first[cause], first[i]);
    }
    soonest.set(run, first);
  }
  return soonest.get(run);
}

/** Whether something was written because of an entry. */
export const leadsToWrite = (run, i) => writesAfter(run)[i] < run.count;

/**
 * The next entry on a walk through all that followed: what an entry led to, the way to the soonest write first, and at an end what else came
 * of its causes. `walk` holds where the walk is; a cursor that went elsewhere begins another.
 */
export function onwards(run, cursor, walk) {
  if (walk.at !== run.id(cursor)) {
    walk.path = chain(run, cursor).links.map(({ at }) => run.id(at)).reverse();
    walk.seen = new Set(walk.path);
  }
  const first = writesAfter(run), { path, seen } = walk;
  for (; path.length > 0; path.pop()) {
    const effects = [...run.effects(run.place(path.at(-1)))].filter((i) => !seen.has(run.id(i)));
    const [next] = effects.sort((a, b) => first[a] - first[b] || a - b);
    if (next === undefined) continue;
    walk.at = run.id(next);
    path.push(walk.at);
    seen.add(walk.at);
    return next;
  }
  return cursor;
}
