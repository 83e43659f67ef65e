// The bar above all views: the way home, the clusters, and the link.

import { html } from "../../../viewer/page/html.js";
import { useState } from "preact/hooks";
import { short } from "../../../viewer/page/run.js";
import { MAIN } from "./session.js";

export function Bar({ lab, children }) {
  const { session, view, title } = lab, isCluster = view === "cluster" && !lab.busy && !session.fatal && session.cluster();
  const clusters = [...session.clusters.keys()];
  return html`<div class="labbar">
    <nav class="bar" aria-label="The lab">
      <button class="brand" aria-current=${view === "home" ? "page" : undefined} title="The list of lessons, exercises and scenarios" onClick=${lab.home}>Coracle lab</button>
      ${title && view !== "home" ? html`<span class="title" aria-hidden="true">/</span> <b class="where"><bdi>${short(title, 70)}</bdi></b>` : ""}
      ${isCluster ? html`<span class="choice" role="group" aria-label="Clusters">${clusters.map((name) => html`<button key=${name} aria-pressed=${session.current === name} onClick=${() => session.show(name)}>${name}</button>`)}</span>
        ${session.current === MAIN ? "" : html`<button aria-label=${`end ${session.current}`} title="End this fork" onClick=${() => session.close(session.current)}>✕</button>`}
        <button title="Start a second cluster that continues from the state of this one, with a clock and a log of its own" onClick=${() => session.fork()}>fork</button>` : ""}
      ${!isCluster && view !== "cluster" && clusters.length ? html`<button onClick=${lab.back}>back to the cluster</button>` : ""}
      <span class="right">${view === "home" ? "" : html`<${CopyLink} lab=${lab} />`}</span>
    </nav>${children}</div>`;
}

/** A button that copies the link; where the browser has no clipboard for the page, the link stands in a field. */
function CopyLink({ lab }) {
  const [said, setSaid] = useState(""), [link, setLink] = useState("");
  const copy = async () => {
    const made = await lab.link();
    try {
      await navigator.clipboard.writeText(made);
      setSaid("✓ copied");
      setTimeout(() => setSaid(""), 2000);
    } catch {
      setLink(made);
    }
  };
  return html`${link ? html`<label>link <input class="link" readonly value=${link} onFocus=${(event) => event.target.select()} /></label>` : ""}
    <span class="live" role="status">${said}</span>
    <button class="copy" title="A link to this state: the start, the seed, all that was done since, and the place of the cursor" onClick=${copy}>${said || "copy link"}</button>`;
}
