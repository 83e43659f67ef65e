// Which lanes there are, and what lies on each: spans and marks by entry. No drawing, no pixels.

const QUIET = new Set(["events", "leases"]);
const MOST_OBJECTS = 60;
const SCENARIO = "coracle-scenario";

/** The lanes of a run in their order: `{ name, label, group, spans, marks, isUnknown }`; groups fold. */
export function lanesOf(run, histories) {
  const groups = [];
  const laneOf = new Int32Array(run.count).fill(-1);
  const lanes = [];
  const group = (name, isFolded, made, note, isQuiet) => {
    if (made.length === 0) return;
    groups.push({ name, isFolded, lanes: made, note, isQuiet });
    for (const lane of made) {
      lane.place = lanes.length;
      lanes.push(lane);
      for (const i of lane.entries) if (laneOf[i] < 0) laneOf[i] = lane.place;
    }
  };
  const { asked, foreign } = askersOf(run);
  group("the run", false, [stepsLane(run), checksLane(run), ...asked, ...faultLanes(run)].filter((lane) => lane));
  for (const [resource, subjects] of resourcesOf(run)) {
    group(resource, subjects.length > MOST_OBJECTS, subjects.map((subject) => objectLane(run, histories, subject)), undefined, isQuiet(resource, subjects));
  }
  const { busy, quiet } = componentsOf(run);
  group("components", false, busy);
  group("unknown inside", false, foreign, "the log has the requests of these clients, and nothing between them");
  group("notified only", true, quiet, "components whose handlers were notified, and that had nothing to do");
  return { groups, lanes, laneOf };
}

const lane = (name, label, more) => ({ name, label, spans: [], marks: [], entries: [], ...more });

/** Adds a mark; `weight` decides which of two marks in one place is seen. */
function mark(to, i, kind, weight) {
  to.marks.push({ i, kind, weight });
  to.entries.push(i);
}

/** Where what begins at an entry and never ends is drawn to: the end, or where another cluster took over. */
const endOf = (run, i) => (i < run.forked ? run.forked : run.count - 1);

function stepsLane(run) {
  const steps = lane("steps", "steps");
  const open = new Map();
  for (let i = run.begin; i < run.count; i++) {
    const stage = run.stageOf(i), name = run.word(i, "name");
    if (stage === "step.start") {
      const span = { from: i, to: endOf(run, i), kind: "step", text: name };
      open.set(name, span);
      steps.spans.push(span);
      steps.entries.push(i);
    } else if (stage === "step.end") {
      if (open.has(name)) open.get(name).to = i;
      steps.entries.push(i);
    }
  }
  return steps.spans.length ? steps : null;
}

function checksLane(run) {
  const checks = lane("checks", "checks");
  const decided = [...run.of("check.pass").map((i) => [i, "pass"]), ...run.of("check.fail").map((i) => [i, "fail"])];
  for (const [i, kind] of decided.sort((a, b) => a[0] - b[0])) mark(checks, i, kind, kind === "fail" ? 9 : 5);
  return checks.marks.length ? checks : null;
}

/** What was broken on purpose, from then until it was put right. A stop after which nothing is written is the run's end. */
const BREAKS = [["fault.on", "fault.off", "fault"], ["component.stop", "component.start", "why"]];

function faultLanes(run) {
  const lanes = new Map(), last = run.of("store.commit").at(-1);
  const who = (i) => run.subject(i) || run.actor(i);
  for (const [on, off, word] of BREAKS) for (const i of run.of(on)) {
    if (off === "component.start" && !(last > i)) continue;
    const said = run.word(i, word), text = said === "asked" ? "stopped" : said, name = `${text} ${who(i)}`;
    const to = run.of(off).find((j) => j > i && who(j) === who(i) && [said, undefined].includes(run.word(j, word)));
    if (!lanes.has(name)) lanes.set(name, lane(name, name, { isFault: true }));
    lanes.get(name).spans.push({ from: i, to: to ?? endOf(run, i), kind: "fault", text });
    lanes.get(name).entries.push(i, ...(to ? [to] : []));
  }
  return [...lanes.values()];
}

