// The event under the cursor: what it says, what caused it, what it led to, and the chain back to where it began.

import { html } from "./html.js";
import { clock, short } from "./run.js";
import { sentence } from "./sentence.js";
import { chain } from "./why.js";

const MOST = 40, LONG = 30, STEPS = /^(store.commit|scheduler.pick|sync.write|kubelet.transition|step.start)$/;

export function Line({ run, i, select, isCurrent, note }) {
  const rv = run.rv(i);
  return html`<button class=${`line${isCurrent ? " current" : ""}`} onClick=${() => select(i)}>
    <span class="id">#${run.id(i)}</span><span class="time">${clock(run.time(i))}</span><span class="rv">${rv === null ? "" : `rev ${rv}`}</span>
    <bdi class="who">${run.actor(i)}</bdi><bdi class="what">${short(sentence(run, i), 240)}${note ? html` <i>${note}</i>` : ""}</bdi></button>`;
}

export function Event({ run, cursor, select, show }) {
  const causes = run.entries[cursor][5], effects = run.effects(cursor);
  const { links, lost } = chain(run, cursor), [{ changed }] = links;
  const rest = Object.entries(run.fields(cursor)).filter(([name]) => !["whole", "patch", "managers"].includes(name));
  const isChange = run.stageOf(cursor) === "object.change" || run.stageOf(cursor) === "store.commit";
  return html`
    <section class="event" aria-label="The event under the cursor">
      <h2><bdi>${short(sentence(run, cursor), 400)}${changed ? html` <i>(changes ${short(changed, 240)})</i>` : ""}</bdi></h2>
      <dl>
        <dt>event</dt><dd>#${run.id(cursor)} · ${run.stageOf(cursor)}</dd>
        <dt>when</dt><dd>${clock(run.time(cursor))}${run.rv(cursor) === null ? "" : ` · revision ${run.rv(cursor)}`}</dd>
        <dt>who</dt><dd><bdi>${run.actor(cursor)}</bdi></dd>
        ${run.subject(cursor) ? html`<dt>about</dt><dd><bdi>${short(run.subject(cursor), 200)}</bdi></dd>` : ""}
        ${rest.map(([name, value]) => html`<dt>${name}</dt><dd><bdi>${short(typeof value === "string" ? value : JSON.stringify(value), 600)}</bdi></dd>`)}
      </dl>
      ${isChange ? html`<p><button onClick=${() => show("object")}>what changed</button></p>` : ""}
      ${["sync.start", "sync.end", "sync.write"].includes(run.stageOf(cursor)) ? html`<p><button onClick=${() => show("belief")}>what the sync knew</button></p>` : ""}
      <h3>Caused by <i>${causes.length}</i></h3>
      ${causes.length === 0 ? html`<p class="quiet">The log has no cause: the chain begins here, or its cause was not recorded.</p>` : ""}
      ${causes.slice(0, MOST).map((id) => (run.place(id) < 0 ? html`<p class="quiet hatched">#${id} is not in the log</p>` : html`<${Line} run=${run} i=${run.place(id)} select=${select} />`))}
      ${causes.length > MOST ? html`<p class="quiet">and ${causes.length - MOST} more</p>` : ""}
      <h3>Led to <i>${effects.length}</i></h3>
      ${[...effects.subarray(0, MOST)].map((i) => html`<${Line} run=${run} i=${i} select=${select} />`)}
      ${effects.length > MOST ? html`<p class="quiet">and ${effects.length - MOST} more</p>` : ""}
      <h3 id="why">Why is this here <i>${links.length}</i></h3>
      <div class="chain">
        ${folded(run, links, links.map((link) => html`<${Line} run=${run} i=${link.at} select=${select} isCurrent=${link.at === cursor} note=${noteOf(link)} />`))}
        ${lost === null ? "" : html`<p class="quiet hatched">its cause, #${lost}, is not in the log</p>`}
      </div>
    </section>`;
}

/** What a link of a chain shows in addition to its sentence. */
const noteOf = ({ others, decided, changed }) =>
  [decided && `decides: ${short(decided, 240)}`, changed && `(changes ${short(changed, 240)})`, others > 0 && `(and ${others} more)`].filter(Boolean).join(" ");

/** A chain that is long, with what lies between the steps folded away. */
function folded(run, links, lines) {
  if (lines.length <= LONG) return lines;
  const parts = [];
  let between = [];
  const close = () => {
    parts.push(between.length > 2 ? html`<details><summary>${between.length} links between</summary>${between}</details>` : between);
    between = [];
  };
  lines.forEach((line, k) => {
    if (k > 0 && !links[k].decided && !STEPS.test(run.stageOf(links[k].at))) return between.push(line);
    close();
    parts.push(line);
  });
  close();
  return parts;
}
