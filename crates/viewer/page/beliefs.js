// What the sync at the cursor knew, next to the truth.

import { html } from "./html.js";
import { useMemo } from "preact/hooks";
import { beliefOf, progress, syncAt } from "./belief.js";
import { pathText } from "./objects.js";
import { short } from "./run.js";
import { Line } from "./event.js";

export const valueText = (value) => (value === undefined ? "—" : short(typeof value === "string" ? value : JSON.stringify(value), 160));

/** That an object is being deleted, which is why it counts no more. */
const ending = (object) => (object?.metadata?.deletionTimestamp ? html`, <b>terminating</b>` : "");

export function Beliefs({ run, histories, controllers, controller, choose, cursor, select, showObject }) {
  const sync = syncAt(run, controllers, controller, cursor), end = sync?.end;
  const belief = useMemo(() => (end === undefined ? null : beliefOf(run, histories, end)), [end]);
  const of = run.of("sync.end").filter((i) => controller && controllers.at(i) === controller);
  const at = of.indexOf(end);
  const bar = html`<div class="bar"><label>controller <select value=${controller?.name} onChange=${(event) => choose(event.target.value)}>
      ${controllers.list.map((one) => html`<option value=${one.name}>${one.name}</option>`)}</select></label>
      <button disabled=${at <= 0} onClick=${() => select(of[at - 1])}>◂ sync</button><button disabled=${at >= of.length - 1} onClick=${() => select(of[at + 1])}>sync ▸</button>
      <span class="quiet">${at + 1} of ${of.length}</span></div>`;
  if (!belief) return html`${bar}<p class="quiet">${sync ? html`The sync of <bdi>${run.subject(sync.start)}</bdi> is ${progress(run, sync, cursor)}; the log records what it knew when it ends.` : "No sync of this controller has ended up to here."}</p>`;
  return html`${bar}
    <p><b>sync of <bdi>${run.subject(end)}</bdi></b> by <bdi>${run.actor(end)}</bdi>${sync.isCause ? ", in this event's chain" : ""}, ${progress(run, sync, cursor)}: ${run.word(end, "result")}${run.word(end, "error") ? html`, <bdi>${short(run.word(end, "error"), 200)}</bdi>` : ""}</p>
    ${run.word(end, "decided") ? html`<p class="decided"><bdi>${run.word(end, "decided")}</bdi></p>` : html`<p class="quiet hatched">The log has no decision of it.</p>`}
    ${belief.resources.map((one) => html`<table class="belief"><caption>${one.resource}: the cache held revision ${one.revision}, the store had ${belief.truth}${one.behind ? html`: <b>${one.behind} ${one.behind === 1 ? "change" : "changes"} of ${one.resource} unseen</b>` : ", nothing unseen"}</caption>
      <tbody>
      ${one.objects.map((object) => html`<tr><th scope="row"><button onClick=${() => showObject(object.subject)}><bdi>${object.subject}</bdi></button>${object.believed && object.was && object.missed.length ? html`<br /><i>believed at ${object.rv}, was at ${object.was.metadata?.resourceVersion}</i>` : ""}</th>
        <td>${!object.known ? html`<span class="quiet hatched">the log has no object of this name</span>`
    : object.missed.length === 0 ? (object.believed ? html`as it was${ending(object.was)}` : "absent, as it was")
    : !object.believed ? html`<b>absent; it was created unseen</b>${ending(object.was)}` : !object.was ? html`<b>present${ending(object.believed)}; it was removed unseen</b>`
    : html`<table class="diff"><thead><tr><th>field</th><th>believed${ending(object.believed)}</th><th>was${ending(object.was)}</th></tr></thead><tbody>${object.changes.map((change) => html`<tr><th scope="row"><bdi>${pathText(change.path)}</bdi></th><td class="before"><bdi>${valueText(change.before)}</bdi></td><td class="after"><bdi>${valueText(change.after)}</bdi></td></tr>`)}</tbody></table>`}</td></tr>`)}
      ${one.unseen.map((i) => html`<tr><th scope="row"><button onClick=${() => select(i)}><bdi>${run.subject(i)}</bdi></button></th><td><b>created at revision ${run.rv(i)}, unseen</b></td></tr>`)}
      ${one.objects.length + one.unseen.length === 0 ? html`<tr><td class="quiet">It read none of them.</td></tr>` : ""}
      </tbody></table>`)}
    <h3>Wrote <i>${belief.writes.length}</i></h3>
    ${belief.writes.map((i) => html`<${Line} run=${run} i=${i} select=${select} />`)}
    <p class="quiet">Left: what the sync knew. Right: what was true when it began. Objects that it did not read are omitted${belief.resources.some((one) => one.objects.length >= 32) ? "; the log names the first 32" : ""}.</p>`;
}
