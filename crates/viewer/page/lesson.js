// A lesson: a question to guess at, then captions, each of which moves the cursor to the entry that it is about; and the run in which it is otherwise.

import { html } from "./html.js";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { clock, modelOf } from "./run.js";

const CONTRAST = "&run=contrast";
const LETTERS = "abcd";

const isLinkedToContrast = () => location.hash.includes(CONTRAST);

/** The page of a lesson, which has two runs: `view` draws the one or the other. */
export function Taught({ run, view }) {
  const contrast = useMemo(() => modelOf(run.data.contrast), [run]);
  const [isContrast, setContrast] = useState(isLinkedToContrast);
  const [guess, setGuess] = useState(-1);
  const [steps, setSteps] = useState({ run: -1, contrast: -1 });
  useEffect(() => {
    const follow = () => setContrast(isLinkedToContrast());
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  const { lesson } = run.data, which = isContrast ? "contrast" : "run", captions = isContrast ? lesson.contrast.captions : lesson.captions;
  const taught = {
    ...lesson, captions, isContrast, guess, at: steps[which],
    guessed: (place) => guess < 0 && place < lesson.answers.length && setGuess(place),
    go: (to, select, shown) => {
      if (to < 0 || to >= captions.length || (guess < 0 && !isContrast)) return;
      setSteps({ ...steps, [which]: to });
      select(Math.max(0, shown.place(captions[to].entry)));
    },
    cross: () => {
      const there = isContrast ? lesson.captions[Math.max(0, steps.run)] : lesson.contrast.captions[0];
      history.replaceState(null, "", `#i=${there.entry}${isContrast ? "" : CONTRAST}`);
      if (!isContrast) setSteps({ ...steps, contrast: Math.max(0, steps.contrast) });
      setContrast(!isContrast);
    },
  };
  return html`<${view} key=${which} run=${isContrast ? contrast : run} mark=${isContrast ? CONTRAST : ""} lesson=${taught} />`;
}

/** The keys in addition to those of the page: guess, next, back, to the contrast. */
export function lessonKeys(lesson, select, run, show) {
  const go = (step) => () => { show("lesson"); lesson.go(lesson.at + step, select, run); };
  const guesses = lesson.guess < 0 && !lesson.isContrast ? Object.fromEntries([...LETTERS].slice(0, lesson.answers.length).map((letter, place) => [letter, () => { show("lesson"); lesson.guessed(place); }])) : {};
  return { ...guesses, j: go(1), k: go(-1), x: () => { if (lesson.guess >= 0 || lesson.isContrast) lesson.cross(); } };
}

export function Lesson({ lesson, run, cursor, select }) {
  const next = useRef();
  const { at, captions, guess, isContrast } = lesson, isOver = at === captions.length - 1;
  useLayoutEffect(() => { if (guess >= 0) next.current?.focus({ preventScroll: true }); }, [guess, isContrast]);
  const isGuessing = guess < 0 && !isContrast;
  return html`
    <h2>${lesson.number}. ${marked(lesson.title)}</h2>
    ${isContrast ? html`<p><b>The contrast:</b> ${lesson.contrast.title}.</p>` : html`<p>${marked(lesson.question)}</p>`}
    ${isContrast ? html`<ul class="refuted">${lesson.contrast.refuted.map(({ text, instead }) => html`<li><p><b>✗ False in this run:</b> <s>${marked(text)}</s></p><p>${marked(instead)}</p></li>`)}</ul>` : html`<${Answers} lesson=${lesson} />`}
    ${isGuessing ? "" : html`
      <ol class="captions">${captions.slice(0, at + 1).map((caption, place) => {
        const i = run.place(caption.entry);
        return html`<li class=${i === cursor ? "current" : ""}><button aria-current=${i === cursor ? "step" : undefined} onClick=${() => lesson.go(place, select, run)}>${marked(caption.text)}</button>
          <details><summary>#${caption.entry} · ${clock(run.time(i))}</summary><p>Checked of this run: <code>${caption.claim}</code></p></details></li>`;
      })}</ol>
      <p class="live" role="status">${at < 0 ? "" : captions[at].text}</p>
      <p class="bar"><button ref=${next} aria-disabled=${isOver} onClick=${() => lesson.go(at + 1, select, run)}>${isOver ? "this was the last one" : `next (${at + 2} of ${captions.length})`}</button>
        <button aria-disabled=${at < 1} onClick=${() => lesson.go(at - 1, select, run)}>back</button>
        <button class="cross" onClick=${lesson.cross}>${isContrast ? "to the lesson's run" : "to the contrast"}</button></p>
      ${isOver && !isContrast ? html`<p><b>The contrast:</b> ${lesson.contrast.title}.</p>${lesson.note ? html`<p class="quiet">${marked(lesson.note)}</p>` : ""}` : ""}`}
    <p class="quiet">${isGuessing ? html`Guess with <kbd>a</kbd> to <kbd>${LETTERS[lesson.answers.length - 1]}</kbd>.` : html`<kbd>j</kbd> next, <kbd>k</kbd> back, <kbd>x</kbd> to the other run. Numbers and names are from the run.`}</p>`;
}

/** A text in which what stands between backquotes is code. */
const marked = (text) => text.split("`").map((part, place) => (place % 2 ? html`<code>${part}</code>` : part));

function Answers({ lesson }) {
  const { answers, guess } = lesson;
  if (guess < 0) return html`<ol class="answers">${answers.map(({ text }, place) => html`<li><button onClick=${() => lesson.guessed(place)}><kbd>${LETTERS[place]}</kbd> ${marked(text)}</button></li>`)}</ol>`;
  return html`<ol class="answers">${answers.map(({ text, right, why }, place) => html`<li class=${right ? "held" : place === guess ? "broke" : ""}>
    <b>${right ? "✓" : place === guess ? "✗" : "·"}</b> ${marked(text)} ${place === guess ? html`<i>your guess</i>` : ""}${right || place === guess ? html`<p class="quiet">${marked(why)}</p>` : ""}</li>`)}</ol>`;
}
