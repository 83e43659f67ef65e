// An object's history: what each revision changed, and who owns what.

import { html } from "./html.js";
import { useMemo, useState } from "preact/hooks";
import { differences, owners, pathText } from "./objects.js";
import { clock, short } from "./run.js";
import { author } from "./steps.js";
import { origin } from "./why.js";
import { valueText } from "./beliefs.js";

export function ObjectHistory({ run, histories, subject, choose, cursor, select }) {
  const [whole, setWhole] = useState(false);
  const history = histories.history(subject);
  const at = histories.atEntry(subject, cursor), comes = histories.comesAt(subject, cursor);
  const subjects = useMemo(() => histories.subjects.filter((one) => histories.history(one).some((i) => i >= run.begin)).sort(), [histories]);
  const picker = html`<div class="bar"><label>object <input list="subjects" value=${subject} onChange=${(event) => choose(event.target.value)} spellcheck=${false} /></label>
    <datalist id="subjects">${subjects.slice(0, 2000).map((one) => html`<option value=${one} />`)}</datalist>
    <button onClick=${() => { const first = comes ?? origin(run, subject, cursor); if (first >= 0) select(first); }}>why is it here</button>
    <button aria-pressed=${whole} onClick=${() => setWhole(!whole)}>whole</button></div>`;
  if (history.length === 0) return html`${picker}<p class="quiet">${subject ? "The log has no object of this name." : "Choose an object."}</p>`;
  const before = histories.after(subject, at - 1), now = histories.after(subject, at);
  const i = history[at];
  const changes = at < 0 ? [] : differences(before.object ?? {}, now.object ?? {}).filter((change) => pathText(change.path) !== "metadata.resourceVersion");
  return html`${picker}
    <ol class="history">${history.map((one, k) => html`<li><button class=${k === at ? "current" : ""} title=${clock(run.time(one))} onClick=${() => select(histories.commit(one))}>${run.word(one, "gone") ? "✕ " : k === 0 ? "▶ " : ""}${run.rv(one)}</button></li>`)}</ol>
    ${at < 0 ? html`<p class="quiet">${comes === undefined ? "The log does not have its state at the cursor." : html`It does not exist at the cursor. It is created at <button onClick=${() => select(comes)}>#${run.id(comes)}</button>`}</p>` : html`
      <p>revision ${run.rv(i)}, ${clock(run.time(i))}, by <bdi>${author(run, i)}</bdi>${run.word(i, "redacted") ? html` · <span class="quiet">left out: <bdi>${short(run.word(i, "redacted").join(", "), 120)}</bdi></span>` : ""}</p>
      ${now.isCut ? html`<p class="quiet hatched">The log does not have the object from its creation; the page shows only later changes.</p>` : ""}
      ${run.word(i, "gone") ? html`<p>The object is gone.</p>` : whole ? html`<${Whole} found=${now} />`
    : html`<table class="diff"><thead><tr><th>field</th><th>before</th><th>after</th><th>owned by</th></tr></thead><tbody>
        ${changes.map((change) => html`<tr><th scope="row"><bdi>${pathText(change.path)}</bdi></th><td class="before"><bdi>${valueText(change.before)}</bdi></td><td class="after"><bdi>${valueText(change.after)}</bdi></td><td class="owner"><bdi>${owners(now.managers, change.path).join(", ")}</bdi></td></tr>`)}
        ${changes.length === 0 ? html`<tr><td colspan="4">only managers</td></tr>` : ""}</tbody></table>`}
      <h3>Field managers <i>${Object.keys(now.managers).length}</i></h3>
      <ul class="managers">${Object.entries(now.managers).map(([name, fields]) => html`<li><bdi>${name}</bdi> <i>${leaves(fields)} fields</i></li>`)}</ul>`}`;
}

function Whole({ found }) {
  const rows = useMemo(() => lines(found.object, found.managers), [found]);
  return html`<table class="whole"><tbody>${rows.map((row) => html`<tr><td><bdi style=${{ paddingLeft: `${row.depth}em` }}>${row.text}</bdi></td><td class="owner"><bdi>${row.owners}</bdi></td></tr>`)}</tbody></table>`;
}

function lines(value, managers, path = [], depth = 0) {
  const rows = [];
  for (const [name, inner] of Object.entries(value || {})) {
    const isList = Array.isArray(value);
    const key = isList && inner && typeof inner === "object" ? ["type", "name", "uid", "key"].find((one) => inner[one] !== undefined) : undefined;
    const step = isList ? { key: key ? { [key]: inner[key] } : {}, name } : { name };
    const to = [...path, step], label = isList ? "-" : `${name}:`;
    if (inner !== null && typeof inner === "object" && Object.keys(inner).length > 0) {
      rows.push({ depth, text: label, owners: "" }, ...lines(inner, managers, to, depth + 1));
    } else {
      rows.push({ depth, text: `${label} ${valueText(inner)}`, owners: owners(managers, to).join(", ") });
    }
  }
  return rows;
}

function leaves(fields) {
  const inner = Object.keys(fields).filter((name) => name !== ".");
  return inner.length === 0 ? 1 : inner.reduce((sum, name) => sum + leaves(fields[name]), 0);
}
