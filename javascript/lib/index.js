// Coracle, the Kubernetes control plane in one program, for tests in JavaScript.
//
//   test --start()--> StartedCluster --HTTPS, /coracle/v1--> coracle up, which ends with this process
//
// Start at `start`. lib/index.d.ts describes each call.
import { spawn } from 'node:child_process';
import { closeSync, existsSync, fstatSync, mkdtempSync, openSync, readFileSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { find, VERSION } from './binary.js';
import { Cluster } from './cluster.js';
import { Connection } from './connection.js';
import { StartError } from './errors.js';

export { VERSION };
export { ApiError, BinaryError, CoracleError, NotMet, NotSettled, StartError } from './errors.js';

const SUPERVISE = fileURLToPath(new URL('./supervise.sh', import.meta.url));
const STARTS_WITHIN = 60_000;
const STOPS_WITHIN = 15_000;
const OPTIONS = new Set(['nodes', 'kubernetes', 'time', 'seed', 'events', 'port', 'args']);

export async function start(options = {}) {
  const unknown = Object.keys(options).find((name) => !OPTIONS.has(name));
  if (unknown) throw new TypeError(`\`${unknown}\` is not an option of start: use ${[...OPTIONS].join(', ')}`);
  const server = new Server(find(), options);
  try {
    const kubeconfig = await server.kubeconfig();
    const connection = new Connection(readFileSync(kubeconfig, 'utf8'), () => server.whyEnded());
    const cluster = new StartedCluster(connection, kubeconfig, server);
    await cluster.prepare();
    return cluster;
  } catch (error) {
    await server.stop();
    throw error;
  }
}

class StartedCluster extends Cluster {
  #server;

  constructor(connection, kubeconfig, server) {
    super(connection, kubeconfig);
    this.#server = server;
  }

  get isRunning() { return this.#server.isRunning; }

  log() { return this.#server.log(); }

  stop() { return this.#server.stop(); }

  [Symbol.asyncDispose]() { return this.stop(); }
}

/** The process `coracle up`, with a folder of its own. */
class Server {
  #folder = mkdtempSync(join(tmpdir(), 'coracle-'));
  #log;
  #lastLog = '';
  #process;
  #ended;
  #port;

  constructor(program, { nodes, kubernetes, time = 'stepped', seed, events = true, port = 0, args = [] }) {
    this.#port = port;
    this.#log = openSync(join(this.#folder, 'log'), 'w+');
    const asked = ['up', '--ephemeral', '--state-dir', join(this.#folder, 'state'), '--time', time];
    asked.push('--secure-port', String(port));
    for (const [name, value] of Object.entries({ nodes, kubernetes, seed })) {
      if (value !== undefined) asked.push(`--${name}`, String(value));
    }
    if (events) asked.push('--events', join(this.#folder, 'events.jsonl'));
    const command = [SUPERVISE, this.#folder, program, ...asked, ...args];
    // A session of its own, so that Ctrl-C ends the tests first.
    this.#process = spawn('/bin/sh', command, { stdio: ['pipe', this.#log, this.#log], detached: true });
    this.#ended = new Promise((resolve) => this.#process.once('exit', resolve));
    // A test that does not call `stop` ends all the same, and the server with it.
    this.#process.unref();
    this.#process.stdin.unref();
  }

  get isRunning() { return this.#process.exitCode === null && this.#process.signalCode === null; }

  log() {
    if (this.#log !== undefined) {
      const text = Buffer.alloc(fstatSync(this.#log).size);
      readSync(this.#log, text, 0, text.length, 0);
      this.#lastLog = text.toString();
    }
    return this.#lastLog;
  }

  /** The last message of a server that has ended, or an empty text. */
  whyEnded() {
    if (this.isRunning) return '';
    if (this.#log === undefined) return 'it was stopped';
    const lines = this.log().split('\n').filter((line) => /^(coracle|error): /.test(line));
    const message = lines.at(-1)?.replace(/^\w+: /, '') ?? `exit code ${this.#process.exitCode}`;
    if (!message.includes('Address already in use')) return message;
    return `port ${this.#port} is in use: choose another port, or 0 for a free one`;
  }

  async kubeconfig() {
    const path = join(this.#folder, 'state', 'kubeconfig');
    for (const end = Date.now() + STARTS_WITHIN; !existsSync(path); await sleep(10)) {
      if (!this.isRunning) throw new StartError(`the server did not start: ${this.whyEnded()}`);
      if (Date.now() > end) throw new StartError(`the server was not ready within 60 seconds: ${this.log().trim()}`);
    }
    return path;
  }

  async stop() {
    if (this.#log === undefined) return;
    this.#process.stdin.end();
    const late = new AbortController();
    const waited = sleep(STOPS_WITHIN, 'late', { signal: late.signal }).catch(() => {});
    if (await Promise.race([this.#ended, waited]) === 'late') process.kill(-this.#process.pid, 'SIGKILL');
    late.abort();
    this.log();
    closeSync(this.#log);
    this.#log = undefined;
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
