// Five things worth a look, each with the entries that say so; nothing is found that the log does not hold.

import { ancestors } from "./why.js";
import { asker, author } from "./steps.js";

/** The findings of a run: `{ title, text, places, isOwn }`, the last where a component is responsible. Users cannot act on findings about Coracle's own components. */
export function findingsOf(run) {
  return [ownStatus(run), nothingChanged(run), conflicts(run), endlessRetries(run), finalizers(run)].flat();
}

const from = (run, places) => places.filter((i) => i >= run.begin);

/** Whether it is a component of Coracle, by its name or its user. A user's controller has a service account or a name of its own. */
const isOwn = (who) => /^(controller-manager|scheduler|kubelet|csi-driver|apiserver)(\/|$)|^system:(?!serviceaccount:)/.test(who);

/** A controller that is woken by its own writes. */
function ownStatus(run) {
  const woken = new Map();
  for (const i of from(run, run.of("sync.start"))) {
    const actor = run.actor(i);
    if (!woken.has(actor)) woken.set(actor, { all: 0, own: [] });
    const count = woken.get(actor);
    count.all++;
    const get = run.causes(i)[0];
    const adds = get >= 0 ? run.causes(get).filter((add) => add >= 0) : [];
    const isOwnWrite = (add) => {
      const write = [...ancestors(run, add, 40)].filter((one) => run.stageOf(one) === "sync.write").sort((a, b) => b - a)[0];
      return write !== undefined && run.actor(write) === actor && String(run.word(write, "resource")).endsWith("/status");
    };
    if (adds.length > 0 && adds.every(isOwnWrite)) count.own.push(i);
  }
  return [...woken].filter(([, { own }]) => own.length > 0).map(([actor, { all, own }]) => ({
    title: "woken by its own status", text: `${actor}: ${own.length} of ${all} syncs were caused by nothing but its own status writes`, places: own, isOwn: isOwn(actor),
  }));
}

/** Writes after which the object was the same. */
function nothingChanged(run) {
  const by = new Map();
  for (const i of from(run, run.of("object.change"))) {
    const patch = run.word(i, "patch");
    if (patch === undefined || run.word(i, "managers") !== undefined) continue;
    const isSame = Object.keys(patch).every((name) => name === "metadata") && Object.keys(patch.metadata || {}).every((name) => name === "resourceVersion");
    if (isSame) add(by, author(run, i), i);
  }
  return [...by].map(([who, places]) => ({ title: "writes that change nothing", text: `${who}: ${places.length} writes left the object as it was`, places, isOwn: isOwn(who) }));
}

const writes = (count) => (count === 1 ? "1 write was" : `${count} writes were`);

function conflicts(run) {
  const by = new Map(), owned = new Map();
  for (const i of from(run, run.of("api.respond"))) {
    if (run.word(i, "code") !== 409 || run.word(i, "reason") === "AlreadyExists") continue;
    add(run.word(i, "precondition") === undefined ? owned : by, asker(run, run.causes(i)[0]), i);
  }
  const found = (all, why) => [...all].map(([who, places]) => ({ title: "conflicts", text: `${who}: ${writes(places.length)} refused because ${why}`, places, isOwn: isOwn(who) }));
  return [...found(by, "the object had changed in the meantime"), ...found(owned, "of a conflict with the stored object")];
}

/** A key that comes back after every failure and never got through. */
function endlessRetries(run) {
  const by = new Map();
  for (const i of from(run, run.of("queue.delay"))) if (run.word(i, "why") === "rate-limited") add(by, `${run.actor(i)} ${run.subject(i)}`, i);
  const done = new Map();
  // Who syncs may have another name than the queue that the key was taken from.
  const taken = (i) => run.causes(i).filter((start) => start >= 0).flatMap(run.causes).find((one) => one >= 0 && run.stageOf(one) === "queue.get") ?? i;
  for (const i of run.of("sync.end")) if (run.word(i, "result") === "done") done.set(`${run.actor(taken(i))} ${run.subject(i)}`, i);
  const since = ([key, places]) => [key, places.filter((i) => i > (done.get(key) ?? -1))];
  return [...by].map(since).filter(([, places]) => places.length >= 3).map(([key, places]) => ({
    title: "a retry that does not end", text: `${key}: came back ${places.length} times after a failure, and had not succeeded when the log ended`, places, isOwn: isOwn(key),
  }));
}

/** An object that is being deleted and waits for a finalizer that no controller removed. */
function finalizers(run) {
  const last = new Map();
  for (const i of run.of("object.change")) {
    const was = last.get(run.subject(i)) || {};
    const whole = run.word(i, "whole"), patch = run.word(i, "patch");
    if (run.word(i, "gone")) { last.delete(run.subject(i)); continue; }
    const metadata = (whole ?? patch)?.metadata || {};
    const now = whole ? {} : { ...was };
    if (metadata.deletionTimestamp) now.since = i;
    if ("finalizers" in metadata) now.finalizers = metadata.finalizers || [];
    last.set(run.subject(i), now);
  }
  return [...last].filter(([, { since, finalizers: left }]) => since !== undefined && left?.length > 0).map(([subject, { since, finalizers: left }]) => ({
    title: "a finalizer that no controller removed", text: `${subject} is being deleted and waits for ${left.join(", ")}`, places: [since],
  }));
}

function add(by, key, i) {
  if (!by.has(key)) by.set(key, []);
  by.get(key).push(i);
}
