// A lesson: a question to guess at while the future is hidden, then captions, each of which moves the cursor to its event; and the run in which it is otherwise.

import { html } from "./html.js";
import { guessingOf } from "./guess.js";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { placed } from "./place.js";
import { clock, modelOf } from "./run.js";

const CONTRAST = "&run=contrast";
const LETTERS = "abcd";

const isLinkedToContrast = () => location.hash.includes(CONTRAST);

/** What of a run may be seen before a guess: what comes up to the first event that a caption is about. */
function blindOf(run, lesson) {
  const places = lesson.captions.map((caption) => run.place(caption.entry)).filter((i) => i >= 0);
  const upTo = Math.min(run.count - 1, ...places), last = run.count - 1;
  const summary = { ...run.summary, outcome: "not shown yet", checks: [], failure: undefined, nanos: run.time(upTo), revision: run.newest[upTo], entries: upTo + 1 };
  const blind = modelOf({ ...run.data, entries: run.entries.slice(0, upTo + 1), summary });
  // The axes keep their lengths, so that the picture stays where it is when the rest is uncovered.
  blind.ahead = Object.fromEntries(Object.entries(run.axes).map(([name, axis]) => [name, axis[last]]));
  return blind;
}

/** The page of a lesson, which has two runs: `view` draws the one or the other. */
export function Taught({ run, view }) {
  const contrast = useMemo(() => modelOf(run.data.contrast), [run]);
  const { lesson } = run.data, blind = useMemo(() => blindOf(run, lesson), [run]);
  const [isContrast, setContrast] = useState(isLinkedToContrast);
  const [guess, setGuess] = useState(-1), [pointed, setPointed] = useState([]);
  const [steps, setSteps] = useState({ run: -1, contrast: -1 });
  useEffect(() => {
    const follow = () => setContrast(isLinkedToContrast());
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  const which = isContrast ? "contrast" : "run", captions = isContrast ? lesson.contrast.captions : lesson.captions;
  const isGuessing = guess < 0 && !isContrast, shown = isContrast ? contrast : isGuessing ? blind : run;
  const captioned = useMemo(() => (isGuessing ? [] : captions.map((caption) => shown.place(caption.entry)).filter((i) => i >= 0)), [captions, isGuessing]);
  const taught = {
    ...lesson, captions, isContrast, isGuessing, guess, pointed, captioned, at: steps[which],
    flag: guess < 0 || isContrast ? undefined : { at: blind.count - 1, ...placeOf(run, lesson.answers[guess], blind.count - 1), isRight: lesson.answers[guess].right, text: `your guess: ${LETTERS[guess]} ${lesson.answers[guess].right ? "✓" : "✗"}` },
    point: (places) => setPointed(places),
    guessed: (place) => guess < 0 && place < lesson.answers.length && setGuess(place),
    go: (to, select, of) => {
      if (to < -1 || to >= captions.length || isGuessing) return;
      setSteps({ ...steps, [which]: to });
      if (to >= 0) select(Math.max(0, of.place(captions[to].entry)));
    },
    cross: () => {
      const there = isContrast ? lesson.captions[Math.max(0, steps.run)] : lesson.contrast.captions[Math.max(0, steps.contrast)];
      history.replaceState(null, "", placed(`i=${there.entry}${isContrast ? "" : CONTRAST}`));
      setContrast(!isContrast);
    },
  };
  taught.guessing = guessingOf(taught);
  return html`<${view} key=${which} run=${shown} mark=${isContrast ? CONTRAST : ""} lesson=${taught} />`;
}

/** Where an answer is drawn: at its component, then when it would have acted. */
function placeOf(run, { place }, asked) {
  if (!place) return {};
  return { component: place.component, then: Math.max(asked, run.place(place.entry)) };
}

/** The keys in addition to those of the page: guess, next, back, to the contrast. */
export function lessonKeys(lesson, select, run) {
  const go = (step) => () => lesson.go(lesson.at + step, select, run);
  const guesses = lesson.isGuessing ? Object.fromEntries([...LETTERS].slice(0, lesson.answers.length).map((letter, place) => [letter, () => lesson.guessed(place)])) : {};
  return { ...guesses, j: go(1), k: go(-1), x: () => { if (!lesson.isGuessing) lesson.cross(); } };
}

/** How a lesson is played: its captions in their order, each for as long as it takes to read. */
export function tourThrough(lesson, run, cursor, select) {
  const { captioned, captions, at } = lesson, next = captions[at + 1], text = captions[at]?.text ?? "";
  return {
    captioned,
    letters: at >= 0 && run.place(captions[at].entry) === cursor ? text.length : 0,
    advance: (then) => {
      if (lesson.isGuessing || !next || run.place(next.entry) > then) return false;
      lesson.go(at + 1, select, run);
      return true;
    },
  };
}

/** The story of a lesson: the question, then one caption at a time; what was said before is a list. */
export function Lesson({ lesson, run, cursor, select }) {
  const next = useRef();
  const { at, captions, guess, isContrast, isGuessing } = lesson, isOver = at === captions.length - 1;
  useLayoutEffect(() => { if (!isGuessing) next.current?.focus({ preventScroll: true }); }, [isGuessing, isContrast]);
  useLayoutEffect(() => { document.querySelector(".answers .pointed")?.focus({ preventScroll: true }); }, [lesson.pointed]);
  // What the page lies in may wait for the end of the lesson, as the site of `coracle learn` does.
  useEffect(() => { if (isOver && !isContrast) dispatchEvent(new Event("coracle-lesson-end")); }, [isOver, isContrast]);
  if (isGuessing) {
    return html`<p class="lead">${marked(lesson.question)}</p>
      <ol class="answers">${lesson.answers.map(({ text }, place) => html`<li><button class=${lesson.pointed.includes(place) ? "pointed" : ""} onClick=${() => lesson.guessed(place)}><kbd>${LETTERS[place]}</kbd> ${marked(text)}</button></li>`)}</ol>
      <p class="quiet">Guess with <kbd>a</kbd> to <kbd>${LETTERS[lesson.answers.length - 1]}</kbd>${lesson.guessing ? ", or click on a component in the map or in the lanes that has a dashed frame" : ""}. Until then the picture ends at the question.</p>
      <p class="live" role="status">${lesson.pointed.length ? `${lesson.pointed.length} answers name this component: choose one of them.` : ""}</p>`;
  }
  const caption = captions[at], i = caption ? run.place(caption.entry) : -1;
  return html`
    ${caption ? html`<p class="meta"><b>${isContrast ? "Contrast" : "Lesson"} ${at + 1} of ${captions.length}</b> #${caption.entry} · ${clock(run.time(i))} · <bdi>${run.actor(i)}</bdi></p>
      <p class=${`caption${i === cursor ? "" : " away"}`}>${marked(caption.text)}</p>`
    : isContrast ? html`<p class="lead"><b>The contrast:</b> ${lesson.contrast.title}.</p><${Refuted} lesson=${lesson} />` : html`<${Answered} lesson=${lesson} />`}
    <p class="live" role="status">${caption ? caption.text : ""}</p>
    <div class="bar"><button class="main" ref=${next} aria-disabled=${isOver} onClick=${() => lesson.go(at + 1, select, run)}>${isOver ? "this was the last one" : at < 0 ? "see what happened" : `next (${at + 2} of ${captions.length})`}</button>
      <button aria-disabled=${at < 0} onClick=${() => lesson.go(at - 1, select, run)}>back</button>
      <button class=${`cross${isOver ? " main" : ""}`} onClick=${lesson.cross}>${isContrast ? "to the lesson's run" : "to the contrast"}</button>
      ${at >= 0 ? html`<${Pop} title="so far"><ol class="captions">${captions.slice(0, at + 1).map((one, place) => html`<li class=${place === at ? "current" : ""} data-entry=${one.entry}><button aria-current=${place === at ? "step" : undefined} onClick=${() => lesson.go(place, select, run)}>${marked(one.text)}</button></li>`)}</ol><//>
        <${Pop} title=${isContrast ? "what is false here" : `your guess: ${guess < 0 ? "none" : `${LETTERS[guess]} ${lesson.answers[guess].right ? "✓" : "✗"}`}`}>${isContrast ? html`<${Refuted} lesson=${lesson} />` : html`<p>${marked(lesson.question)}</p>${guess < 0 ? "" : html`<${Answered} lesson=${lesson} />`}`}<//>` : ""}
      ${isOver && !isContrast && lesson.note ? html`<${Pop} title="more"><p>${marked(lesson.note)}</p><//>` : ""}
      <span class="quiet keysline"><kbd>j</kbd> next, <kbd>k</kbd> back, <kbd>x</kbd> the other run</span></div>`;
}

/** What folds open over the picture. */
const Pop = ({ title, children }) => html`<details class="pop"><summary>${title}</summary><div>${children}</div></details>`;

/** A text in which what stands between backquotes is code. */
const marked = (text) => text.split("`").map((part, place) => (place % 2 ? html`<code>${part}</code>` : part));

const Refuted = ({ lesson }) => html`<ul class="refuted">${lesson.contrast.refuted.map(({ text, instead }) => html`<li><b>✗ False in this run:</b> ${marked(text)} <b>Instead:</b> ${marked(instead)}</li>`)}</ul>`;

function Answered({ lesson }) {
  const { answers, guess } = lesson;
  return html`<ol class="answers">${answers.map(({ text, right, why }, place) => html`<li class=${right ? "held" : place === guess ? "broke" : ""}>
    <b>${right ? "✓" : place === guess ? "✗" : "·"} ${LETTERS[place]}</b> ${marked(text)} ${place === guess ? html`<i>your guess</i>` : ""}${right || place === guess ? html` <span class="quiet">${marked(why)}</span>` : ""}</li>`)}</ol>`;
}
