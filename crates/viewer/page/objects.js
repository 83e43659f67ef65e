// Objects as they were at any revision, replayed from what the log holds of them, and how two of them differ.

import { lastUpTo } from "./run.js";

const TIMES_KEPT = 400;

/** The histories of all objects of a run. */
export function historiesOf(run) {
  const histories = new Map();
  for (const i of run.of("object.change")) {
    const subject = run.subject(i);
    if (!histories.has(subject)) histories.set(subject, []);
    histories.get(subject).push(i);
  }
  const kept = new Map();
  /** The object and its field managers after the change at a place of its history. */
  function after(subject, at) {
    const history = histories.get(subject);
    if (!history || at < 0) return { object: null, managers: {} };
    const known = (place) => kept.get(`${place} ${subject}`);
    if (known(at)) return known(at);
    let from = at;
    while (from > 0 && run.word(history[from], "whole") === undefined && !known(from - 1)) from--;
    let { object, managers, isCut } = known(from - 1) ?? { object: null, managers: {}, isCut: run.word(history[from], "whole") === undefined };
    for (let k = from; k <= at; k++) {
      const change = run.fields(history[k]);
      if (change.gone) {
        object = null;
        managers = {};
        continue;
      }
      if (change.whole !== undefined) {
        object = change.whole;
        managers = change.managers || {};
        isCut = false;
        continue;
      }
      if (change.patch !== undefined) object = merged(object, change.patch);
      if (change.managers !== undefined) managers = merged(managers, change.managers);
    }
    const found = { object, managers, isCut };
    if (kept.size > TIMES_KEPT) kept.clear();
    kept.set(`${at} ${subject}`, found);
    return found;
  }
  return {
    subjects: [...histories.keys()],
    history: (subject) => histories.get(subject) || [],
    after,
    /** Where an object's history is at a revision; -1 before it began. */
    atRevision(subject, revision) {
      const history = histories.get(subject) || [];
      let at = -1;
      for (let k = 0; k < history.length && run.rv(history[k]) <= revision; k++) at = k;
      return at;
    },
    /** Where it is at an entry: at the change that the entry speaks of, or at the newest revision then. */
    atEntry(subject, i) {
      const history = histories.get(subject) || [];
      const at = lastUpTo(history, i);
      return history[at] === i ? at : this.atRevision(subject, run.newest[i]);
    },
    /** Where an object that does not exist at an entry is created; undefined if it existed before its first entry in the log. */
    comesAt(subject, i) {
      const [first] = histories.get(subject) || [];
      if (first === undefined || this.atEntry(subject, i) >= 0) return undefined;
      const commit = this.commit(first);
      return run.word(commit, "op") === "create" ? commit : undefined;
    },
    /** The commit of a change, if it is in the log. */
    commit(i) {
      const cause = run.causes(i)[0];
      return cause !== undefined && cause >= 0 ? cause : i;
    },
    /** The objects under a prefix that are there at a revision. */
    under(prefix, revision) {
      const found = [];
      for (const [subject, history] of histories) {
        if (!subject.startsWith(prefix)) continue;
        let at = -1;
        for (let k = 0; k < history.length && run.rv(history[k]) <= revision; k++) at = k;
        if (at >= 0 && !run.word(history[at], "gone")) found.push(subject);
      }
      return found;
    },
  };
}

export const isMap = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/** A JSON merge patch applied (RFC 7386); neither is changed. */
export function merged(target, patch) {
  if (!isMap(patch)) return patch;
  const result = isMap(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else result[name] = merged(Object.hasOwn(result, name) ? result[name] : undefined, value);
  }
  return result;
}

/** How two values differ: paths with what was and what is; `undefined` is not there. */
export function differences(before, after, path = []) {
  if (before === after) return [];
  if (isMap(before) && isMap(after)) {
    const names = new Set([...Object.keys(before), ...Object.keys(after)]);
    return [...names].flatMap((name) => differences(before[name], after[name], [...path, { name }]));
  }
  if (Array.isArray(before) && Array.isArray(after)) {
    const keyed = pairs(before, after);
    if (keyed) return keyed.flatMap(([key, a, b]) => differences(a, b, [...path, { key }]));
  }
  if ((Array.isArray(before) && after === undefined) || (before === undefined && Array.isArray(after))) {
    const keyed = pairs(before ?? [], after ?? []);
    if (keyed) return keyed.flatMap(([key, a, b]) => differences(a, b, [...path, { key }]));
  }
  if ((isMap(before) && after === undefined) || (before === undefined && isMap(after))) {
    // A part that was added or removed as a whole is shown by its fields, so that each is next to its owner.
    const names = Object.keys(before ?? after);
    if (names.length > 0 && path.length > 0) return names.flatMap((name) => differences(before?.[name], after?.[name], [...path, { name }]));
  }
  return JSON.stringify(before) === JSON.stringify(after) ? [] : [{ path, before, after }];
}

/** The elements of two lists of maps side by side, by their keys; null if they have no key. */
function pairs(before, after) {
  const all = [...before, ...after];
  const name = ["type", "name", "uid", "containerPort", "key"].find((name) => all.every((item) => isMap(item) && item[name] !== undefined));
  if (!name || all.length === 0) return null;
  const find = (list, value) => list.find((item) => item[name] === value);
  const values = [...new Set(all.map((item) => item[name]))];
  if (values.length < Math.max(before.length, after.length)) return null;
  return values.map((value) => [{ [name]: value }, find(before, value), find(after, value)]);
}

/** A path as people read it. */
export function pathText(path) {
  return path.map((step, at) => {
    if (step.key) return `[${Object.entries(step.key).map(([name, value]) => `${name}=${value}`).join(",")}]`;
    return (at ? "." : "") + step.name;
  }).join("");
}

/** Who owns a field: the managers whose fields hold the path, or what it lies in as a whole. */
export function owners(managers, path) {
  return Object.entries(managers).filter(([, fields]) => owns(fields, path)).map(([name]) => name);
}

function owns(fields, path) {
  let at = fields;
  for (const step of path) {
    const inner = Object.keys(at).filter((name) => name !== ".");
    if (inner.length === 0) return true;
    let next;
    if (step.key) next = inner.find((name) => name.startsWith("k:") && matches(name.slice(2), step.key));
    else next = inner.find((name) => name === `f:${step.name}`);
    if (next === undefined) return false;
    at = at[next];
  }
  return true;
}

function matches(text, key) {
  try {
    const named = JSON.parse(text);
    return Object.entries(key).every(([name, value]) => named[name] === value);
  } catch {
    return false;
  }
}
