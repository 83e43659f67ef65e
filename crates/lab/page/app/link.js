// Links: a fragment that holds what a page shows, so that another reader sees the same.
//
//   lab=1            the version of the format
//   scenario=NAME    a scenario that is built in, or text=PACKED one that is not; exercise=NAME; lesson=NAME
//   end=1            the scenario ran to its end
//   kubernetes, nodes, seed
//   faults=YAML      faults from the start
//   did=PACKED       what was done since the start, as messages of the lab; on=NAME is the cluster that was shown
//   i, tab           the place, as in every page of a run

const FORMAT = "1";
/** So many bytes a packed part may have. */
const MOST = 4_000_000;
const NAME = /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/;
const RELEASE = /^\d+\.\d+$/;
/** The messages that a link may repeat. */
const ACTS = new Set(["advance", "next", "settle", "request", "apply", "console", "complete", "begin", "step", "fault", "heal", "verdict", "snapshot", "fork", "close"]);

/** Text as a part of a link: compressed, in letters that need no escape. */
export async function packed(text) {
  const bytes = new Uint8Array(await new Response(new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"))).arrayBuffer());
  let letters = "";
  for (let at = 0; at < bytes.length; at += 32_768) letters += String.fromCharCode(...bytes.subarray(at, at + 32_768));
  return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** The text of a part. A part that is damaged, or larger than a page can use, is refused. */
export async function unpackedPart(part) {
  const bytes = Uint8Array.from(atob(part.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const parts = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return new TextDecoder().decode(await new Blob(parts).arrayBuffer());
    size += value.length;
    if (size > MOST) throw new Error("it is too large");
    parts.push(value);
  }
}

/** The parameters of a fragment that are not the place in a run. */
export const withoutPlace = (hash) => hash.replace(/^#/, "").split("&").filter((part) => part && !/^(i|run|tab)=/.test(part)).join("&");

/** The fragment of what a page shows, without its place: `wanted` is as `readLink` returns it. */
export async function linkOf(wanted) {
  const { text, did, ...plain } = wanted;
  const parts = [`lab=${FORMAT}`];
  for (const [name, value] of Object.entries(plain)) {
    if (value !== undefined && value !== null && value !== "") parts.push(`${name}=${encodeURIComponent(value === true ? "1" : value)}`);
  }
  if (text) parts.push(`text=${await packed(text)}`);
  if (did?.length) parts.push(`did=${await packed(JSON.stringify(did))}`);
  return parts.join("&");
}

/** What a fragment wants; null if it is no link of the lab. A link that cannot be opened throws, with the reason. */
export async function readLink(hash) {
  const parts = new Map(withoutPlace(hash).split("&").filter((part) => part).map((part) => {
    const [name, ...value] = part.split("=");
    return [name, value.join("=")];
  }));
  if (!parts.has("lab")) return null;
  const format = parts.get("lab");
  if (format !== FORMAT) throw new Error(`This link has format ${format}, and this page reads format ${FORMAT}. A page of the version of Coracle that made the link opens it.`);
  const wanted = {};
  for (const [name, value] of parts) {
    if (name === "lab") continue;
    const read = READERS[name];
    if (!read) throw new Error(`This link has a part that the page does not know: ${name}.`);
    try {
      wanted[name] = await read(decodeURIComponent(value));
    } catch (error) {
      throw new Error(`The part ${name} of this link cannot be read: ${error.message || "it is damaged"}. The link may have been cut.`);
    }
  }
  const starts = ["scenario", "text", "exercise", "lesson"].filter((name) => wanted[name] !== undefined);
  if (starts.length > 1) throw new Error(`This link names more than one start: ${starts.join(" and ")}.`);
  return wanted;
}

const name = (text) => {
  if (!NAME.test(text)) throw new Error(`${JSON.stringify(text.slice(0, 80))} is no name`);
  return text;
};
const number = (least, most) => (text) => {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < least || value > most) throw new Error(`expected a number from ${least} to ${most}`);
  return value;
};
const READERS = {
  scenario: name, exercise: name, lesson: name, on: name,
  text: unpackedPart, faults: (text) => text,
  end: (text) => text === "1",
  seed: number(0, Number.MAX_SAFE_INTEGER), nodes: number(1, 500),
  kubernetes(text) {
    if (!RELEASE.test(text)) throw new Error("expected a release such as 1.37");
    return text;
  },
  async did(text) {
    const list = JSON.parse(await unpackedPart(text));
    const isAct = (one) => Array.isArray(one) && ACTS.has(one[0]?.do) && Number.isSafeInteger(one[1]) && one[1] > 0;
    if (!Array.isArray(list) || !list.every(isAct)) throw new Error("it is no list of actions");
    return list;
  },
};
