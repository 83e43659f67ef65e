// A running cluster: its entries come by server-sent events or from a worker, and what is computed from them is computed again as often as that is cheap.

import { html } from "./html.js";
import { ACTOR, I, RV, SUBJECT, T, isAsked, modelOf } from "./run.js";

/** Between two builds lie at least so many milliseconds, and so many times what the last one took. */
const LEAST = 200, REST = 4;
/** So much more than the server's ring holds is kept before the oldest is dropped: dropping costs as much as all that is kept. */
const SLACK = 1.25;

/**
 * What has come so far, with its texts as numbers, and no more than the server's ring holds.
 *
 * A cluster that continues from the state of another has objects that its log does not create: `hello.base` has its `revision`, and each of
 * the `objects` as `[subject, revision, object, managers]`. They get numbers up to 0, before the first entry.
 */
export function logOf(hello) {
  const stages = [...hello.stages];
  let entries = [], names = [], places = new Map(), gaps = [], first = 0, begins = null;
  const numbered = (text) => {
    if (!places.has(text)) {
      places.set(text, names.length);
      names.push(text);
    }
    return places.get(text);
  };
  const stageOf = (word) => (stages.includes(word) ? stages.indexOf(word) : stages.push(word) - 1);
  const forget = () => {
    const old = names;
    [names, places] = [[], new Map()];
    // Rows are copied: the model that is on the page reads the old ones until the next is built.
    entries = entries.slice(-hello.ring).map((row) => {
      const copy = row.slice();
      [copy[ACTOR], copy[SUBJECT]] = [numbered(old[row[ACTOR]]), numbered(old[row[SUBJECT]])];
      return copy;
    });
    gaps = gaps.filter((id) => id > entries[0][I]);
  };
  for (const [place, [subject, rv, whole, managers]] of (hello.base?.objects ?? []).entries()) {
    entries.push([place + 1 - hello.base.objects.length, 0, numbered("store"), stageOf("object.change"), numbered(subject), [], rv, { whole, managers }]);
  }
  const log = {
    newest: 0,
    /** Takes lines of an events file. */
    add(lines) {
      for (const { i, t, a, s, k = "", c = [], rv = null, d = 0 } of JSON.parse(`[${lines.replaceAll("\n", ",")}]`)) {
        if (i <= log.newest) continue;
        const row = [i, t, numbered(a), stageOf(s), numbered(k), c, rv, d];
        if (log.newest > 0 && i > log.newest + 1) gaps.push(i);
        log.newest = i;
        first ||= i;
        // What the ring has forgotten may hold the first step: then nothing is folded away.
        begins ??= first <= hello.begins && i >= hello.begins && s === "api.request" && isAsked(c, d) ? i : null;
        entries.push(row);
      }
      if (entries.length > hello.ring * SLACK) forget();
    },
    model: () => modelOf({ form: hello.form, run: hello.run, sentences: hello.sentences, stages, names, entries, gaps: [...gaps], base: hello.base?.revision, summary: summaryOf(hello, entries, begins ?? hello.begins) }),
  };
  return log;
}

function summaryOf(hello, entries, from) {
  const begins = entries.find((row) => row[I] >= from) ?? entries[0];
  let revision = hello.base?.revision ?? 0;
  for (const row of entries) if (row[RV] > revision) revision = row[RV];
  return { name: hello.run.scenario || "", outcome: "running", checks: [], begins: begins[I], nanos: entries[entries.length - 1][T], entries: entries.length, revision };
}

/**
 * A run that grows: it is built as often as that is cheap, and drawn by `draw(run, state)`, where the state is `live`, `lost` or `over`.
 * `say` shows a text while there is nothing to draw.
 */
export function growing(draw, say) {
  let hello = null, log = null, run = null, state = "live", timer = 0, next = 0;
  const show = () => { if (run) draw(run, state); };
  const build = () => {
    timer = 0;
    const begun = performance.now();
    run = log.model();
    show();
    next = performance.now() + Math.max(LEAST, (performance.now() - begun) * REST);
  };
  const later = () => {
    if (timer || document.hidden || !log || log.newest === 0) return;
    // What the ring holds already comes at once, and is built once.
    if (!run && log.newest < hello.newest) say(`Reading the log of the cluster, up to event #${hello.newest}: #${log.newest}…`);
    else timer = setTimeout(build, Math.max(0, next - performance.now()));
  };
  document.addEventListener("visibilitychange", later);
  return {
    newest: () => log?.newest ?? 0,
    /** The run up to the newest entry. */
    model: () => log.model(),
    /** Takes what comes before the first entry; a second one is that of the same cluster again. */
    begin(greeting) {
      if (log) return;
      hello = greeting;
      log = logOf(hello);
      say("The cluster runs; nothing has happened in it yet.");
    },
    /** Takes lines of an events file. */
    add(lines) {
      log.add(lines);
      later();
    },
    turn(to) {
      if (state === to) return;
      state = to;
      if (run) show();
      else if (to !== "live") say(to === "lost" ? "The cluster does not answer; the page asks again every second." : "The cluster refused the log: this link is not valid for it, or no longer.");
    },
    end() {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", later);
    },
  };
}

/** Follows a server's events, and draws a run as it grows. */
export function follow(url, draw, say) {
  const run = growing(draw, say), source = new EventSource(url);
  source.addEventListener("hello", (event) => run.begin(JSON.parse(event.data)));
  source.onmessage = (event) => run.add(event.data);
  source.onopen = () => run.turn("live");
  source.onerror = () => run.turn(source.readyState === EventSource.CLOSED ? "over" : "lost");
}

const STATES = {
  live: ["● live", "entries come as they are recorded"],
  lost: ["○ disconnected", "the cluster does not answer: the page shows what came before, and asks again every second"],
  over: ["○ disconnected", "the cluster of this link is gone: the page shows what came before"],
};

/** What the header says of a cluster that runs, and whether the cursor follows its newest entry. */
export function LiveSign({ state, isFollowing, setFollowing }) {
  const [sign, text] = STATES[state];
  return html`<b class=${`outcome ${state === "live" ? "running" : "failed"}`} role="status" title=${text}>${sign}</b>
    ${state === "live" ? "" : html`<span class="quiet">${text}</span>`}
    <button aria-pressed=${isFollowing} title="the cursor follows the newest entry (f)" onClick=${() => setFollowing(!isFollowing)}>follow</button>`;
}
