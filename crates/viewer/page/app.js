// One page, one selection, one clock: the cursor is an entry of the log, and every pane shows what was then.

import { html } from "./html.js";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { clock, lastUpTo, short } from "./run.js";
import { sentence } from "./sentence.js";
import { historiesOf } from "./objects.js";
import { controllersOf, pipelineAt } from "./queues.js";
import { lanesOf } from "./lanes.js";
import { findingsOf } from "./findings.js";
import { placed } from "./place.js";
import { STEPS, among, onwards, stepped, writersOf } from "./steps.js";
import { chain } from "./why.js";
import { Timeline } from "./timeline.js";
import { Event, Line } from "./event.js";
import { Pipeline } from "./pipeline.js";
import { Beliefs } from "./beliefs.js";
import { ObjectHistory } from "./object.js";
import { Log } from "./log.js";
import { Lesson, lessonKeys, tourThrough } from "./lesson.js";
import { LiveSign } from "./live.js";
import { mapOf } from "./cluster.js";
import { SPEEDS, newestAct, usePlayer } from "./play.js";
import { Stage } from "./stage.js";
import { Story } from "./story.js";

const TABS = ["pipeline", "belief", "object", "log", "findings", "checks"];
const NAMES = { pipeline: "Pipeline", belief: "Belief", object: "Object", log: "Log", findings: "Findings", checks: "Checks" };

