// An exercise: what a user reports, and whether the repair is one.

import { html } from "../../../viewer/page/html.js";
import { useEffect, useState } from "preact/hooks";
import { short } from "../../../viewer/page/run.js";
import { marked } from "./progress.js";

export function Exercise({ lab, name }) {
  const { session } = lab, [verdict, setVerdict] = useState(lab.verdict?.name === name ? lab.verdict : null);
  useEffect(() => {
    lab.readList().catch(() => {});
    marked(name, "begun");
  }, [name]);
  const exercise = session.list?.exercises.find((one) => one.name === name);
  const check = async () => {
    const found = await session.attempt({ do: "verdict" });
    if (!found) return;
    lab.verdict = { ...found, name };
    setVerdict(lab.verdict);
    if (isRepaired(found)) marked(name, "done");
  };
  return html`<div class="exercise">
    <h2>${exercise ? `${exercise.number}. ${exercise.title}` : name}</h2>
    ${exercise ? html`<p class="lead">${coded(exercise.report)}</p>` : ""}
    <p class="quiet">Find out why, and repair it: in the console, in the editor, or with the buttons above.</p>
    <div class="bar"><button class="main verdict" onClick=${check}>check the repair</button></div>
    <div aria-live="polite">${verdict ? html`<${Verdict} verdict=${verdict} />` : ""}</div>
  </div>`;
}

const isRepaired = ({ claims = [] }) => claims.length > 0 && claims.every(({ holds }) => holds);

function Verdict({ verdict }) {
  const { claims = [], hints = [], explanation } = verdict;
  return html`<h3>${isRepaired(verdict) ? "✓ Repaired" : "Not repaired yet"}</h3>
    <ul class="checks">${claims.map((claim) => html`<li class=${claim.holds ? "held" : "broke"}><b>${claim.holds ? "✓" : "✗"}</b> <bdi>${short(claim.name, 300)}</bdi>${claim.holds ? "" : html`<p class="quiet">found <bdi>${short(claim.found, 300)}</bdi></p>`}</li>`)}</ul>
    ${hints.length ? html`<h3>Hints</h3><ol>${hints.map((hint) => html`<li>${coded(hint)}</li>`)}</ol>` : ""}
    ${explanation ? html`<h3>Why</h3><p>${coded(explanation)}</p>` : ""}`;
}

/** A text in which what stands between backquotes is code. */
export const coded = (text) => text.split("`").map((part, place) => (place % 2 ? html`<code>${part}</code>` : part));
