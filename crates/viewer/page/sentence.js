// What an entry says: the same table and the same rules as the crate's `sentence`.

import { RV } from "./run.js";

/** What an entry says, as a sentence. */
export function sentence(run, i) {
  const template = run.sentences[run.stageOf(i)] || [["", run.stageOf(i)]];
  const word = (name) => wordOf(run, i, name);
  const [, text] = template.find(([condition]) => holds(condition, word)) || ["", ""];
  let said = "", rest = text;
  for (let open = rest.indexOf("["); open >= 0; open = rest.indexOf("[")) {
    const close = rest.indexOf("]", open);
    said += words(rest.slice(0, open), word)[0];
    const [optional, isWhole] = words(rest.slice(open + 1, close), word);
    if (isWhole) said += optional;
    rest = rest.slice(close + 1);
  }
  return said + words(rest, word)[0];
}

function words(text, word) {
  let isWhole = true;
  const said = text.replace(/\{([^}]*)\}/g, (_, name) => {
    const value = word(name);
    isWhole = isWhole && value !== "";
    return value;
  });
  return [said, isWhole];
}

function holds(condition, word) {
  const [name, ...value] = condition.split("=");
  if (value.length === 0) return condition === "" || word(condition) !== "";
  return word(name) === value.join("=");
}

function wordOf(run, i, name) {
  if (name === "k") return run.subject(i);
  if (name === "rv") return String(run.entries[i][RV] ?? 0);
  const value = run.word(i, name);
  return value === undefined ? "" : plain(value);
}

function plain(value) {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map(plain).join(", ");
  if (value && typeof value === "object") {
    return Object.entries(value).map(([name, inner]) => `${name} at ${plain(inner)}`).join(", ");
  }
  return JSON.stringify(value);
}