/** Where a link points: the entry, and what to say if it is not there. */
function linked(run) {
  const found = /(?:^#|&)i=(\d+)/.exec(location.hash);
  if (!found) return { at: beginning(run), said: "" };
  const id = Number(found[1]), at = Math.min(run.nearest(id), run.count - 1);
  if (run.ahead) return { at, said: "" };
  return { at, said: run.id(at) === id ? "" : `There is no event #${id} in this log; the page shows the nearest event, #${run.id(at)}.` };
}

/** What failed first; otherwise the first request of a user in the last step that has one. */
function beginning(run) {
  if (run.ahead) return run.count - 1;
  const failed = run.of("check.fail")[0];
  if (failed !== undefined) return failed;
  const asked = run.of("api.request").filter((i) => i >= run.begin && run.word(i, "verb") === "delete" && run.entries[i][5].length === 0);
  return asked[0] ?? run.begin;
}

/**
 * The page of a run. What it lies in may put its own part into the header as `head`, lay out the details itself with `dock`, and have the
 * cursor follow the newest entry again whenever `acted` changes.
 */
export function App({ run, lesson, live, ghost, mark = "", head, dock, acted }) {
  const histories = useMemo(() => historiesOf(run), [run]);
  const controllers = useMemo(() => controllersOf(run), [run]);
  const map = useMemo(() => mapOf(run, histories), [run]);
  const lanes = useMemo(() => lanesOf(run, histories), [run]);
  const writers = useMemo(() => writersOf(run), [run]);
  const findings = useMemo(() => findingsOf(run), [run]), mine = findings.filter((finding) => !finding.isOwn).length;
  const start = useMemo(() => linked(run), []);
  // The cursor is kept by number: where an entry is changes when the beginning of a log is forgotten.
  const [id, setId] = useState(() => run.id(start.at));
  const [isFollowing, setFollow] = useState(() => Boolean(live) && !/(?:^#|&)i=\d/.test(location.hash));
  const cursor = isFollowing ? newestAct(run) : Math.min(run.nearest(id), run.count - 1);
  const setFollowing = (isOn) => {
    setId(run.id(cursor));
    setFollow(isOn);
  };
  const [said, setSaid] = useState(start.said);
  const linkedTab = () => TABS.find((one) => location.hash.includes(`&tab=${one}`) || location.hash === `#tab=${one}`);
  const [tab, setTab] = useState(() => linkedTab() ?? TABS[0]);
  const [chosen, setChosen] = useState(() => actsOn(run, controllers, start.at));
  const [object, setObject] = useState("");
  const [by, setBy] = useState("event");
  const [wanted, setWriter] = useState(() => nextWriter(writers, start.at));
  const writer = writers.has(wanted) ? wanted : nextWriter(writers, cursor);
  const [filter, setFilter] = useState("");
  const [isUnfolded, setUnfolded] = useState(false);
  const [help, setHelp] = useState(false);
  const [isFocused, setFocused] = useState(false), [isPresenting, setPresenting] = useState(false);
  const select = (i) => {
    setSaid("");
    setFollow(false);
    setId(run.id(Math.min(run.count - 1, Math.max(0, i))));
  };
  // At once: after the next picture it could write over a link that was followed meanwhile.
  useLayoutEffect(() => {
    if (isFollowing) return;
    const hash = placed(`i=${run.id(cursor)}${mark}${tab === TABS[0] ? "" : `&tab=${tab}`}`);
    if (location.hash !== hash) history.replaceState(null, "", hash);
  }, [id, isFollowing, tab]);
  useEffect(() => {
    const follow = () => {
      // A link into the other run is handled by the page of that run.
      if ((/&run=\w+/.exec(location.hash)?.[0] ?? "") !== mark) return;
      const { at, said: text } = linked(run);
      setFollow(false);
      setId(run.id(at));
      setSaid(text);
      setTab((now) => linkedTab() ?? now);
    };
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, [run]);
  useEffect(() => { if (acted) setFollow(true); }, [acted]);
  const subject = run.subject(cursor);
  const shownObject = object || (histories.history(subject).length ? subject : "") || aboutOf(run, histories, controllers.at(cursor), cursor);
  useEffect(() => { if (!isFollowing && histories.history(subject).length) setObject(subject); }, [id, isFollowing]);
  const reasons = useMemo(() => chain(run, cursor).links, [run, cursor]);
  const links = useMemo(() => reasons.map((link) => link.at), [reasons]);
  const nearest = links.map(controllers.at).find((one) => one);
  useEffect(() => { if (!isFollowing && nearest) setChosen(nearest.name); }, [id, isFollowing]);
  const controller = controllers.named(chosen) ?? controllers.busiest;
  const pipeline = useMemo(() => (controller ? pipelineAt(run, controller, cursor) : null), [run, controller, cursor]);
  const walk = useRef({});
  // How often a pane was asked for: a dock that shows something else then shows the details.
  const [asks, setAsks] = useState(0);
  const turnTo = (name) => {
    setTab(name);
    setAsks((asks) => asks + 1);
  };
  const show = (name) => {
    turnTo(name);
    document.getElementById(`tab-${name}`)?.scrollIntoView({ block: "nearest" });
  };
  const player = usePlayer(run, cursor, select, lesson && tourThrough(lesson, run, cursor, select));
  const move = (kind, forwards) => select(stepped(run, cursor, kind, forwards));
  const keys = useRef();
  keys.current = (event) => {
    const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.key === "Escape") { setHelp(false); event.target.blur?.(); return; }
    if (event.key === " " && /^(BUTTON|SUMMARY)$/.test(event.target.tagName)) return;
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    const act = {
      ArrowRight: () => move(event.shiftKey ? "revision" : by, true), ArrowLeft: () => move(event.shiftKey ? "revision" : by, false),
      "]": () => move("sync", true), "[": () => move("sync", false),
      n: () => select(among(writers.get(writer) || [], cursor, true)), N: () => select(among(writers.get(writer) || [], cursor, false)),
      Home: () => select(run.begin), End: () => select(run.count - 1),
      c: () => select(links[1] ?? cursor),
      e: () => select(onwards(run, cursor, walk.current)),
      w: () => {
        const comes = tab === "object" ? histories.comesAt(shownObject, cursor) : undefined;
        if (comes !== undefined) select(comes);
        setTimeout(() => document.getElementById("why")?.scrollIntoView({ block: "start" }));
      },
      " ": () => player.toggle(),
      ".": () => player.step(true), ",": () => player.step(false),
      "<": () => player.faster(-1), ">": () => player.faster(1),
      o: () => setFocused(!isFocused), p: () => setPresenting(!isPresenting),
      "/": () => { turnTo("log"); setTimeout(() => document.getElementById("find")?.focus()); },
      "?": () => setHelp(!help),
      ...(live ? { f: () => setFollowing(!isFollowing) } : {}),
      ...Object.fromEntries(TABS.map((name, place) => [String(place + 1), () => turnTo(name)])),
      ...(lesson ? lessonKeys(lesson, select, run) : {}),
    }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  };
  useEffect(() => {
    const listen = (event) => keys.current(event);
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }, []);
  const { summary } = run, { cut } = run.data;
  const outcome = cut && summary.outcome === "passed" ? "cut" : summary.outcome;
  const details = html`
    <aside class="panes" aria-label="Details">
      <div class="bar">
      <span class="writes"><button aria-label="the previous write" onClick=${() => select(among(writers.get(writer) || [], cursor, false))}>◂</button>
      <label>write of <select value=${writer} onChange=${(event) => setWriter(event.target.value)}>${[...writers.keys()].sort().map((name) => html`<option value=${name}>${short(name, 60)}</option>`)}</select></label>
      <button aria-label="the next write" onClick=${() => select(among(writers.get(writer) || [], cursor, true))}>▸</button></span>
      ${run.begin > 0 ? html`<label class="fold"><input type="checkbox" checked=${isUnfolded} onChange=${() => setUnfolded(!isUnfolded)} /> with the start-up</label>` : ""}
      </div>
      <section class="tabs">
        <div role="tablist" aria-label="Views">${TABS.map((name) => html`<button role="tab" id=${`tab-${name}`} aria-selected=${tab === name} aria-controls="panel" onClick=${() => setTab(name)}>${NAMES[name]}${name === "findings" && mine ? html` <i>${mine}</i>` : ""}</button>`)}</div>
        <div role="tabpanel" id="panel" aria-labelledby=${`tab-${tab}`} tabindex="0">
          ${tab === "pipeline" ? html`<${Pipeline} run=${run} controllers=${controllers} controller=${controller} at=${pipeline} choose=${setChosen} cursor=${cursor} select=${select} />` : ""}
          ${tab === "belief" ? html`<${Beliefs} run=${run} histories=${histories} controllers=${controllers} controller=${controller} choose=${setChosen} cursor=${cursor} select=${select} showObject=${(name) => { setObject(name); setTab("object"); }} />` : ""}
          ${tab === "object" ? html`<${ObjectHistory} run=${run} histories=${histories} subject=${shownObject} choose=${setObject} cursor=${cursor} select=${select} />` : ""}
          ${tab === "log" ? html`<${Log} run=${run} cursor=${cursor} select=${select} filter=${filter} setFilter=${setFilter} />` : ""}
          ${tab === "findings" ? html`<${Findings} run=${run} findings=${findings} select=${select} />` : ""}
          ${tab === "checks" ? html`<${Checks} run=${run} select=${select} />` : ""}
        </div>
      </section>
      <${Event} run=${run} cursor=${cursor} select=${select} show=${show} />
      <p class="quiet">Coracle ${run.header.version}, everything here is read off the event log of this run; nothing is sent anywhere.</p>
    </aside>`;
  return html`
    <div class=${`screen${isPresenting ? " presenting" : ""}`}>
    <header>
      ${head ?? html`<h1>${lesson ? html`${lesson.number}. ${lesson.title.replaceAll("`", "")}` : html`<bdi>${short(summary.name || "a cluster", 80)}</bdi>`}</h1>`}
      ${live ? html`<${LiveSign} state=${live} isFollowing=${isFollowing} setFollowing=${setFollowing} />` : lesson ? "" : html`<b class=${`outcome ${outcome.replaceAll(" ", "-")}`}>${{ passed: "✓ ", unchecked: "", "not shown yet": "" }[outcome] ?? "✗ "}${outcome.replaceAll("-", " ")}</b>`}
      ${lesson || head ? "" : html`<span class="quiet">${clock(summary.nanos)} ${run.header.mode || ""} · revision ${summary.revision} · ${summary.entries} events${summary.options && ghost === undefined ? html` · <code>${summary.options}</code>` : ""}</span>`}
      <button class="help" aria-expanded=${help} onClick=${() => setHelp(!help)}>keys</button>
    </header>
    ${help ? html`<${Help} lesson=${lesson} />` : ""}
    ${cut ? html`<p class="failure hatched" role="region" aria-label="Where the log is cut"><b>✗ <bdi>${short(cut, 600)}</bdi></b>; the page shows what came before.</p>` : ""}
    ${summary.failure ? html`<${Failure} failure=${summary.failure} isFolded=${ghost !== undefined} />` : ""}
    ${run.id(0) > 1 ? html`<p class="failure hatched" role="region" aria-label="What the log has dropped">The log begins at event #${run.id(0)}: earlier events were dropped.</p>` : ""}
    <nav class="bar cursor" aria-label="The cursor">
      <button class="main play" aria-pressed=${player.isPlaying} disabled=${Boolean(run.ahead)} title="play and pause (space)" onClick=${player.toggle}>${player.isPlaying ? "❚❚ pause" : "▶ play"}</button>
      <label>speed <select value=${player.speed} onChange=${(event) => player.faster(SPEEDS.indexOf(Number(event.target.value)) - SPEEDS.indexOf(player.speed))}>${SPEEDS.map((one) => html`<option value=${one}>${one}×</option>`)}</select></label>
      <button aria-label="go to the beginning" onClick=${() => select(run.begin)}>|◂</button>
      <button aria-label="back" onClick=${() => move(by, false)}>◂</button>
      <label>by <select value=${by} onChange=${(event) => setBy(event.target.value)}>${Object.keys(STEPS).map((name) => html`<option>${name}</option>`)}</select></label>
      <button aria-label="forwards" onClick=${() => move(by, true)}>▸</button>
      <button aria-label="go to the end" onClick=${() => select(run.count - 1)}>▸|</button>
      <span class="at"><b>#${run.id(cursor)}</b> ${clock(run.time(cursor))} rev ${run.newest[cursor]}</span>
    </nav>
    ${said ? html`<p class="failure" role="alert">${said}</p>` : ""}
    ${!isFollowing && id < run.id(0) ? html`<p class="failure hatched" role="region" aria-label="A dropped event">The log has dropped event #${id}; the page shows its oldest event.</p>` : ""}
    <p class="live" aria-live=${isFollowing || player.isPlaying ? "off" : "polite"}>#${run.id(cursor)}: ${short(sentence(run, cursor), 200)}</p>
    <main>
      <section class=${`story${lesson?.isGuessing ? " asking" : ""}`} aria-label="Story">${lesson ? html`<${Lesson} lesson=${lesson} run=${run} cursor=${cursor} select=${select} />` : html`<${Story} run=${run} cursor=${cursor} links=${reasons} select=${select} />`}</section>
      <${Stage} run=${run} map=${map} controllers=${controllers} controller=${controller} pipeline=${pipeline} writers=${writers} cursor=${cursor} chain=${links} select=${select} subject=${shownObject} choose=${setChosen} pace=${player.pace} guessing=${lesson?.guessing} guess=${lesson?.flag?.component} />
      <${Timeline} run=${run} live=${live} isFollowing=${isFollowing} lanes=${lanes} ghost=${ghost} cursor=${cursor} chain=${links} select=${select} isUnfolded=${isUnfolded} subject=${shownObject}
        captioned=${lesson?.captioned} flag=${lesson?.flag} guessing=${lesson?.guessing} isBlind=${Boolean(run.ahead)} isFocused=${isFocused} setFocused=${setFocused}
        pick=${(lane) => { if (lane.subject) { setObject(lane.subject); show("object"); } else if (lane.actor && controllers.named(lane.actor)) { setChosen(lane.actor); show("pipeline"); } else if (lane.entries.length) select(lane.entries[Math.max(0, lastUpTo(lane.entries, cursor))]); }} />
    </main>
    </div>
    ${dock ? dock({ subject: shownObject, histories, revision: run.newest[cursor], isFollowing, asks, choose: setObject, details }) : details}`;
}

/** The controller whose sync was the first to write because of an entry, or of what was asked for next. */
function actsOn(run, controllers, from) {
  const after = new Set([from, run.asked(from)]);
  for (let i = from; i < Math.min(run.count, from + 20_000); i++) {
    if (!run.causes(i).some((cause) => after.has(cause))) continue;
    after.add(i);
    const controller = run.stageOf(i) === "sync.write" && controllers.at(i);
    if (controller) return controller.name;
  }
  return "";
}

/** Who wrote first after an entry. */
function nextWriter(writers, from) {
  const next = (places) => places[lastUpTo(places, from) + 1] ?? Infinity;
  return [...writers].sort((a, b) => next(a[1]) - next(b[1]))[0]?.[0] ?? "";
}

/** The object that an entry without one has to do with: that of a request's commit, or a queue's key. */
function aboutOf(run, histories, controller, cursor) {
  const key = run.subject(cursor);
  const keyed = controller ? [...controller.resources].map((resource) => `${resource}/${key}`) : [];
  // A resource may have an object of the controller's key's name by chance: what the controller is called after comes first.
  keyed.sort((a, b) => Number(controller.name.endsWith(b.split("/")[0].replace(/s$/, ""))) - Number(controller.name.endsWith(a.split("/")[0].replace(/s$/, ""))));
  const near = [...run.effects(cursor), ...run.causes(cursor)].filter((i) => i >= 0).map((i) => run.subject(i));
  const found = [...keyed, ...near].find((subject) => !subject.startsWith("events/") && histories.history(subject).length > 0);
  if (found) return found;
  return histories.subjects.find((name) => name.startsWith("pods/")) || "";
}

function Findings({ run, findings, select }) {
  const own = findings.filter((finding) => finding.isOwn), others = findings.filter((finding) => !finding.isOwn);
  const article = (finding) => html`<article class="finding"><h3>${finding.title}</h3><p><bdi>${short(finding.text, 400)}</bdi></p>
    ${finding.places.slice(0, 5).map((i) => html`<${Line} run=${run} i=${i} select=${select} />`)}${finding.places.length > 5 ? html`<p class="quiet">and ${finding.places.length - 5} more</p>` : ""}</article>`;
  return html`${others.length ? others.map(article) : html`<p class="quiet">None of these: a controller woken by its own status, writes that change nothing, conflicts, a retry that does not end, a finalizer that no controller removed.</p>`}
    ${own.length ? html`<details><summary>${own.length} of Coracle's own components, not of yours</summary>${own.map(article)}</details>` : ""}`;
}

/** The check that failed. Of two runs it is folded: there the change is the subject, and not the scenario's expectation. */
function Failure({ failure, isFolded }) {
  const { what, expected, found, revision, writtenBy } = failure;
  const title = html`<b>✗ <bdi>${short(what, 200)}</bdi></b>`;
  const more = html`expected <bdi>${short(expected, 300)}</bdi>, found <bdi>${short(found, 300)}</bdi> at revision ${revision}${writtenBy ? html`, written by <bdi>${writtenBy}</bdi>` : ""}`;
  return html`<div class="failure" role="region" aria-label="What failed">${isFolded ? html`<details><summary>${title} does not hold in this run</summary>${more}</details>` : html`${title} ${more}`}</div>`;
}

function Checks({ run, select }) {
  const { checks } = run.summary;
  if (checks.length === 0) return html`<p class="quiet">The run has no checks.</p>`;
  return html`<ul class="checks">${checks.map((check) => html`<li class=${check.held ? "held" : "broke"}>
    <button onClick=${() => select(Math.max(0, run.place(check.entry)))}><b>${check.held ? "✓" : "✗"}</b> <bdi>${short(check.name, 300)}</bdi></button>
    <span class="quiet">${check.throughout ? (check.held ? `at every revision up to ${check.revision}` : `broke at revision ${check.revision}`) : `at revision ${check.revision}`}, ${clock(check.at)}</span>
    ${check.vacuous ? html`<p>vacuous: <bdi>${short(check.vacuous, 300)}</bdi></p>` : ""}
    ${check.failure ? html`<p>expected <bdi>${short(check.failure.expected, 300)}</bdi>, found <bdi>${short(check.failure.found, 300)}</bdi></p>` : ""}</li>`)}</ul>`;
}

function Help({ lesson }) {
  const keys = [["space", "play and pause"], ["< >", "slower and faster"], [", .", "back and forward along the story"], ["o", "only the lanes of this chain"], ["p", "presenter: large type, without the details"], ["← →", "back and forward, by the selected unit"], ["shift ← →", "by revision"], ["[ ]", "by sync"], ["n N", "the next and the previous write of the selected writer"], ["c e", "to the newest cause; to the effects, one after the other"], ["Home End", "to the beginning and to the end"], ["w", "why this event happened"], ["/", "find in the log"], ["f", "follow the newest, where the cluster still runs"], ...(lesson ? [["a … d", "guess"], ["j k", "go on, and back"], ["x", "to the other run"]] : []), ["1 … 6", "the panes"], ["ctrl wheel, + −", "zoom the lanes; drag to pan"]];
  return html`<dl class="keys">${keys.map(([key, text]) => html`<div><dt><kbd>${key}</kbd></dt><dd>${text}</dd></div>`)}</dl>`;
}
