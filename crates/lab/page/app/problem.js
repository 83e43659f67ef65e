// What was refused: the message as it came, with its place and all further problems.

import { html } from "../../../viewer/page/html.js";
import { short } from "../../../viewer/page/run.js";

export const placeOf = ({ file, line, column }) => (line ? `${file ?? "line"}:${line}${column ? `:${column}` : ""}: ` : "");

export function Problem({ error, close }) {
  const all = error.problems?.length > 1 ? error.problems : [error];
  return html`<div class="failure problem" role="alert">
    <div>${all.slice(0, 12).map((one) => html`<p><b>✗</b> <bdi>${short(placeOf(one) + one.message, 1200)}</bdi></p>`)}</div>
    <button aria-label="close this message" onClick=${close}>✕</button></div>`;
}
