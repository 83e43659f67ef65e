// The story: what happens at the cursor as one sentence, who decided what, and what came before it as a list.

import { html } from "./html.js";
import { clock, short } from "./run.js";
import { sentence } from "./sentence.js";

/** `links` is the chain of the cursor, the newest first. */
export function Story({ run, cursor, links, select }) {
  const decision = links.find((link) => link.decided), said = run.word(cursor, "decided");
  const rv = run.rv(cursor);
  return html`
    <p class="meta"><b><bdi>${run.actor(cursor)}</bdi></b> ${clock(run.time(cursor))}${rv === null ? "" : ` · revision ${rv}`}</p>
    <p class="caption"><bdi>${short(sentence(run, cursor), 220)}</bdi></p>
    <div class="bar">
      ${said ? html`<span>decides: <b><bdi>${short(said, 160)}</bdi></b></span>` : decision ? html`<span class="quiet">because <bdi>${run.actor(decision.at)}</bdi> decided: <button class="plain" onClick=${() => select(decision.at)}><bdi>${short(decision.decided, 120)}</bdi></button></span>` : ""}
      ${links.length > 1 ? html`<details class="pop"><summary>what came before (${links.length - 1})</summary><div><ol class="captions">${links.slice(1, 40).map(({ at }) => html`<li><button onClick=${() => select(at)}><i>${clock(run.time(at))} <bdi>${run.actor(at)}</bdi></i> <bdi>${short(sentence(run, at), 160)}</bdi></button></li>`)}</ol></div></details>` : html`<span class="quiet">The chain of causes begins here.</span>`}
    </div>`;
}
