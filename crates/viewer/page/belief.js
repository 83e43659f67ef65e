// What a sync knew and what was true: the objects at the revisions of its caches, and at the newest revision at its start.

import { differences } from "./objects.js";
import { clock, lastUpTo } from "./run.js";
import { chain, endOf } from "./why.js";

/**
 * The sync of a controller that an entry is of or follows from, which may still run at the entry; or else the last one that ended up to it.
 * Nothing if there is no sync; `end` is its end in the log, if there is one.
 */
export function syncAt(run, controllers, controller, cursor) {
  const isOurs = (i) => controller && controllers.at(i) === controller;
  // A sync without a queue is not in the list, and is shown while the cursor is on it.
  const isShown = (i) => isOurs(i) || (!controllers.at(i) && run.actor(i) === run.actor(cursor));
  if (run.stageOf(cursor) === "sync.end" && isShown(cursor)) return { start: run.causes(cursor)[0], end: cursor, isCause: true };
  const start = chain(run, cursor).links.map(({ at }) => at).find((at) => run.stageOf(at) === "sync.start" && isShown(at));
  if (start !== undefined) return { start, end: endOf(run, start), isCause: true };
  // Where another cluster took over, nothing of the first is left.
  const ends = run.of("sync.end"), isLost = (i) => cursor >= run.forked && i < run.forked;
  const end = ends.slice(0, lastUpTo(ends, cursor) + 1).findLast(isOurs);
  return end === undefined || isLost(end) ? undefined : { start: run.causes(end)[0], end };
}

/** How far a sync was at an entry, in words. */
export const progress = (run, { end }, cursor) => (end <= cursor ? `ended ${clock(run.time(end))}` : `still running, ${end ? `until #${run.id(end)}` : "and its end is not in the log"}`);

/** What the view shows of a sync. */
export function beliefOf(run, histories, end) {
  const start = run.causes(end)[0];
  const from = start >= 0 ? start : end;
  const reads = run.word(end, "reads") || {}, looked = run.word(end, "looked") || {};
  const truth = Math.max(run.newest[from], ...Object.values(reads));
  const resources = Object.keys(reads).map((resource) => {
    const revision = reads[resource];
    const keys = (looked[resource] || []).flatMap((key) => {
      if (!key.endsWith("*")) return [`${resource}/${key}`];
      const prefix = `${resource}/${key.slice(0, -1)}`;
      return [...new Set([...histories.under(prefix, revision), ...histories.under(prefix, truth)])];
    });
    const objects = [...new Set(keys)].map((subject) => objectOf(histories, subject, revision, truth));
    const unseen = unseenOf(run, resource, revision, truth, new Set(keys));
    return { resource, revision, behind: behind(run, resource, revision, truth), objects, unseen, whole: (looked[resource] || []).some((key) => key.endsWith("*")) };
  });
  return {
    end, start, truth, resources,
    writes: start >= 0 ? [...run.effects(start)].filter((i) => run.stageOf(i) === "sync.write") : [],
  };
}

function objectOf(histories, subject, revision, truth) {
  const history = histories.history(subject);
  const [believed, was] = [histories.atRevision(subject, revision), histories.atRevision(subject, truth)];
  const [a, b] = [histories.after(subject, believed).object, histories.after(subject, was).object];
  return { subject, known: history.length > 0, believed: a, was: b, missed: history.slice(believed + 1, was + 1), rv: believed < 0 ? null : a?.metadata?.resourceVersion, changes: believed === was ? [] : differences(a, b).filter((change) => change.path.map((step) => step.name).join(".") !== "metadata.resourceVersion") };
}

/** The changes of a resource that its cache had not seen yet. */
function behind(run, resource, revision, truth) {
  return changesOf(run, resource).filter((i) => run.rv(i) > revision && run.rv(i) <= truth).length;
}

/** Objects that came to be after what the cache held, and that the sync therefore could not look at. */
function unseenOf(run, resource, revision, truth, looked) {
  return changesOf(run, resource).filter((i) => run.rv(i) > revision && run.rv(i) <= truth && run.word(i, "op") === "create" && !looked.has(run.subject(i)));
}

const commits = new WeakMap();

function changesOf(run, resource) {
  if (!commits.has(run)) {
    const by = new Map();
    for (const i of run.of("store.commit")) {
      const name = run.subject(i).split("/")[0];
      if (!by.has(name)) by.set(name, []);
      by.get(name).push(i);
    }
    commits.set(run, by);
  }
  return commits.get(run).get(resource) || [];
}
