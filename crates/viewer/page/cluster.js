// The cluster as a map: which nodes there are at an entry, which pods lie on each, and where on the map an entry happens.

import { lastUpTo } from "./run.js";
import { stateOf } from "./lanes.js";

/** Signs of states, so that colour is not the only carrier. */
export const SIGNS = { pending: "…", scheduled: "◔", running: "▸", ready: "●", terminating: "✕", failed: "!", done: "✓", partly: "◑", there: "·", unknown: "?" };

/** The nodes, the pods, and what owns pods, each with its revisions, computed once for a run. */
export function mapOf(run, histories) {
  const kinds = { nodes: [], pods: [], owners: [] };
  const owning = new Set(["deployments", "replicasets", "statefulsets", "daemonsets", "jobs", "cronjobs", "replicationcontrollers"]);
  for (const subject of histories.subjects) {
    const resource = subject.split("/")[0], to = owning.has(resource) ? "owners" : resource;
    if (!(to in kinds)) continue;
    const history = histories.history(subject);
    kinds[to].push({ subject, name: subject.split("/").at(-1), history, revisions: history.map((i) => run.rv(i)), known: [] });
  }
  const state = (one, revision) => {
    const k = lastUpTo(one.revisions, revision);
    if (k < 0) return null;
    one.known[k] ??= seen(histories.after(one.subject, k).object);
    return one.known[k].kind === "gone" ? null : { subject: one.subject, name: one.name, at: histories.commit(one.history[k]), ...one.known[k] };
  };
  const all = (list, revision) => list.map((one) => state(one, revision)).filter((one) => one);
  return (cursor) => {
    const revision = run.newest[cursor], nodes = all(kinds.nodes, revision).map((node) => ({ ...node, pods: [] })), loose = [];
    for (const pod of all(kinds.pods, revision)) (nodes.find((node) => node.name === pod.node)?.pods ?? loose).push(pod);
    return { nodes, loose, owners: all(kinds.owners, revision) };
  };
}

const seen = (object) => ({ ...stateOf(object), node: object?.spec?.nodeName ?? "" });

/** The name of a controller as the map shows it. */
export const controllerName = (actor) => actor.replace(/^controller-manager\//, "");

/** Where on the map an entry happens: a client, the API server, the store, a controller or a node; empty if nowhere. */
export function siteOf(run, i) {
  const stage = run.stageOf(i), actor = run.actor(i);
  if (stage === "store.commit" || stage === "object.change") return "store";
  const node = /^kubelet\/([^/]+)/.exec(actor)?.[1] ?? run.word(i, "node");
  if (stage.startsWith("kubelet.") || (node && actor.startsWith("kubelet/"))) return `node:${node}`;
  if (stage === "api.request" && run.entries[i][5].length === 0) return "client";
  return siteOfActor(actor);
}

/** Where on the map a component is that runs on no node. */
export function siteOfActor(actor) {
  if (actor === "apiserver") return "api";
  if (actor === "store") return "store";
  if (actor === "scenario" || actor === "world") return "client";
  return `controller:${controllerName(actor)}`;
}

const STATIONS = {
  store: /^(store\.|object\.)/, watch: /^(watch\.|reflector\.)/, fifo: /^fifo\./, indexer: /^cache\./, handler: /^handler\./, queue: /^queue\.(add|delay)/,
  worker: /^(queue\.(get|done)|sync\.(start|end|wait)|scheduler\.|kubelet\.)/, request: /^(sync\.write|api\.|admission\.|webhook\.)/,
};

/** Which station of the loop an entry passes; empty if none. */
export const stationOf = (run, i) => Object.keys(STATIONS).find((name) => STATIONS[name].test(run.stageOf(i))) ?? "";
