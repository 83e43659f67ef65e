// A run as the page reads it: the rows of the file, and what is computed from them once.

export const I = 0;
export const T = 1;
export const ACTOR = 2;
export const STAGE = 3;
export const SUBJECT = 4;
export const CAUSES = 5;
export const RV = 6;
export const DATA = 7;

const FORM = 1;

/** What lies in the page, unpacked. */
export async function unpacked(text) {
  if (typeof DecompressionStream === "undefined") {
    throw new Error("This browser cannot unpack the run: it has no DecompressionStream (Chromium 80, Firefox 113 and Safari 16.4 have).");
  }
  const bytes = Uint8Array.from(atob(text.trim()), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

/** Whether an entry is a request of a client that is not part of the cluster. Before the first one, the cluster only starts. */
export const isAsked = (causes, { user }) => causes.length === 0 && !String(user).startsWith("system:");

/** The model of a run; throws if the page does not know its form. */
export function modelOf(data) {
  if (data.form !== FORM) {
    throw new Error(`This page reads form ${FORM} of a run, and the run in it has form ${data.form}.`);
  }
  const { entries, names, stages } = data;
  const count = entries.length;
  const stageOf = (i) => stages[entries[i][STAGE]];
  const newest = new Int32Array(count);
  let revision = data.base ?? 0;
  for (let i = 0; i < count; i++) {
    const rv = entries[i][RV];
    if (rv !== null && rv > revision && stageOf(i) === "store.commit") revision = rv;
    newest[i] = revision;
  }
  const run = {
    data, entries, names, stages, count, newest, stageOf,
    header: data.run, summary: data.summary, sentences: data.sentences,
    id: (i) => entries[i][I],
    time: (i) => entries[i][T],
    actor: (i) => names[entries[i][ACTOR]],
    subject: (i) => names[entries[i][SUBJECT]],
    rv: (i) => entries[i][RV],
    word: (i, name) => (entries[i][DATA] ? entries[i][DATA][name] : undefined),
    fields: (i) => entries[i][DATA] || {},
    /** Where the entry of a number is; -1 if it is not in the log. */
    place(id) {
      const at = run.nearest(id);
      return at < count && entries[at][I] === id ? at : -1;
    },
    /** The first entry whose number is at least that. */
    nearest(id) {
      let low = 0, high = count;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (entries[middle][I] < id) low = middle + 1; else high = middle;
      }
      return low;
    },
    causes: (i) => entries[i][CAUSES].map((id) => run.place(id)),
  };
  const begins = data.summary.begins;
  run.begin = begins === undefined ? 0 : Math.max(0, run.place(begins));
  run.effects = effectsOf(run);
  run.byStage = new Map();
  for (let i = 0; i < count; i++) {
    const stage = stageOf(i);
    if (!run.byStage.has(stage)) run.byStage.set(stage, []);
    run.byStage.get(stage).push(i);
  }
  run.of = (stage) => run.byStage.get(stage) || [];
  /** The first request from an entry on by a client that is not part of the cluster. */
  run.asked = (from) => run.of("api.request").find((i) => i >= from && isAsked(entries[i][CAUSES], run.fields(i)));
  run.axes = axesOf(run);
  /** Before which entries there were others that the log has forgotten. */
  run.edges = [...(count > 0 && run.id(0) > 1 ? [0] : []), ...(data.gaps || []).map((id) => run.place(id)).filter((i) => i > 0)];
  return run;
}

function effectsOf(run) {
  const starts = new Uint32Array(run.count + 1);
  const each = (act) => {
    for (let i = 0; i < run.count; i++) {
      for (const cause of run.causes(i)) if (cause >= 0 && cause < i) act(cause, i);
    }
  };
  each((cause) => starts[cause + 1]++);
  for (let i = 0; i < run.count; i++) starts[i + 1] += starts[i];
  const free = starts.slice(), all = new Uint32Array(starts[run.count]);
  each((cause, i) => { all[free[cause]++] = i; });
  return (i) => all.subarray(starts[i], starts[i + 1]);
}

/** Where an entry lies along each axis: by revision, by time, by number. Never falls from one entry to the next. */
function axesOf(run) {
  const order = new Float64Array(run.count), time = new Float64Array(run.count), revision = new Float64Array(run.count);
  for (let i = 0; i < run.count;) {
    let end = i;
    while (end < run.count && run.newest[end] === run.newest[i]) end++;
    for (let k = i; k < end; k++) revision[k] = run.newest[i] + (k - i) / (end - i);
    i = end;
  }
  for (let i = 0; i < run.count; i++) {
    order[i] = run.id(i);
    time[i] = run.time(i) / 1e6;
  }
  return { revision, time, order };
}

/** The last place of a rising list whose value is at most that; -1 if there is no such place. */
export function lastUpTo(list, value) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] <= value) low = middle + 1; else high = middle;
  }
  return low - 1;
}

/** A time as people read it, from nanoseconds. */
export function clock(nanos) {
  if (nanos < 1e9) return `${(nanos / 1e6).toFixed(1)} ms`;
  if (nanos < 6e11) return `${(nanos / 1e9).toFixed(3)} s`;
  const seconds = Math.floor(nanos / 1e9);
  const two = (number) => String(number).padStart(2, "0");
  return `${Math.floor(seconds / 3600)}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)} h`;
}

/** A text that is long, cut in its middle. */
export function short(text, length = 80) {
  return text.length <= length ? text : `${text.slice(0, length / 2)}…${text.slice(-length / 2 + 1)}`;
}
