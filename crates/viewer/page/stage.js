// The stage: the cluster as a map, the loop of one controller as a line, and a dot on each that shows where the event is.

import { html } from "./html.js";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { clock, short } from "./run.js";
import { SIGNS, controllerName, siteOf, stationOf } from "./cluster.js";
import { isSiteOf } from "./guess.js";

const MOST_CONTROLLERS = 7, MOST_PODS = 60, NONE = [];

export function Stage({ run, map, controllers, controller, pipeline, writers, cursor, chain, select, subject, choose, pace, guessing, guess }) {
  const box = useRef();
  const at = useMemo(() => map(cursor), [map, cursor]);
  const site = siteOf(run, cursor), station = stationOf(run, cursor), text = short(run.subject(cursor).split("/").at(-1) || run.actor(cursor), 26);
  const named = guess ? [guess] : guessing?.components ?? NONE;
  const shown = useMemo(() => shownControllers(run, controllers, writers, chain, named), [run, controllers, writers, chain, named.join()]);
  const isAt = (name) => `${site === name ? " here" : ""}${guessing?.site(name) ? " guessable" : ""}${guess && isSiteOf(name, guess) ? " guessed" : ""}`;
  /** A box that is no button but while the question is open and an answer names it; the keyboard reaches what explains it. */
  const place = (name, more, title, content) => (guessing?.site(name)
    ? html`<button class=${`site${more}${isAt(name)}`} data-site=${name} title=${title} onClick=${guessing.site(name)}>${content}</button>`
    : html`<span class=${`site${more}${isAt(name)}`} data-site=${name} title=${title} tabindex="0">${content}</span>`);
  useLayoutEffect(() => {
    const area = box.current;
    move(area, `[data-site="${CSS.escape(site)}"]`, ".map .dot");
    move(area, `[data-station="${station}"]`, ".loop .dot");
  });
  const pod = (one) => html`<button key=${one.subject} class=${`pod ${one.kind}${one.subject === subject ? " chosen" : ""}`} title=${`${one.subject}: ${one.text}`} onClick=${() => select(one.at)}><b aria-hidden="true">${SIGNS[one.kind] ?? "·"}</b> <bdi>${tail(one.name)}</bdi><span class="live"> ${one.text}</span></button>`;
  const pods = (list) => html`${list.slice(0, MOST_PODS).map(pod)}${list.length > MOST_PODS ? html`<i>and ${list.length - MOST_PODS} more</i>` : ""}`;
  return html`
    <section class="stage" aria-label="Stage" ref=${box} style=${{ "--pace": `${Math.min(450, pace * 0.6)}ms` }}>
      <div class="map">
        <div class="row">${place("client", " client", "Who asks: a person with kubectl, a scenario, another program", "client")}
          ${shown.map((name) => html`<button key=${name} class=${`site controller${isAt(`controller:${controllerName(name)}`)}${controller?.name === name ? " chosen" : ""}`} data-site=${`controller:${controllerName(name)}`} title=${`${name}: a controller, which compares the desired state with the current state`} onClick=${guessing?.site(`controller:${controllerName(name)}`) ?? (() => choose(name))}><bdi>${controllerName(name)}</bdi></button>`)}</div>
        <div class="row middle">${place("api", "", "The API server: the only component that reads and writes the store", "API server")}<span class="wire" aria-hidden="true"></span>
          ${place("store", "", "The store (etcd): every write is a new revision", html`store <b>rev ${run.newest[cursor]}</b>`)}
          ${at.owners.slice(0, 5).map((one) => html`<button key=${one.subject} class=${`pod workload ${one.kind}${one.subject === subject ? " chosen" : ""}`} title=${`${one.subject}: ${one.text}`} onClick=${() => select(one.at)}><b aria-hidden="true">${SIGNS[one.kind] ?? "·"}</b> <bdi>${short(one.name, 22)}</bdi> ${one.text}</button>`)}</div>
        <div class="row nodes">
          ${at.nodes.map((node) => html`<div key=${node.name} class=${`node ${node.kind}${isAt(`node:${node.name}`)}`} data-site=${`node:${node.name}`} title=${`${node.subject}: ${node.text}. Its kubelet starts and stops the pods that are bound to it.`} tabindex="0" role="group" aria-label=${node.name}><span class="title">${guessing ? html`<bdi>${short(node.name, 20)}</bdi>` : html`<button class="plain" title=${`${node.subject}: ${node.text}`} onClick=${() => select(node.at)}><bdi>${short(node.name, 20)}</bdi></button>`}${node.kind === "ready" ? "" : ` ${node.text}`}${guessing?.site(`node:${node.name}`) ? html` <button class="guessable" onClick=${guessing.site(`node:${node.name}`)}>the kubelet</button>` : ""}</span>${pods(node.pods)}</div>`)}
          ${at.loose.length ? html`<div class="node loose" title="Pods that the scheduler has bound to no node yet"><span class="title">no node yet</span>${pods(at.loose)}</div>` : ""}
          ${at.nodes.length === 0 ? html`<p class="quiet">No node has registered yet.</p>` : ""}</div>
        <span class="dot" hidden></span>
      </div>
      <${Loop} run=${run} controller=${controller} at=${pipeline} station=${station} cursor=${cursor} select=${select} text=${text} />
    </section>`;
}

