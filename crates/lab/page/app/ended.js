// The lab was ended, because a message had no answer in time or the module failed: what it did last, and how to go on.

import { html } from "../../../viewer/page/html.js";
import { short } from "../../../viewer/page/run.js";

export function Ended({ lab }) {
  const { message, during, printed, done = [] } = lab.session.fatal;
  const last = done.slice(-5);
  return html`<section class="ended" role="alert">
    <h2>The lab was ended</h2>
    <p class="failure"><bdi>${short(message, 1200)}</bdi></p>
    ${during ? html`<h3>It did not finish</h3><pre><bdi>${short(described(during), 2000)}</bdi></pre>` : ""}
    ${printed?.length ? html`<h3>It printed</h3><pre><bdi>${short(printed.join("\n"), 4000)}</bdi></pre>` : ""}
    ${last.length ? html`<h3>The last actions</h3><ol>${last.map(([one, times]) => html`<li><code><bdi>${short(described(one), 300)}</bdi></code>${times > 1 ? ` ${times} times` : ""}</li>`)}</ol>` : ""}
    <div class="bar"><button class="main" onClick=${lab.restart}>start again</button>
      ${done.length > 1 ? html`<button title="Starts the cluster again, and repeats all actions but the last one" onClick=${lab.again}>repeat all but the last action</button>` : ""}</div>
  </section>`;
}

function described(message) {
  const { do: verb, id, ...fields } = message;
  return `${verb} ${Object.entries(fields).map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`).join(" ")}`.trim();
}
