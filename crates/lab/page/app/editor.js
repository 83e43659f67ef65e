// The editor: a text that is applied as manifests, taken as a step, added as faults or opened as a scenario, and what was refused beside its line.

import { html } from "../../../viewer/page/html.js";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { short } from "../../../viewer/page/run.js";
import { EXAMPLES, textOf } from "./examples.js";
import { detailOf } from "./session.js";

/** The field is looked for in so many characters of a message: a search takes time with their square. */
const MOST = 2000;
/** Lines have this height, in pixels, as the style sheet says. */
const LINE = 18;

/** What a text is, and what is done with it. */
export function kindOf(text) {
  if (/^kind:\s*Scenario\s*$/m.test(text)) return "scenario";
  if (/^(- )?\s*(do|when|for):/m.test(text) && !/^(apiVersion|kind):/m.test(text)) return "fault";
  if (/^(- \w|name:|try:)/m.test(text) && !/^(apiVersion|kind):/m.test(text)) return "step";
  return "manifest";
}

const ACTS = { manifest: "apply", step: "take this step", fault: "add these faults", scenario: "open this scenario" };

/**
 * The line of a text that an error is about. The lab names the line on which the object begins; the message often names the field, which is then
 * looked for in the object.
 */
export function lineOf(detail, text) {
  if (!detail?.line) return 0;
  if (detail.column) return detail.line;
  const lines = text.split("\n"), fields = /(?:unknown field |field )?"?\.?((?:[a-z]\w*(?:\[[^\]]*\])?\.)+[a-z]\w*)"?[:\s]/i.exec(`${detail.message.slice(0, MOST)} `)?.[1];
  const name = fields?.split(".").at(-1).replace(/\[.*/, "");
  if (!name) return detail.line;
  for (let at = detail.line - 1; at < lines.length && (at < detail.line || lines[at] !== "---"); at++) {
    if (new RegExp(`(^|[\\s{,-])"?${name}"?\\s*:`).test(lines[at])) return at + 1;
  }
  return detail.line;
}

export function Editor({ lab, draft }) {
  const { session } = lab, [scroll, setScroll] = useState(0), [isBusy, setBusy] = useState(false);
  const area = useRef(), message = useRef();
  const { text, error, said } = draft, kind = kindOf(text), count = text.split("\n").length, wrong = lineOf(error, text);
  const write = (changes) => {
    Object.assign(draft, changes);
    lab.paint();
  };
  useLayoutEffect(() => {
    // What was refused comes into sight, with its line.
    if (wrong && area.current) area.current.scrollTop = Math.max(0, (wrong - 3) * LINE);
  }, [error]);
  const act = async () => {
    // The text may be newer than what is drawn.
    const { text } = draft, kind = kindOf(text);
    setBusy(true);
    write({ error: null, said: "" });
    try {
      if (kind === "scenario") await lab.open({ text });
      else if (kind === "manifest") {
        const { objects } = await session.act({ do: "apply", manifest: text });
        write({ said: objects.map(({ created, object }) => `${object.kind} ${object.metadata.name} ${created ? "created" : "applied"}`).join(", ") });
      } else {
        await session.act(kind === "step" ? { do: "step", step: text } : { do: "fault", faults: text });
        write({ said: kind === "step" ? "the step was taken" : "the faults were added" });
      }
    } catch (failure) {
      write({ error: detailOf(failure) });
    }
    setBusy(false);
    if (kind === "scenario" && lab.problem) {
      write({ error: lab.problem });
    }
  };
  const keyed = (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); act(); }
  };
  return html`<div class="editor">
    <div class="bar"><label>example <select value="" onChange=${(event) => { write({ text: textOf(event.target.value), error: null, said: "" }); event.target.value = ""; }}><option value="" disabled>choose…</option>${Object.keys(EXAMPLES).map((name) => html`<option>${name}</option>`)}</select></label>
      <button class="main" disabled=${isBusy} title="ctrl and enter" onClick=${act}>${ACTS[kind]}</button>
      <span class="quiet said-of" role="status"><bdi>${short(said ?? "", 200)}</bdi></span></div>
    <div class="sheet">
      <div class="gutter" aria-hidden="true"><div style=${{ transform: `translateY(${-scroll}px)` }}>${Array.from({ length: count }, (_, at) => html`<span class=${at + 1 === wrong ? "wrong" : ""}>${at + 1 === wrong ? "✗" : at + 1}</span>`)}</div></div>
      <div class="paper">
        <textarea ref=${area} aria-label="YAML" aria-invalid=${Boolean(error)} aria-describedby=${error ? "refused" : undefined} spellcheck=${false} autocapitalize="off" wrap="off" value=${text} onKeyDown=${keyed} onScroll=${(event) => setScroll(event.target.scrollTop)} onInput=${(event) => write({ text: event.target.value, error: null, said: "" })}></textarea>
        ${error && wrong ? html`<div class="mark" style=${{ top: `${(wrong - 1) * LINE - scroll + 6}px` }} aria-hidden="true"></div>` : ""}
        ${error ? html`<div class="beside" ref=${message} role="alert" id="refused" style=${{ top: `${Math.max(2, Math.min(wrong * LINE - scroll + 8, (area.current?.clientHeight ?? 300) - 60))}px` }}>${wrong ? html`<b>line ${wrong}</b> ` : ""}<bdi>${short(error.message, 1500)}</bdi>${error.problems?.length > 1 ? html`<i> and ${error.problems.length - 1} more</i>` : ""}</div>` : ""}
      </div>
    </div>
    <p class="quiet">A manifest is applied, as <code>kubectl apply --server-side</code>; a step, a fault or a scenario is what <code>coracle run</code> reads. In the console this text is the file <code>editor.yaml</code>.</p>
  </div>`;
}
