// The clock of a cluster: it stands still until it is advanced, or it runs at a pace.

import { html } from "../../../viewer/page/html.js";
import { useEffect, useRef } from "preact/hooks";
import { clock } from "../../../viewer/page/run.js";

const PACES = [1, 10, 60];

/** Time since a cluster was opened, from texts such as `2026-01-01T00:00:05.110000Z`. */
export const elapsed = ({ begun, state }) => clock(Math.max(0, Date.parse(state.now) - Date.parse(begun)) * 1e6);

export function Clock({ lab, cluster }) {
  const { session } = lab, { isPlaying, pace } = session;
  const act = (message) => () => {
    session.pause();
    session.attempt(message);
  };
  const turn = () => (isPlaying ? session.pause() : session.play());
  const latest = useRef();
  latest.current = turn;
  useEffect(() => {
    const listen = (event) => {
      if (event.key !== "t" || event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
      event.preventDefault();
      latest.current();
    };
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }, []);
  return html`<h1 class="live">The cluster ${cluster.name}</h1>
    <span class="bar clock" role="group" aria-label="The clock of the cluster">
      <button class="main turn" aria-pressed=${isPlaying} title="Let the time of the cluster pass, or stop it (t)" onClick=${turn}>${isPlaying ? "❚❚ stop" : "▶ run"} the clock</button>
      <span class="choice" role="group" aria-label="The pace of the clock">${PACES.map((one) => html`<button aria-pressed=${pace === one} title=${`${one} seconds of the cluster in a second`} onClick=${() => session.setPace(one)}>×${one}</button>`)}</span>
      <button title="Advance to the next event" onClick=${act({ do: "next" })}>next</button>
      <button title="Advance until nothing moves" onClick=${act({ do: "settle" })}>settle</button>
      <button title="Advance by 10 seconds" onClick=${act({ do: "advance", by: "10s" })}>+10 s</button>
      <button title="Advance by a minute" onClick=${act({ do: "advance", by: "1m" })}>+1 m</button>
      <output class="now" title=${`The clock of the cluster: ${cluster.state.now}`}>${elapsed(cluster)}</output>
      ${cluster.state.steps === "running" ? html`<span class="quiet">steps run</span>` : cluster.state.steps === "failed" ? html`<b class="outcome failed" title=${cluster.state.failure?.message}>a step failed</b>` : ""}
    </span>`;
}
