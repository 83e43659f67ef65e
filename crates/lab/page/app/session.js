// The session of a page: the lab in its worker, the clusters in it, and what was done in them, so that it can be done again.

import { openLab } from "../lab.js";
import { growing } from "../../../viewer/page/live.js";
import { historiesOf } from "../../../viewer/page/objects.js";
import { modelOf } from "../../../viewer/page/run.js";

export const MAIN = "main";
/** A running clock advances so often, in milliseconds. */
const TICK = 100;
/** The faults of a cluster whose clock runs are looked up so often, in ticks. */
const LOOK = 10;
/** Lessons and runs take longer than other messages. */
const LONG = 300_000;

/**
 * `start` makes a worker, and says what it starts from. `changed` is called when there is something else to draw.
 *
 * `journal` has all messages that act on a cluster, each with how often it was repeated: a session that repeats them has the same logs.
 */
export function sessionOf(start, changed) {
  const decoder = new TextDecoder();
  let lab = null, timer = 0, ticks = 0;
  const session = {
    clusters: new Map(), current: "", list: null, isReady: false, fatal: null, error: null, journal: [], isPlaying: false, pace: 1, acted: 0, busy: "",

    /** Starts the worker, in place of an earlier one. */
    begin() {
      for (const cluster of session.clusters.values()) cluster.feed.end();
      Object.assign(session, { clusters: new Map(), current: "", isReady: false, fatal: null, error: null, journal: [], isPlaying: false, busy: "" });
      lab?.end();
      const { worker, from } = start();
      const own = lab = openLab(worker, from);
      own.isReady.then(() => { if (lab === own) { session.isReady = true; changed(); } }, (error) => { if (lab === own) failed(error); });
    },
    cluster: () => session.clusters.get(session.current),
    /** Sends a message that changes nothing in a cluster. */
    ask: (message, patience) => sent(message, patience),
    /** Opens a cluster, in place of all others. */
    async open(spec) {
      session.pause();
      for (const [name, cluster] of session.clusters) {
        cluster.feed.end();
        if (name !== MAIN) await sent({ do: "close", cluster: name });
      }
      session.clusters.clear();
      Object.assign(session, { current: "", journal: [], error: null });
      const message = { do: "open", ...spec };
      keep(message);
      const { result } = await sent(message);
      session.clusters.set(MAIN, clusterOf(MAIN, result));
      session.show(MAIN);
      await catchUp(session.cluster());
      await session.lookAtFaults();
      return result;
    },
    /** Acts on the cluster that is shown. The cursor then follows what comes of it. */
    async act(message) {
      const cluster = session.cluster();
      session.error = null;
      keep(named(cluster, message));
      try {
        const { result } = await sent(named(cluster, message));
        cluster.state = { ...cluster.state, ...result };
        return result;
      } finally {
        if (!session.fatal) {
          await catchUp(cluster);
          await session.lookAtFaults();
          session.acted++;
          changed();
        }
      }
    },
    /** The same, for an action whose error is shown above the panes. */
    attempt: (message) => session.act(message).catch((error) => {
      session.error = detailOf(error);
      changed();
    }),
    /** What may follow in a line of the console: `candidates` replace the line from `from` up to the cursor. */
    async complete(line, cursor) {
      const message = named(session.cluster(), { do: "complete", line, cursor });
      keep(message);
      return (await sent(message)).result;
    },
    /** Starts a cluster that continues from the state of this one, now or at a revision, and shows it. */
    async fork(revision) {
      const origin = session.cluster(), name = freeName(session.clusters);
      session.error = null;
      const message = { do: "fork", name, ...(revision === undefined ? {} : { revision }) };
      keep(named(origin, message));
      try {
        const { result } = await sent(named(origin, message));
        adopt(origin, message, result);
        session.show(name);
        await catchUp(session.cluster());
        await session.lookAtFaults();
      } catch (error) {
        session.error = detailOf(error);
      }
      changed();
    },
    /** Ends a fork. */
    async close(name) {
      keep({ do: "close", cluster: name });
      session.clusters.get(name).feed.end();
      session.clusters.delete(name);
      if (session.current === name) session.show(MAIN);
      await sent({ do: "close", cluster: name }).catch(failed);
    },
    show(name) {
      session.pause();
      Object.assign(session, { current: name, error: null });
      changed();
    },
    play() {
      if (session.isPlaying) return;
      session.isPlaying = true;
      changed();
      tick();
    },
    pause() {
      session.isPlaying = false;
      clearTimeout(timer);
      changed();
    },
    setPace(pace) {
      session.pace = pace;
      changed();
    },
    async lookAtFaults() {
      const cluster = session.cluster();
      if (!cluster) return;
      const { result } = await sent(named(cluster, { do: "faults" }));
      cluster.faults = result.faults;
    },
    /** Repeats what another session did; an action that failed there fails here, too. */
    async repeat(journal, say) {
      for (const [place, [message, times]] of journal.entries()) {
        say(place + 1, journal.length);
        for (let k = 0; k < times; k++) {
          keep(message);
          // What a fork continues from is in the log of its origin.
          if (message.do === "fork") await catchUp(session.clusters.get(message.cluster ?? MAIN));
          const done = await sent(message).catch((error) => { if (session.fatal) throw error; });
          const cluster = session.clusters.get(message.cluster ?? MAIN);
          if (message.do === "fork" && done) adopt(cluster, message, done.result);
          else if (message.do === "close") session.clusters.delete(message.cluster);
          else if (cluster && done) cluster.state = { ...cluster.state, ...done.result };
        }
      }
      for (const cluster of session.clusters.values()) await catchUp(cluster);
      await session.lookAtFaults();
      changed();
    },
    /** The data of a page: of a lesson, of a run, or of two runs. */
    async page(message) {
      const { result, payload } = await sent(message, LONG);
      return { result, run: modelOf(JSON.parse(decoder.decode(payload))) };
    },
  };
  const sent = async (message, patience) => {
    try {
      // How long a message may take does not include the way of the module to the browser.
      const own = lab;
      await own.isReady;
      return await own.call(message, patience);
    } catch (error) {
      if (error.detail?.isFatal) failed(error);
      throw error;
    }
  };
  const failed = (error) => {
    if (session.fatal) return;
    session.fatal = { ...detailOf(error), done: session.journal.map(([message, times]) => [message, times]) };
    session.pause();
  };
  const keep = (message) => {
    const last = session.journal.at(-1), text = JSON.stringify(message);
    if (last && JSON.stringify(last[0]) === text) last[1]++;
    else session.journal.push([message, 1]);
  };
  const clusterOf = (name, state) => {
    const cluster = { name, state, begun: state.now, run: null, said: "", faults: [], stopped: new Set(), lines: [], history: [] };
    cluster.feed = growing((run) => {
      cluster.run = run;
      changed();
    }, (text) => { cluster.said = text; });
    return cluster;
  };
  const adopt = (origin, { name, revision }, state) => {
    const forked = clusterOf(name, state);
    forked.base = baseOf(origin.feed.model(), revision ?? origin.state.revision);
    session.clusters.set(name, Object.assign(forked, { stopped: new Set(origin.stopped), history: [...origin.history] }));
  };
  /** Gets the entries that the page does not have. */
  const catchUp = async (cluster) => {
    const { feed } = cluster;
    if (feed.newest() === 0) feed.begin({ ...(await sent(named(cluster, { do: "hello" }))).result, base: cluster.base });
    if (!(cluster.state.newest > feed.newest())) return;
    const { result, payload } = await sent(named(cluster, { do: "entries", after: feed.newest() }));
    cluster.state = { ...cluster.state, ...result };
    if (payload.length > 0) feed.add(decoder.decode(payload));
  };
  const tick = async () => {
    if (!session.isPlaying) return;
    const begun = performance.now(), cluster = session.cluster();
    try {
      if (!document.hidden) {
        const message = named(cluster, { do: "advance", by: `${TICK * session.pace}ms` });
        keep(message);
        const { result } = await sent(message);
        cluster.state = { ...cluster.state, ...result };
        await catchUp(cluster);
        if (ticks++ % LOOK === 0) await session.lookAtFaults();
        changed();
      }
    } catch (error) {
      if (!session.fatal) session.error = detailOf(error);
      return session.pause();
    }
    if (session.isPlaying) timer = setTimeout(tick, Math.max(0, TICK - (performance.now() - begun)));
  };
  return session;
}

/** The objects of a run at a revision, for the log of a cluster that continues from there. */
function baseOf(run, revision) {
  const histories = historiesOf(run), objects = [];
  for (const subject of histories.subjects) {
    const at = histories.atRevision(subject, revision), { object, managers } = histories.after(subject, at);
    if (at >= 0 && object) objects.push([subject, run.rv(histories.history(subject)[at]), object, managers]);
  }
  return { revision, objects };
}

const named = (cluster, message) => (cluster.name === MAIN ? message : { ...message, cluster: cluster.name });

/** What an error says: of the lab, or of the page. */
export const detailOf = (error) => error.detail ?? { message: error.message };

function freeName(clusters) {
  let number = 1;
  while (clusters.has(`fork-${number}`)) number++;
  return `fork-${number}`;
}
