// The page of the lab: which view it shows, and how the address leads to it.

import { h, render } from "preact";
import { html } from "../../../viewer/page/html.js";
import { explainTitles } from "../../../viewer/page/explained.js";
import { linkOf, readLink, withoutPlace } from "./link.js";
import { sessionOf, detailOf } from "./session.js";
import { Root } from "./root.js";
import { marked } from "./progress.js";

/** The worker, and what it starts from: files beside the page, or parts of it. */
function start() {
  const part = (id) => document.getElementById(id)?.textContent;
  const module = part("module");
  if (module === undefined) return { worker: new Worker("worker.js", { type: "module" }), from: new URL("lab.wasm.gz", location).href };
  const script = URL.createObjectURL(new Blob([bytesOf(part("worker"))], { type: "text/javascript" }));
  return { worker: new Worker(script), from: bytesOf(module).buffer };
}

const bytesOf = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

function begin() {
  const place = document.getElementById("page");
  place.textContent = "";
  explainTitles();
  let frame = 0, address = "", isFollowed = false;
  const paint = () => {
    frame = 0;
    document.body.dataset.view = lab.view;
    document.title = lab.title ? `${lab.title} · Coracle lab` : "Coracle lab";
    render(h(Root, { lab }), place);
  };
  const changed = () => { frame ||= requestAnimationFrame(paint); };
  const session = sessionOf(start, changed);
  /** Shows a view, and puts its address into the history of the browser, unless the view comes from there. */
  const move = async (wanted, view, title) => {
    const next = isFollowed ? address : Object.keys(wanted).length ? await linkOf(wanted) : "";
    Object.assign(lab, { view, title, wanted });
    if (next !== address) history.pushState(null, "", next ? `#${next}` : location.pathname + location.search);
    address = next;
    if (view === "cluster") lab.clusterAddress = address;
    changed();
  };
  const lab = {
    session, view: "home", title: "", wanted: {}, page: null, problem: null, busy: "", clusterWanted: null, clusterAddress: null,
    paint: changed,
    async home() {
      session.pause();
      await move({}, "home", "");
      lab.readList().catch(() => {});
    },
    /** What the engine has built in. */
    async readList() {
      if (session.list || session.fatal) return;
      session.list = (await session.ask({ do: "list" })).result;
      changed();
    },
    /** The cluster that was left for another view. */
    async back() {
      await move(lab.clusterWanted, "cluster", titleOf(lab.clusterWanted));
    },
    /** Opens what a link or a button wants: a cluster, a run or a lesson. */
    open: (wanted) => during(wanted.lesson ? "Running the lesson…" : wanted.end ? "Running the scenario…" : "Starting the cluster…", async () => {
      if (wanted.lesson) return openLesson(wanted);
      if (wanted.end) return openRun(wanted);
      return openCluster(wanted);
    }),
    /** Repeats the session after it was ended, without its last action. */
    again: () => {
      const done = session.fatal?.done ?? [], wanted = lab.clusterWanted ?? {};
      const kept = done.slice(0, -1).filter(([message]) => message.do !== "open");
      session.begin();
      return lab.open({ ...wanted, did: kept });
    },
    /** Starts the lab again, at its first page. */
    restart: async () => {
      session.begin();
      Object.assign(lab, { problem: null, page: null });
      await lab.home();
    },
    /** The link to what the page shows, with all that was done. */
    async link() {
      const place = location.hash.slice(1).split("&").filter((part) => /^(i|run|tab)=/.test(part));
      const isCluster = lab.view === "cluster";
      const did = isCluster ? session.journal.slice(1) : undefined;
      const on = isCluster && session.current !== "main" ? session.current : undefined;
      const parts = await linkOf({ ...lab.wanted, ...(isCluster ? { faults: undefined, did, on } : {}) });
      return `${location.href.split("#")[0]}#${[...place, parts].join("&")}`;
    },
    /** Runs the scenario of the page again, with a step in addition. */
    insert: (at, step) => during("Running the scenario again…", async () => {
      const { run } = await session.page({ do: "whatIf", run: runOf(lab.wanted), at, step });
      lab.page = { run, kind: "run" };
    }),
  };
  const during = async (text, work) => {
    Object.assign(lab, { busy: text, problem: null });
    changed();
    try {
      await work();
    } catch (error) {
      if (!session.fatal) lab.problem = detailOf(error);
    }
    lab.busy = "";
    changed();
  };
  const openLesson = async (wanted) => {
    const { result, run } = await session.page({ do: "lesson", name: wanted.lesson });
    marked(wanted.lesson, "begun");
    lab.page = { run, kind: "lesson", name: wanted.lesson };
    await move(wanted, "page", result.title.replaceAll("`", ""));
  };
  const openRun = async (wanted) => {
    const { run } = await session.page({ do: "run", page: true, ...runOf(wanted) });
    lab.page = { run, kind: "run" };
    await move(wanted, "page", titleOf(wanted));
  };
  const openCluster = async (wanted) => {
    lab.clusterWanted = { ...wanted, did: undefined, on: undefined };
    const { kubernetes, seed } = wanted, text = wanted.text ?? (wanted.scenario && await textOf(wanted.scenario));
    const spec = wanted.exercise ? { exercise: wanted.exercise } : text ? { scenario: text, path: wanted.scenario ? `scenarios/${wanted.scenario}.yaml` : "scenario.yaml" } : { nodes: wanted.nodes };
    const opened = await session.open({ kubernetes, seed, ...spec });
    lab.clusterWanted.kubernetes ??= opened.kubernetes;
    if (wanted.did) {
      await session.repeat(wanted.did, (at, of) => {
        lab.busy = `Repeating ${at} of ${of} actions…`;
        changed();
      });
      if (session.clusters.has(wanted.on)) session.show(wanted.on);
    } else {
      if (wanted.faults) await session.act({ do: "fault", faults: wanted.faults });
      // The steps of an exercise break its cluster; those of a scenario are to be watched.
      if (wanted.exercise) await session.act({ do: "begin", wait: true });
      else if (text) await session.act({ do: "begin" });
    }
    session.acted = 0;
    await move(lab.clusterWanted, "cluster", titleOf(wanted));
    if (!wanted.did) session.play();
  };
  const textOf = async (name) => {
    await lab.readList();
    const found = session.list.scenarios.find((one) => one.name === name);
    if (!found) throw new Error(`This lab has no scenario ${JSON.stringify(name)}. The link may be of another version of Coracle.`);
    return found.text;
  };
  const followAddress = async () => {
    if (withoutPlace(location.hash) === address) return;
    address = withoutPlace(location.hash);
    isFollowed = true;
    try {
      const wanted = await readLink(location.hash);
      if (!wanted) await lab.home();
      else if (session.clusters.size && !session.fatal && address === lab.clusterAddress) await lab.back();
      else await lab.open(wanted);
    } catch (error) {
      Object.assign(lab, { view: "home", problem: { message: error.message } });
      changed();
    }
    isFollowed = false;
    if (lab.view === "home") lab.readList().catch(() => {});
  };
  addEventListener("hashchange", followAddress);
  addEventListener("popstate", followAddress);
  addEventListener("coracle-lesson-end", () => { if (lab.page?.kind === "lesson") marked(lab.page.name, "done"); });
  session.begin();
  changed();
  if (withoutPlace(location.hash)) followAddress();
  else lab.readList().catch(() => {});
}

const runOf = ({ scenario, text, seed, kubernetes }) => ({ ...(text ? { scenario: text } : { name: scenario }), seed, kubernetes });

const titleOf = ({ scenario, exercise, text }) => scenario ?? exercise ?? (text ? /^\s*name:\s*(\S+)|metadata:\s*\{\s*name:\s*([^,}\s]+)/m.exec(text)?.slice(1).find((one) => one) ?? "a scenario" : "a cluster");

document.addEventListener("DOMContentLoaded", begin);
