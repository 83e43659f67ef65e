// What a controller's queues, caches and workers held at an entry, replayed from the log up to it.

const segment = (text) => text.split("/")[0];

/** The controllers of a run: a work queue each, with who adds to it and who works on its keys. */
export function controllersOf(run) {
  const found = new Map(), workersOf = new Map(), asked = run.asked(run.begin);
  for (const stage of ["queue.add", "queue.delay", "queue.get"]) {
    for (const i of run.of(stage)) {
      const name = run.actor(i);
      if (!found.has(name)) found.set(name, { name, informer: segment(name), queue: run.word(i, "queue"), resources: new Set(), workers: new Set(), busy: 0, last: 0 });
      found.get(name).last = i;
      if (i >= asked) found.get(name).busy++;
    }
  }
  for (const stage of ["sync.start", "sync.wait-stale"]) {
    for (const i of run.of(stage)) {
      const get = run.causes(i)[0];
      const controller = get >= 0 && run.stageOf(get) === "queue.get" ? found.get(run.actor(get)) : undefined;
      if (controller) {
        controller.workers.add(run.actor(i));
        workersOf.set(run.actor(i), controller.name);
      }
    }
  }
  for (const i of run.of("sync.end")) {
    const controller = found.get(workersOf.get(run.actor(i)) ?? run.actor(i));
    if (controller) for (const resource of Object.keys(run.word(i, "reads") || {})) controller.resources.add(resource);
  }
  const list = [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  /** The controller that an entry belongs to, if one does. */
  const at = (i) => found.get(run.actor(i)) || found.get(workersOf.get(run.actor(i)));
  // Who had most to do since something was asked for, or, where nothing was, something last.
  const [busiest] = [...list].sort((a, b) => b.busy - a.busy || b.last - a.last);
  return { list, at, busiest, named: (name) => found.get(name), of: (worker) => workersOf.get(worker) };
}

const passing = new WeakMap();

/** The entries that a controller's pipeline consists of. */
function entriesOf(run, controller) {
  if (!passing.has(run)) passing.set(run, new Map());
  const known = passing.get(run), isOurs = (actor) => actor === controller.name || actor === controller.informer || controller.workers.has(actor);
  if (!known.has(controller)) {
    const found = [];
    for (let i = 0; i < run.count; i++) {
      const stage = run.stageOf(i);
      const isPassed = stage === "watch.send" ? controller.resources.has(segment(run.subject(i))) && String(run.word(i, "watcher")).includes(controller.informer) : stage === "handler.call" ? run.actor(i) === controller.name || run.word(i, "handler") === controller.name : isOurs(run.actor(i));
      if (isPassed) found.push(i);
    }
    known.set(controller, found);
  }
  return known.get(controller);
}

/** What was where at an entry. */
export function pipelineAt(run, controller, cursor) {
  const now = run.time(cursor);
  const ready = new Map(), processing = new Map(), waiting = new Map(), fifo = new Map(), caches = new Map();
  let sent = null, lastHandler = null, handled = 0, request = null;
  const resources = controller.resources;
  // Where another cluster took over, nothing of the first is left.
  for (const i of entriesOf(run, controller)) {
    if (i > cursor) break;
    if (i < run.forked && cursor >= run.forked) continue;
    const actor = run.actor(i), stage = run.stageOf(i);
    // A process that ends leaves nothing behind.
    if (stage === "component.stop" && actor === controller.informer) {
      for (const all of [ready, processing, waiting, fifo, caches]) all.clear();
      sent = lastHandler = request = null;
      handled = 0;
    }
    if (stage === "watch.send") {
      if (resources.has(segment(run.subject(i))) && String(run.word(i, "watcher")).includes(controller.informer)) sent = i;
    } else if (actor === controller.informer) {
      const resource = segment(run.subject(i));
      if (stage === "fifo.add") fifo.set(run.id(i), i);
      else if (stage === "fifo.pop") for (const cause of run.entries[i][5]) fifo.delete(cause);
      else if (stage === "cache.apply" && run.rv(i) !== null) caches.set(resource, { at: i, revision: Math.max(run.rv(i), caches.get(resource)?.revision ?? 0) });
    }
    if (stage === "handler.call" && (actor === controller.name || run.word(i, "handler") === controller.name)) {
      lastHandler = i;
      handled++;
    }
    if (stage === "sync.write" && controller.workers.has(actor)) request = i;
    if (actor !== controller.name) continue;
    const key = run.subject(i);
    if (stage === "queue.add") {
      for (const cause of run.causes(i)) if (cause >= 0 && run.stageOf(cause) === "queue.delay") removeDelay(waiting, key, cause);
      const how = run.word(i, "how");
      if (how === "marked-dirty") (processing.get(key) ?? { dirty: 0 }).dirty++;
      else if (ready.has(key)) ready.get(key).adds++;
      else ready.set(key, { since: i, adds: 1 });
    } else if (stage === "queue.delay") {
      const due = run.time(i) + run.word(i, "delayNanos");
      if (!waiting.has(key)) waiting.set(key, []);
      waiting.get(key).push({ at: i, due, why: run.word(i, "why") });
    } else if (stage === "queue.get") {
      ready.delete(key);
      processing.set(key, { since: i, dirty: 0 });
    } else if (stage === "queue.done") {
      const was = processing.get(key);
      processing.delete(key);
      if (run.word(i, "requeued")) ready.set(key, { since: i, adds: was?.dirty || 1 });
    }
  }
  for (const [key, delays] of waiting) {
    const open = delays.filter((delay) => delay.due >= now);
    if (open.length === 0) waiting.delete(key); else waiting.set(key, open);
  }
  const inFifo = [...fifo.values()].filter((i) => resources.size === 0 || resources.has(segment(run.subject(i))));
  return { ready, processing, waiting, fifo: inFifo, caches, sent, lastHandler, handled, request, newest: run.newest[cursor], now };
}

function removeDelay(waiting, key, cause) {
  const left = (waiting.get(key) || []).filter((delay) => delay.at !== cause);
  if (left.length === 0) waiting.delete(key); else waiting.set(key, left);
}
