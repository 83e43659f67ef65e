// The part of WASI preview 1 that the module uses: clocks, randomness, and text for the console. There are no files and no sockets.

const OK = 0, NO_SUCH_DESCRIPTOR = 8, NOT_SUPPORTED = 52;
const REALTIME = 0;
/** `crypto.getRandomValues` fills at most so many bytes at once. */
const RANDOM_BYTES = 65_536;
/** So many lines of the module's standard error are kept: the message of a panic. */
const KEPT_LINES = 20;

/** The module has called `proc_exit`, as it does after an abort. */
export class Exit extends Error {
  constructor(code) {
    super(`the module exited with code ${code}`);
    this.code = code;
  }
}

/** The imports of a module. `memory` returns its memory. `say` takes each line that it prints. */
export function wasi(memory, { say = () => {}, random = (bytes) => crypto.getRandomValues(bytes), now = () => Date.now() } = {}) {
  const view = () => new DataView(memory().buffer);
  const decoder = new TextDecoder(), printed = { 1: "", 2: "" }, lines = [];
  const print = (descriptor, text) => {
    const parts = (printed[descriptor] + text).split("\n");
    printed[descriptor] = parts.pop();
    for (const line of parts) {
      say(line, descriptor);
      if (descriptor === 2) lines.push(line);
    }
    lines.splice(0, lines.length - KEPT_LINES);
  };
  const nanoseconds = (clock) => BigInt(Math.round((clock === REALTIME ? now() : performance.now()) * 1e6));
  const imports = {
    clock_res_get(_clock, at) {
      view().setBigUint64(at, 1_000_000n, true);
      return OK;
    },
    clock_time_get(clock, _precision, at) {
      view().setBigUint64(at, nanoseconds(clock), true);
      return OK;
    },
    random_get(at, length) {
      for (let from = at; from < at + length; from += RANDOM_BYTES) {
        random(new Uint8Array(memory().buffer, from, Math.min(RANDOM_BYTES, at + length - from)));
      }
      return OK;
    },
    fd_write(descriptor, vectors, count, writtenAt) {
      if (descriptor !== 1 && descriptor !== 2) return NO_SUCH_DESCRIPTOR;
      let written = 0;
      for (let place = vectors; place < vectors + 8 * count; place += 8) {
        const [from, length] = [view().getUint32(place, true), view().getUint32(place + 4, true)];
        print(descriptor, decoder.decode(new Uint8Array(memory().buffer, from, length)));
        written += length;
      }
      view().setUint32(writtenAt, written, true);
      return OK;
    },
    environ_sizes_get(countAt, bytesAt) {
      view().setUint32(countAt, 0, true);
      view().setUint32(bytesAt, 0, true);
      return OK;
    },
    environ_get: () => OK,
    // There is no folder, so the search for one ends at once.
    fd_prestat_get: () => NO_SUCH_DESCRIPTOR,
    sched_yield: () => OK,
    proc_exit(code) {
      throw new Exit(code);
    },
  };
  return {
    /** The functions that a compiled module imports: what is not above is not supported. */
    of(module) {
      const wanted = WebAssembly.Module.imports(module).filter((one) => one.module === "wasi_snapshot_preview1");
      return Object.fromEntries(wanted.map(({ name }) => [name, imports[name] ?? (() => NOT_SUPPORTED)]));
    },
    /** The last lines of the standard error. */
    lastLines: () => [...lines, printed[2]].filter((line) => line),
  };
}
