// Where the cursor goes: by event, sync and revision, and to the next write of somebody.

import { lastUpTo } from "./run.js";

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

/** Who writes: the parts of components whose syncs did, and the users of whom no more is known. */
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
  const request = commit >= 0 ? run.causes(commit)[0] : -1;
  if (request === undefined || request < 0 || run.stageOf(request) !== "api.request") return "nobody the log names";
  const sender = run.causes(request)[0];
  return sender !== undefined && sender >= 0 && run.stageOf(sender) === "sync.write" ? run.actor(sender) : String(run.word(request, "user"));
}
