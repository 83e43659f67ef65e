// What a hand would do with the object that is chosen, and the faults of the cluster.

import { html } from "../../../viewer/page/html.js";
import { useState } from "preact/hooks";
import { short } from "../../../viewer/page/run.js";

/** Kinds that have replicas, and those that are rolled out. */
const SCALED = new Set(["deployments", "replicasets", "statefulsets"]), ROLLED = new Set(["deployments", "statefulsets", "daemonsets"]);

/** The resource, the namespace and the name in a subject such as `pods/default/web-1` or `nodes/node-1`. */
export function objectOf(subject, object) {
  const [resource, ...rest] = subject.split("/");
  if (!object?.kind || rest.length === 0) return null;
  const name = rest.at(-1), namespace = rest.length > 1 ? rest[0] : undefined;
  return { resource, name, namespace, object, ref: { apiVersion: object.apiVersion, kind: object.kind, name, ...(namespace ? { namespace } : {}) } };
}

/** JSON is YAML, so names in it are text. */
const step = (...operations) => ({ do: "step", step: JSON.stringify(operations) });

/** What can be done with an object: a word, what it does, and the message. */
export function actsOn({ resource, name, object, ref }, stopped) {
  const acts = [];
  if (resource === "pods") acts.push(["delete this pod", "Delete the pod, as kubectl delete", step({ delete: { ref } })], ["evict", "Ask the eviction API to delete the pod", step({ evict: { ref } })]);
  if (resource === "nodes") {
    acts.push(stopped.has(name) ? ["start the node", "Start the kubelet of the node", step({ start: { node: name } })] : ["stop the node", "Stop the kubelet of the node; its containers keep running", step({ stop: { node: name } })]);
    if (!stopped.has(name)) acts.push(["cut the power", "The node loses its power, and with it its containers", step({ kill: { node: name } })]);
    acts.push(object.spec?.unschedulable ? ["uncordon", "Make the node schedulable again", step({ uncordon: { node: name } })] : ["cordon", "Make the node unschedulable", step({ cordon: { node: name } })]);
    acts.push(["drain", "Cordon the node, and evict its pods", step({ drain: { node: name, force: true } })]);
  }
  if (SCALED.has(resource)) {
    const replicas = object.spec?.replicas ?? 1;
    acts.push([`scale to ${replicas + 1}`, "One replica more", step({ scale: { ref, replicas: replicas + 1 } })]);
    if (replicas > 0) acts.push([`scale to ${replicas - 1}`, "One replica less", step({ scale: { ref, replicas: replicas - 1 } })]);
  }
  if (ROLLED.has(resource)) acts.push(["restart", "Replace all pods, as kubectl rollout restart", step({ rollout: { ref, action: "restart" } })]);
  if (resource !== "pods" && resource !== "nodes") acts.push(["delete", "Delete the object", step({ delete: { ref } })]);
  acts.push(["lag its watch", `Each event about a ${object.kind} reaches the components 10 s later, until this fault is healed`, { do: "fault", faults: JSON.stringify([{ do: { lag: "10s", kind: object.kind } }]) }]);
  return acts;
}

const COMPONENTS = ["scheduler", "controller-manager", "kubelet"];
const FAULTS = {
  "cut off": (to) => ({ do: { cut: to } }), "pause": (to) => ({ do: { pause: to } }), "read from the past": (to) => ({ do: { stale: to } }),
  "late watches": (to) => ({ do: { lag: "10s", to } }), "hanging watches": (to) => ({ do: { hang: {}, to } }), "slow requests": (to) => ({ when: { by: to }, do: { slow: "2s" }, for: 10 }), "lose answers": (to) => ({ when: { by: to }, do: { lose: "answer" }, for: 3 }),
};

export function Hand({ lab, cluster, subject, object, choose, edit }) {
  const { session } = lab, chosen = objectOf(subject, object);
  const act = async (message) => {
    const done = await session.attempt(message);
    if (!done || !chosen || chosen.resource !== "nodes" || message.do !== "step") return;
    const [operation] = JSON.parse(message.step);
    if (operation.stop || operation.kill) cluster.stopped.add(chosen.name);
    if (operation.start) cluster.stopped.delete(chosen.name);
    lab.paint();
  };
  return html`<section class="hand" aria-label="Actions">
    <div class="bar what">${chosen ? html`<b class="kind">${chosen.object.kind}</b> <button class="plain" title=${subject} onClick=${() => choose(subject, true)}><bdi>${short(chosen.name, 44)}</bdi></button>` : html`<span class="quiet">Choose a pod, a node or another object in the picture.</span>`}</div>
    <div class="bar acts">${chosen ? html`${actsOn(chosen, cluster.stopped).map(([word, title, message]) => html`<button key=${word} title=${title} onClick=${() => act(message)}>${word}</button>`)}
      <button title="Open it as YAML in the editor" onClick=${() => edit(chosen)}>edit</button>` : ""}</div>
    <${Faults} lab=${lab} cluster=${cluster} act=${act} />
  </section>`;
}

function Faults({ lab, cluster, act }) {
  const [what, setWhat] = useState(Object.keys(FAULTS)[0]), [to, setTo] = useState(COMPONENTS[0]);
  const faults = cluster.faults.filter(({ state }) => !["over", "ended", "done"].includes(state));
  return html`<div class="bar faults">
    <details class="pop"><summary>disturb</summary><div><div class="bar"><label>fault <select value=${what} onChange=${(event) => setWhat(event.target.value)}>${Object.keys(FAULTS).map((name) => html`<option>${name}</option>`)}</select></label>
      <label>of <select value=${to} onChange=${(event) => setTo(event.target.value)}>${COMPONENTS.map((name) => html`<option>${name}</option>`)}</select></label>
      <button class="main" onClick=${() => act({ do: "fault", faults: JSON.stringify([FAULTS[what](to)]) })}>add this fault</button></div>
      <p class="quiet">The editor takes any other fault of <code>docs/faults.md</code>.</p></div></details>
    ${faults.length === 0 ? html`<span class="quiet">no faults</span>` : ""}
    ${faults.map((fault) => html`<span key=${fault.id} class=${`fault ${fault.state}`} title=${fault.nearMiss ?? ""}><bdi>${short(fault.name, 60)}</bdi> <i>${fault.state}${fault.didYouMean ? `: did you mean ${fault.didYouMean}?` : ""}</i> <button aria-label=${`heal ${fault.name}`} onClick=${() => act({ do: "heal", name: String(fault.id) })}>heal</button></span>`)}
    ${faults.length > 1 ? html`<button onClick=${() => act({ do: "heal" })}>heal all</button>` : ""}</div>`;
}
