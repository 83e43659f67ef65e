// The console: lines that the engine executes, what they print, a history and completion. Everything is text.

import { html } from "../../../viewer/page/html.js";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { detailOf } from "./session.js";

/** So many lines with their output are kept, and so many characters of each output. */
const KEPT = 200, MOST = 100_000;
/** The file of the editor, as lines name it. */
export const FILE = "editor.yaml";

export function Console({ lab, cluster, text }) {
  const { session } = lab, [line, setLine] = useState(""), [at, setAt] = useState(-1), [isBusy, setBusy] = useState(false);
  const input = useRef(), area = useRef(), caret = useRef(null);
  useLayoutEffect(() => { area.current.scrollTop = area.current.scrollHeight; }, [cluster.lines.length, cluster]);
  useEffect(() => {
    if (caret.current === null) return;
    input.current.setSelectionRange(caret.current, caret.current);
    caret.current = null;
  }, [line]);
  const print = (entry) => {
    cluster.lines = [...cluster.lines, entry].slice(-KEPT);
    lab.paint();
  };
  const enter = async () => {
    const typed = line.trim();
    setLine("");
    setAt(-1);
    if (!typed) return;
    if (cluster.history.at(-1) !== typed) cluster.history.push(typed);
    if (typed === "clear") {
      cluster.lines = [];
      return lab.paint();
    }
    setBusy(true);
    try {
      const { stdout = "", stderr = "", code = 0 } = await session.act({ do: "console", line: typed, ...filesOf(typed, text) });
      print({ line: typed, stdout: cut(stdout), stderr: cut(stderr), code });
    } catch (error) {
      print({ line: typed, stdout: "", stderr: cut(detailOf(error).message), code: 1 });
    }
    setBusy(false);
    input.current?.focus();
  };
  const complete = async () => {
    // What is typed may not be drawn yet.
    const { selectionStart: cursor, value: line } = input.current;
    const found = await session.complete(line, cursor).catch(() => null);
    if (!found || found.candidates.length === 0 || input.current?.value !== line) return;
    const { from, candidates } = found, typed = line.slice(from, cursor);
    const shared = candidates.reduce(common), isOne = candidates.length === 1;
    const added = isOne ? `${shared}${/[=/]$/.test(shared) ? "" : " "}` : shared.length > typed.length ? shared : typed;
    caret.current = from + added.length;
    setLine(line.slice(0, from) + added + line.slice(cursor));
    if (!isOne && added === typed) print({ line, stdout: candidates.slice(0, 100).join("  "), stderr: "", code: 0 });
  };
  const browse = (by) => {
    const { history } = cluster, next = at < 0 ? (by < 0 ? history.length - 1 : -1) : at + by;
    if (next < 0 || (at < 0 && by > 0)) return;
    const chosen = next < history.length ? history[next] : "";
    setAt(next < history.length ? next : -1);
    setLine(chosen);
    caret.current = chosen.length;
  };
  const keyed = (event) => {
    if (event.key === "Enter") { event.preventDefault(); enter(); }
    else if (event.key === "ArrowUp") { event.preventDefault(); browse(-1); }
    else if (event.key === "ArrowDown") { event.preventDefault(); browse(1); }
    // An empty line lets the focus go on, so that the keyboard is not caught here.
    else if (event.key === "Tab" && !event.shiftKey && event.currentTarget.value) { event.preventDefault(); complete(); }
    else if (event.key === "l" && event.ctrlKey) { event.preventDefault(); cluster.lines = []; lab.paint(); }
    else if (event.key === "c" && event.ctrlKey && input.current.selectionStart === input.current.selectionEnd) { event.preventDefault(); setLine(""); setAt(-1); }
  };
  return html`<div class="console" onClick=${(event) => { if (event.target === event.currentTarget && !String(getSelection())) input.current.focus(); }}>
    <div class="output" ref=${area} role="log" aria-label="Output" tabindex="0">
      ${cluster.lines.length === 0 ? html`<p class="quiet">Try <code>kubectl get pods -A</code>, or <code>kubectl apply -f ${FILE}</code> for the text of the editor. Tab completes, ↑ repeats.</p>` : ""}
      ${cluster.lines.map((one) => html`<div class="exchange"><p class="typed"><b aria-hidden="true">$</b> <bdi>${one.line}</bdi></p>${one.stdout ? html`<pre><bdi>${one.stdout}</bdi></pre>` : ""}${one.stderr ? html`<pre class="stderr"><bdi>${one.stderr}</bdi></pre>` : ""}${one.code ? html`<p class="code">exit code ${one.code}</p>` : ""}</div>`)}
    </div>
    <label class="prompt"><b aria-hidden="true">$</b><span class="live">A line of the console</span>
      <input ref=${input} value=${line} disabled=${isBusy} placeholder=${isBusy ? "…" : "kubectl get pods"} spellcheck=${false} autocomplete="off" autocapitalize="off" onInput=${(event) => { setLine(event.target.value); setAt(-1); }} onKeyDown=${keyed} /></label>
  </div>`;
}

/** The text of the editor, where a line reads it as a file or as its standard input. */
export function filesOf(line, text) {
  if (/(^|\s)(-f|--filename)[ =]?-(\s|$)/.test(line)) return { stdin: text };
  return line.includes(FILE) ? { files: { [FILE]: text } } : {};
}

const cut = (text) => (text.length <= MOST ? text : `${text.slice(0, MOST)}\n… ${text.length - MOST} more characters`);

function common(one, other) {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length++;
  return one.slice(0, length);
}
