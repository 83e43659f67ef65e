// Beside the picture of a cluster: what a hand would do, and one of the console, the editor, the exercise and the details.

import { html } from "../../../viewer/page/html.js";
import { useEffect, useRef, useState } from "preact/hooks";
import { Console } from "./console.js";
import { Editor } from "./editor.js";
import { Exercise } from "./exercise.js";
import { textOf } from "./examples.js";
import { Hand } from "./hand.js";
import { Problem } from "./problem.js";
import { detailOf } from "./session.js";

const NAMES = { exercise: "Exercise", console: "Console", editor: "Editor", details: "Details" };

export function Dock({ lab, cluster, subject, histories, revision, isFollowing, asks, choose, details }) {
  const { session } = lab, exercise = lab.wanted.exercise;
  const [pane, setPane] = useState(exercise ? "exercise" : lab.pane ?? "editor");
  const draft = lab.draft ??= { text: textOf("Deployment"), error: null, said: "" };
  const turnTo = (name) => {
    lab.pane = name;
    setPane(name);
  };
  const isFirst = useRef(true);
  useEffect(() => {
    if (!isFirst.current) turnTo("details");
    isFirst.current = false;
  }, [asks]);
  // A hand acts on what is there now, also while the cursor shows the past.
  const history = histories.history(subject), object = histories.after(subject, history.length - 1).object;
  const edit = async ({ ref, resource }) => {
    const group = ref.apiVersion.includes("/") ? `/apis/${ref.apiVersion}` : `/api/${ref.apiVersion}`;
    const path = `${group}${ref.namespace ? `/namespaces/${ref.namespace}` : ""}/${resource}/${ref.name}`;
    try {
      const { body } = await session.act({ do: "request", path, headers: { accept: "application/yaml" } });
      Object.assign(draft, { text: withoutManaged(String(body)), error: null, said: "" });
      turnTo("editor");
    } catch (error) {
      session.error = detailOf(error);
      lab.paint();
    }
  };
  const panes = exercise ? Object.keys(NAMES) : Object.keys(NAMES).filter((name) => name !== "exercise");
  return html`<aside class="dock" aria-label="The cluster">
    <${Hand} lab=${lab} cluster=${cluster} subject=${subject} object=${object} choose=${(name) => { choose(name); turnTo("details"); }} edit=${edit} />
    ${session.error ? html`<${Problem} error=${session.error} close=${() => { session.error = null; lab.paint(); }} />` : ""}
    <div class="bar docktabs"><div role="tablist" aria-label="Panes">${panes.map((name) => html`<button role="tab" id=${`pane-${name}`} aria-selected=${pane === name} aria-controls="dock" onClick=${() => turnTo(name)}>${NAMES[name]}</button>`)}</div>
      ${isFollowing ? "" : html`<button class="right" title="Start a cluster that continues from the objects at the revision under the cursor" onClick=${() => session.fork(revision)}>fork here</button>`}</div>
    <div class="dockpane" role="tabpanel" id="dock" aria-labelledby=${`pane-${pane}`}>
      ${pane === "console" ? html`<${Console} lab=${lab} cluster=${cluster} text=${draft.text} />` : ""}
      ${pane === "editor" ? html`<${Editor} lab=${lab} draft=${draft} />` : ""}
      ${pane === "exercise" ? html`<${Exercise} lab=${lab} name=${exercise} />` : ""}
      ${pane === "details" ? details : ""}
    </div>
  </aside>`;
}

/** A manifest without what the API server writes, so that it can be applied. */
export function withoutManaged(text) {
  const kept = [];
  let isLeftOut = false;
  for (const line of text.split("\n")) {
    const indent = line.length - line.trimStart().length;
    if (/^status:/.test(line)) break;
    if (isLeftOut && (indent > 2 || /^ {2}- /.test(line))) continue;
    isLeftOut = /^ {2}(managedFields|creationTimestamp|generation|resourceVersion|uid):/.test(line);
    if (!isLeftOut) kept.push(line);
  }
  return `${kept.join("\n").trimEnd()}\n`;
}