/** The objects that were written after the beginning, by resource: pods first, Events and Leases last. */
function resourcesOf(run) {
  const resources = new Map();
  for (const i of run.of("store.commit")) {
    if (i < run.begin) continue;
    const subject = run.subject(i), resource = subject.split("/")[0];
    if (!resources.has(resource)) resources.set(resource, new Set());
    resources.get(resource).add(subject);
  }
  const rank = ([resource, subjects]) => (resource === "pods" ? 0 : isQuiet(resource, subjects) ? 2 : 1);
  const list = [...resources].map(([resource, subjects]) => [resource, [...subjects]]);
  return list.sort((a, b) => rank(a) - rank(b) || (a[0] < b[0] ? -1 : 1));
}

/** Events, Leases and the cluster's own objects are folded at first. */
function isQuiet(resource, subjects) {
  return QUIET.has(resource) || subjects.every((subject) => subject.split("/")[1].startsWith("kube-") || resource.startsWith("clusterrole"));
}

function objectLane(run, histories, subject) {
  const made = lane(subject, subject.split("/").slice(1).join("/").replace(/^default\//, ""), { subject });
  for (const i of commitsOf(run).get(subject) || []) {
    const op = run.word(i, "op");
    mark(made, i, op === "create" ? "create" : op === "delete" ? "delete" : "put", op === "put" ? 2 : 6);
  }
  for (const i of picksOf(run).get(subject) || []) made.entries.push(i);
  let open = null;
  const history = histories.history(subject);
  for (let at = 0; at < history.length; at++) {
    const i = history[at];
    made.entries.push(i);
    const { object, isCut } = histories.after(subject, at);
    const { kind, text } = isCut && object ? { kind: "unknown", text: "its beginning is not in the log" } : stateOf(object);
    if (open && open.kind === kind && open.text === text) continue;
    if (open) open.to = histories.commit(i);
    open = kind === "gone" ? null : { from: histories.commit(i), to: run.count - 1, kind, text };
    made.gone = kind === "gone" ? histories.commit(i) : undefined;
    if (open) made.spans.push(open);
  }
  return made;
}

const byCommit = new WeakMap(), byPick = new WeakMap();

function bySubject(run, kept, stages) {
  if (!kept.has(run)) {
    const by = new Map();
    for (const i of stages.flatMap((stage) => run.of(stage)).sort((a, b) => a - b)) {
      const subject = run.subject(i);
      if (!by.has(subject)) by.set(subject, []);
      by.get(subject).push(i);
    }
    kept.set(run, by);
  }
  return kept.get(run);
}

const commitsOf = (run) => bySubject(run, byCommit, ["store.commit"]);
const picksOf = (run) => bySubject(run, byPick, ["scheduler.pick", "kubelet.transition", "kubelet.volume"]);

/** What an object's lane shows of it: for a pod its phase, for what has replicas how many are ready. */
export function stateOf(object) {
  if (!object) return { kind: "gone", text: "" };
  const { kind, metadata = {}, spec = {}, status = {} } = object;
  if (metadata.deletionTimestamp) return { kind: "terminating", text: "terminating" };
  if (kind === "Pod") {
    const ready = (status.conditions || []).some((condition) => condition.type === "Ready" && condition.status === "True");
    if (status.phase === "Running") return ready ? { kind: "ready", text: "ready" } : { kind: "running", text: "running" };
    if (status.phase === "Failed") return { kind: "failed", text: "failed" };
    if (status.phase === "Succeeded") return { kind: "done", text: "succeeded" };
    const waits = (status.containerStatuses || []).map((container) => container.state?.waiting?.reason).find((reason) => reason);
    return spec.nodeName ? { kind: "scheduled", text: waits || "scheduled" } : { kind: "pending", text: "pending" };
  }
  if (kind === "Node") {
    const ready = (status.conditions || []).find((condition) => condition.type === "Ready")?.status;
    return ready === "True" ? { kind: "ready", text: "ready" } : { kind: "failed", text: ready === undefined ? "no condition" : "not ready" };
  }
  if (spec.replicas !== undefined) {
    const ready = status.readyReplicas || 0;
    return { kind: ready === spec.replicas ? "ready" : "partly", text: `${ready}/${spec.replicas} ready` };
  }
  return { kind: "there", text: status.phase || "" };
}

const MARKS = {
  "api.request": ["request", 1], "queue.add": ["add", 2], "queue.delay": ["delay", 2], "queue.get": ["get", 1], "queue.done": ["get", 1], "fifo.add": ["delta", 1], "fifo.pop": ["delta", 1], "cache.apply": ["cache", 2],
  "handler.call": ["notified", 1], "sync.write": ["write", 4], "sync.wait-stale": ["stale", 5], "scheduler.pick": ["write", 4], "kubelet.transition": ["cache", 3], "kubelet.volume": ["delta", 1],
  "admission.change": ["add", 2], "admission.refuse": ["fail", 7], "watch.send": ["delta", 0], "watch.expired": ["fail", 6], "reflector.list": ["stale", 4], "reflector.watch": ["delta", 1],
  "component.start": ["create", 6], "component.stop": ["delete", 6], "webhook.call": ["request", 2], "webhook.answer": ["request", 2], "store.commit": ["put", 2], "object.change": ["delta", 0],
};

function componentsOf(run) {
  const lanes = new Map();
  const openSyncs = new Map();
  for (let i = 0; i < run.count; i++) {
    const stage = run.stageOf(i), actor = run.actor(i);
    if (actor === "scenario" || actor === "world" || stage.startsWith("fault.") || stage.startsWith("check.")) continue;
    if (!lanes.has(actor)) lanes.set(actor, lane(actor, actor.replace(/^controller-manager\//, "cm/"), { actor, works: false, isRecent: false }));
    const to = lanes.get(actor);
    if (i >= run.begin) {
      to.isRecent = true;
      to.works ||= !stage.startsWith("handler.") && !stage.startsWith("component.");
    }
    if (stage === "sync.start") {
      const span = { from: i, to: i, kind: "sync", text: run.subject(i) };
      openSyncs.set(i, span);
      to.spans.push(span);
      to.entries.push(i);
    } else if (stage === "sync.end") {
      const span = openSyncs.get(run.causes(i)[0]);
      if (span) {
        span.to = i;
        if (["error", "retry"].includes(run.word(i, "result"))) span.kind = "syncFailed";
      }
      to.entries.push(i);
    } else if (stage === "api.respond") {
      const code = run.word(i, "code");
      mark(to, i, code >= 400 ? (code === 404 ? "stale" : "fail") : "request", code >= 400 ? (code === 404 ? 3 : 7) : 0);
    } else {
      let [kind, weight] = MARKS[stage] || ["delta", 0];
      if (stage === "queue.add" && run.word(i, "how") !== "queued") kind = "merged";
      if (stage === "queue.delay" && run.word(i, "why") === "rate-limited") [kind, weight] = ["retry", 5];
      mark(to, i, kind, weight);
    }
  }
  const all = [...lanes.values()].filter((made) => made.isRecent);
  const rank = (made) => ["apiserver", "store"].indexOf(made.actor) < 0 ? 2 : ["apiserver", "store"].indexOf(made.actor);
  all.sort((a, b) => rank(a) - rank(b) || (a.actor < b.actor ? -1 : 1));
  return { busy: all.filter((made) => made.works), quiet: all.filter((made) => !made.works) };
}

/** Who asks without a recorded sync ever having caused it: the scenario, whose steps are known, and a foreign controller or a person. */
function askersOf(run) {
  const known = new Set(), lanes = new Map();
  const agentOf = (i) => String(run.word(i, "agent") || "").split("/")[0];
  for (const i of run.of("api.request")) if (run.entries[i][5].length > 0) known.add(agentOf(i));
  for (const i of run.of("api.request")) {
    const agent = agentOf(i);
    if (known.has(agent) || i < run.begin) continue;
    const name = `${run.word(i, "user")} ${agent}`.trim();
    if (!lanes.has(name)) lanes.set(name, agent === SCENARIO ? lane(name, run.word(i, "user") === "scenario" ? "asks" : `${run.word(i, "user")} asks`) : lane(name, name, { isUnknown: true }));
    mark(lanes.get(name), i, "request", 2);
  }
  for (const i of run.of("watch.send")) {
    const to = lanes.get(run.word(i, "watcher"));
    if (to) mark(to, i, "delta", 1);
  }
  const all = [...lanes.values()];
  return { asked: all.filter((made) => !made.isUnknown), foreign: all.filter((made) => made.isUnknown) };
}