/** The last part of a generated name, which differs among the pods of one owner. */
const tail = (name) => (name.length > 14 ? `…${name.split("-").slice(-1)[0]}` : name);

/** Controllers that the chain passes first, then those that wrote most. */
function shownControllers(run, controllers, writers, chain, named) {
  const found = new Set(named.filter((name) => /^(scheduler$|controller-manager.)/.test(name)));
  const passed = new Set(chain.map((i) => controllers.at(i)?.name ?? (run.actor(i) === "scheduler" ? "scheduler" : "")).filter((name) => name && !name.startsWith("kubelet")));
  for (const name of passed) found.add(name);
  const wrote = [...writers].filter(([name]) => controllers.named(name) || controllers.of(name)).sort((a, b) => b[1].length - a[1].length).map(([name]) => controllers.of(name) ?? name);
  for (const name of wrote) if (!name.startsWith("kubelet")) found.add(name);
  return [...found].slice(0, MOST_CONTROLLERS).sort();
}

/** Puts a dot on what is marked; the style sheet lets it travel there. */
function move(area, where, what) {
  const dot = area.querySelector(what), target = area.querySelector(where);
  if (!dot) return;
  dot.hidden = !target;
  if (!target) return;
  const [outer, inner] = [dot.parentElement.getBoundingClientRect(), target.getBoundingClientRect()];
  dot.classList.toggle("end", inner.right > outer.right - 110);
  dot.style.transform = `translate(${Math.round(inner.left - outer.left + inner.width / 2)}px, ${Math.round(inner.top - outer.top)}px)`;
}

const HINTS = {
  store: ["store", "etcd: each write gets the next revision"],
  watch: ["watch", "Reflector: lists once, then watches, and passes each event on"],
  fifo: ["DeltaFIFO", "DeltaFIFO (RealFIFO in newer versions): holds the changes until HandleDeltas takes them"],
  indexer: ["Indexer", "Indexer: the cache that controllers read through listers; HandleDeltas writes it"],
  handler: ["handler", "processorListener: nextCh takes each notification to OnAdd, OnUpdate or OnDelete"],
  queue: ["queue", "workqueue: a key waits once, however often it is added; later ones wait for AddAfter or AddRateLimited"],
  worker: ["worker", "processNextWorkItem: one key, one worker; syncHandler decides, in a ReplicaSet in manageReplicas"],
  request: ["request", "rest.Request: the typed client builds verb, path and body, and sends them to the API server"],
};

/** The loop of one controller, on one line. */
function Loop({ run, controller, at, station, cursor, select, text }) {
  const values = at ? valuesOf(run, at, controller) : {};
  return html`<div class="loop" aria-label=${controller ? `The loop of ${controller.name}` : "The loop"}>
    ${Object.entries(HINTS).map(([name, [title, hint]]) => {
    const [value, more, i] = values[name] ?? ["–", ""];
    return html`<button key=${name} class=${`station${station === name ? " here" : ""}${value === "–" || value === 0 ? " empty" : ""}`} data-station=${name} title=${hint} onClick=${() => (i >= 0 ? select(i) : undefined)}><span>${title}</span><b>${value}</b><i><bdi>${short(more, 18)}</bdi></i></button>`;
  })}
    <span class="dot" hidden><em><bdi>${text}</bdi></em></span></div>`;
}

function valuesOf(run, at, controller) {
  const name = (i) => run.subject(i).split("/").at(-1), first = (map) => [...map][0];
  const caches = [...at.caches].filter(([resource]) => controller.resources.size === 0 || controller.resources.has(resource)).sort((a, b) => b[1].at - a[1].at);
  const [ready] = at.ready, [waits] = at.waiting, [busy] = at.processing;
  return {
    store: [`rev ${at.newest}`, "", -1],
    watch: at.sent === null ? undefined : [`rev ${run.rv(at.sent)}`, name(at.sent), at.sent],
    fifo: [at.fifo.length, at.fifo.length ? name(at.fifo[0]) : "", at.fifo[0]],
    indexer: caches.length ? [`rev ${caches[0][1].revision}`, caches[0][0], caches[0][1].at] : undefined,
    handler: at.lastHandler === null ? undefined : [`${at.handled}×`, name(at.lastHandler), at.lastHandler],
    queue: [at.ready.size + at.waiting.size, ready ? ready[0].split("/").at(-1) : waits ? `in ${clock(Math.min(...waits[1].map((one) => one.due)) - at.now)}` : "", ready ? ready[1].since : waits?.[1][0].at],
    worker: [at.processing.size, busy ? `${busy[0].split("/").at(-1)}${busy[1].dirty ? ", dirty" : ""}` : "", first(at.processing)?.[1].since],
    request: at.request === null ? undefined : [run.word(at.request, "verb"), run.word(at.request, "name") || run.word(at.request, "resource") || "", at.request],
  };
}
