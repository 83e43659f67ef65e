// A cluster whose clock, snapshots, forks and faults a test controls.
import { randomUUID } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from './connection.js';
import { ApiError, NotSettled } from './errors.js';

/** The snapshot that each server has: the cluster as it started. */
const START = 'start';

const UNITS = { h: 3_600_000, m: 60_000, s: 1000, ms: 1, us: 1e-3, 'µs': 1e-3, ns: 1e-6 };
const PART = /(\d+(?:\.\d*)?|\.\d+)(ms|us|µs|ns|h|m|s)/g;

/** Go's text of a duration; a number is milliseconds. */
const durationText = (duration) => (typeof duration === 'number' ? `${Math.round(duration)}ms` : duration);

/** Milliseconds. */
function milliseconds(duration) {
  if (typeof duration === 'number') return duration;
  const parts = [...duration.matchAll(PART)];
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== duration) {
    throw new TypeError(`\`${duration}\` is not a duration such as \`24h\` or \`1m30s\``);
  }
  return parts.reduce((sum, [, number, unit]) => sum + Number(number) * UNITS[unit], 0);
}

const named = (snapshot) => (typeof snapshot === 'object' ? snapshot?.name : snapshot);

function reference(about) {
  if (typeof about === 'string') return about;
  if (!about.kind) throw new TypeError('the object has no kind: write `KIND/NAMESPACE/NAME`, such as `pod/default/web-1`');
  const { namespace, name } = about.metadata;
  return [about.kind.toLowerCase(), namespace, name].filter(Boolean).join('/');
}

export class Cluster {
  #connection;
  #start = START;

  constructor(connection, kubeconfig) {
    this.#connection = connection;
    this.kubeconfig = kubeconfig;
    this.clock = new Clock(connection);
  }

  get server() { return this.#connection.server; }

  info() { return this.#connection.json('GET', ''); }

  /** Makes the state in which each test starts: the nodes are Ready. Only stepped time starts with that. */
  async prepare() {
    if ((await this.info()).time === 'stepped') return;
    await this.settle();
    this.#start = (await this.snapshot('ready')).name;
  }

  async settle({ quiet, within } = {}) {
    const asked = { quiet: durationText(quiet), within: durationText(within) };
    const answer = await this.#connection.json('POST', '/settle', asked);
    if (!answer.settled) throw new NotSettled(answer.lastChange, answer.pending ?? []);
    return { revision: answer.revision, now: new Date(answer.now) };
  }

  async until(holds, within = '30s') {
    for (const end = Date.now() + milliseconds(within); ; await sleep(20)) {
      const found = await holds();
      if (found) return found;
      if (Date.now() > end) {
        const last = JSON.stringify(found);
        throw new Error(`not within ${durationText(within)} of real time; the last call gave ${last}`);
      }
    }
  }

  async fault(what, when, more = {}) {
    const answer = await this.#connection.json('POST', '/faults', { ...more, do: what, when });
    return new Fault(this.#connection, answer.faults[0].id);
  }

  async faults() { return (await this.#connection.json('GET', '/faults')).faults; }

  snapshot(name) { return this.#connection.json('PUT', `/snapshots/${encodeURIComponent(name)}`); }

  async snapshots() { return (await this.#connection.json('GET', '/snapshots')).snapshots; }

  async reset(snapshot) {
    const answer = await this.#connection.json('POST', '/reset', { snapshot: named(snapshot) ?? this.#start });
    return answer.revision;
  }

  async startOver() {
    for (const { name } of (await this.#connection.json('GET', '/forks')).forks) {
      await this.#connection.json('DELETE', `/forks/${encodeURIComponent(name)}`);
    }
    for (const { name } of await this.snapshots()) {
      if (name === START || name === this.#start) continue;
      await this.#connection.json('DELETE', `/snapshots/${encodeURIComponent(name)}`);
    }
    await this.reset();
  }

  async fork({ snapshot, revision } = {}) {
    const answer = await this.#connection.json('POST', '/forks', { snapshot: named(snapshot), revision });
    // In the folder of the server, which is removed when the server ends.
    const kubeconfig = join(dirname(this.kubeconfig), `kubeconfig-${randomUUID()}`);
    writeFileSync(kubeconfig, answer.kubeconfig, { mode: 0o600 });
    return new Fork(this.#connection, answer, kubeconfig);
  }

  why(about) {
    return this.#connection.text('GET', `/why?about=${encodeURIComponent(reference(about))}`);
  }

  async check(...claims) {
    const [only] = claims;
    const isScenario = claims.length === 1 && (typeof only === 'string' ? /^kind:/m.test(only) : 'kind' in only);
    const eventually = claims.map((claim) => (typeof claim === 'string' ? { name: claim, cel: claim } : claim));
    const spec = { eventually, steps: [] };
    const made = { apiVersion: 'coracle.dev/v1alpha1', kind: 'Scenario', metadata: { name: 'check' }, spec };
    return this.#connection.json('POST', '/check', isScenario ? only : made);
  }

  async events() {
    const lines = (await this.#connection.text('GET', '/events')).split('\n');
    return lines.filter(Boolean).map((line) => JSON.parse(line));
  }

  async report(path) {
    const page = await this.#connection.text('GET', '/report');
    mkdirSync(dirname(resolve(path)), { recursive: true });
    writeFileSync(path, page);
    return resolve(path);
  }

  async reported(name, run, folder = 'coracle-reports') {
    try {
      return await run();
    } catch (error) {
      const path = join(folder, `${name.replace(/[^A-Za-z0-9.-]+/g, '_').slice(0, 150)}.html`);
      const written = await this.report(path).then(
        (page) => `the page of the run: ${page}`, (problem) => `there is no page of the run: ${problem.message}`);
      if (error instanceof Error) {
        error.message += `\n${written}`;
        error.stack += `\n${written}`;
      }
      throw error;
    }
  }
}

class Clock {
  #connection;

  constructor(connection) { this.#connection = connection; }

  async now() { return new Date((await this.#connection.json('GET', '/clock')).now); }

  async advance(duration) {
    const answer = await this.#connection.json('POST', '/clock/advance', { duration: durationText(duration) });
    return new Date(answer.now);
  }

  async until(object, { within = '1h', absent = false } = {}) {
    const asked = { until: { object, absent }, within: durationText(within) };
    return milliseconds((await this.#connection.json('POST', '/clock/advance', asked)).advanced);
  }
}

class Fault {
  #connection;

  constructor(connection, id) {
    this.#connection = connection;
    this.id = id;
  }

  async status() { return (await this.#connection.json('GET', `/faults/${this.id}`)).faults[0]; }

  async struck() { return (await this.status()).struck; }

  async remove() { return (await this.#connection.json('DELETE', `/faults/${this.id}`)).faults[0]; }

  async [Symbol.asyncDispose]() { await unlessGone(this.remove()); }
}

class Fork extends Cluster {
  #parent;

  constructor(parent, answer, kubeconfig) {
    super(new Connection(answer.kubeconfig), kubeconfig);
    this.name = answer.name;
    this.revision = answer.revision;
    this.#parent = parent;
  }

  async stop() {
    rmSync(this.kubeconfig, { force: true });
    await unlessGone(this.#parent.json('DELETE', `/forks/${encodeURIComponent(this.name)}`));
  }

  [Symbol.asyncDispose]() { return this.stop(); }
}

/** A fault or fork that a reset, or another call, has removed before is no error. */
async function unlessGone(removal) {
  try {
    await removal;
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 404) throw error;
  }
}
