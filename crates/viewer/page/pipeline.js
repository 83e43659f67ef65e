// The pipeline of one controller at the cursor: from the API server to its workers, with what waits where.

import { html } from "./html.js";
import { clock, short } from "./run.js";
import { progress, syncAt } from "./belief.js";

export function Pipeline({ run, controllers, controller, at, choose, cursor, select }) {
  if (!at) return html`<p class="quiet">The log has no work queue.</p>`;
  const sync = syncAt(run, controllers, controller, cursor), last = sync?.end <= cursor ? sync.end : sync?.start;
  const key = (text, i, more) => html`<li><button onClick=${() => select(i)}><bdi>${short(text, 60)}</bdi>${more ? html` <i>${more}</i>` : ""}</button></li>`;
  const box = (title, number, body, isEmpty) => html`<div class=${`box${isEmpty ? " empty" : ""}`}><span class="title">${title}</span><b>${number}</b>${body}</div>`;
  return html`
    <div class="bar"><label>controller <select value=${controller.name} onChange=${(event) => choose(event.target.value)}>
      ${controllers.list.map((one) => html`<option value=${one.name}>${one.name}</option>`)}</select></label>
      <span class="quiet">at #${run.id(cursor)}, ${clock(run.time(cursor))}, revision ${at.newest}</span></div>
    <div class="pipeline">
      ${box("store", `rev ${at.newest}`, "")}
      ${box("watch", at.sent === null ? "—" : `sent rev ${run.rv(at.sent)}`, at.sent === null ? "" : html`<ul>${key(run.subject(at.sent), at.sent)}</ul>`, at.sent === null)}
      ${box("FIFO (DeltaFifo)", at.fifo.length, html`<ul>${at.fifo.slice(0, 8).map((i) => key(run.subject(i), i, run.word(i, "type")))}</ul>`, at.fifo.length === 0)}
      ${box("caches", at.caches.size === 0 ? "—" : "", html`<ul>${[...at.caches].filter(([resource]) => controller.resources.size === 0 || controller.resources.has(resource)).map(([resource, { at: i, revision }]) => key(resource, i, `rev ${revision}`))}</ul>`, at.caches.size === 0)}
      ${box("handler", at.handled ? `notified ${at.handled}×` : "—", at.lastHandler === null ? "" : html`<ul>${key(run.subject(at.lastHandler), at.lastHandler, `last: ${run.word(at.lastHandler, "notification")}`)}</ul>`, at.handled === 0)}
      ${box("queue: ready", at.ready.size, html`<ul>${[...at.ready].slice(0, 12).map(([name, { since, adds }]) => key(name, since, adds > 1 ? `${adds} adds in one` : ""))}</ul>`, at.ready.size === 0)}
      ${box("queue: later", at.waiting.size, html`<ul>${[...at.waiting].slice(0, 12).map(([name, delays]) => key(name, delays[0].at, `${delays[0].why}, in ${clock(Math.min(...delays.map((delay) => delay.due)) - at.now)}`))}</ul>`, at.waiting.size === 0)}
      ${box("workers have", at.processing.size, html`<ul>${[...at.processing].slice(0, 12).map(([name, { since, dirty }]) => key(name, since, dirty ? `dirty: added ${dirty}× meanwhile` : ""))}</ul>`, at.processing.size === 0)}
    </div>
    <p class="quiet">${sync ? html`${sync.isCause ? "The sync in this event's chain" : "Last sync"}: <button onClick=${() => select(last)}>#${run.id(last)} <bdi>${short(`${run.subject(last)}: ${run.word(sync.end ?? last, "decided") || run.word(sync.end ?? last, "result") || "…"}`, 120)}</bdi></button>, ${progress(run, sync, cursor)}` : "No sync of it has ended so far."}</p>
    <p class="quiet">A cache's revision is that of its newest object. The reads of a sync show up to which revision the cache was complete.</p>`;
}
