/** The version of this package, and of the program it needs. */
export const VERSION: string;

/** Go's text of a duration (`24h`, `1m30s`), or a number of milliseconds. */
export type Duration = string | number;

/** What a server starts with. */
export interface Options {
  /** The number of simulated nodes; 2 by default. */
  nodes?: number;
  /** The release of Kubernetes, such as `1.36`; the newest by default. */
  kubernetes?: string;
  /** `stepped`, the default: the clock stands still until it is advanced. */
  time?: 'stepped' | 'real' | `scaled=${number}`;
  /** The seed of names and uids; from the operating system by default. */
  seed?: number;
  /** Keeps the event log, which `why`, `events` and `report` need; true by default. */
  events?: boolean;
  /** The HTTPS port; 0, the default, for a free one. */
  port?: number;
  /** More arguments of `coracle up`. */
  args?: string[];
}

/** A part of an object. */
export interface PartialObject {
  apiVersion?: string;
  kind?: string;
  metadata?: object;
  [field: string]: unknown;
}

export interface Settled { revision: number; now: Date }
export interface Snapshot { name: string; revision: number; at: string }
export interface Claim { name: string; holds: boolean; expected: string; found: string; revision: number }
export interface Checked { holds: boolean; claims: Claim[] }
export interface FaultStatus {
  id: number;
  name: string;
  state: string;
  struck: number;
  /** The revision of the first strike. */
  revision?: number;
  nearMiss?: string;
}

export interface Clock {
  now(): Promise<Date>;
  /** Advances a stepped clock: all timers of the cluster fire in their order. */
  advance(duration: Duration): Promise<Date>;
  /**
   * Advances a stepped clock until an object has all fields of `object`, or with `absent` until there is no such object.
   * Rejects with NotMet. Resolves to the milliseconds that the clock has advanced.
   */
  until(object: PartialObject, options?: { within?: Duration; absent?: boolean }): Promise<number>;
}

/** A fault. It ends with `remove`, with `await using`, or with a reset. */
export interface Fault extends AsyncDisposable {
  readonly id: number;
  status(): Promise<FaultStatus>;
  /** How often the fault has struck. */
  struck(): Promise<number>;
  remove(): Promise<FaultStatus>;
}

export interface Cluster {
  /** The path of a kubeconfig for any client; its user is an administrator. */
  readonly kubeconfig: string;
  /** The address of the API server: https://127.0.0.1:PORT. */
  readonly server: string;
  readonly clock: Clock;
  info(): Promise<{ apiVersion: string; version: string; kubernetes: string; time: string }>;
  /** Waits until nothing moves; a stepped clock advances as far as needed. Rejects with NotSettled. */
  settle(options?: { quiet?: Duration; within?: Duration }): Promise<Settled>;
  /** Calls `holds` until its value is true, in real time, while a stepped clock stands still. */
  until<T>(holds: () => T | Promise<T>, within?: Duration): Promise<NonNullable<T>>;
  /** Causes a fault; `what` and `when` are `do` and `when` of a fault in a scenario, `more` its other fields. */
  fault(what: object, when?: object, more?: object): Promise<Fault>;
  faults(): Promise<FaultStatus[]>;
  /** Keeps the cluster as it is. A snapshot of the same name is replaced. */
  snapshot(name: string): Promise<Snapshot>;
  snapshots(): Promise<Snapshot[]>;
  /** Makes the cluster what a snapshot has; by default as it started. Resolves to the revision. */
  reset(snapshot?: Snapshot | string): Promise<number>;
  /** `reset`, and removes all forks, and the snapshots that tests have kept: for `beforeEach`. */
  startOver(): Promise<void>;
  /** A second cluster that begins as this one is, as a snapshot, or at a revision. */
  fork(from?: { snapshot?: Snapshot | string; revision?: number }): Promise<Fork>;
  /** The chain of causes of an object, as text: `why('pod/default/web-1')`, or the object itself. */
  why(about: string | PartialObject): Promise<string>;
  /** Decides claims: texts in CEL, items of `eventually` in a scenario, or one whole scenario. */
  check(...claims: (string | object)[]): Promise<Checked>;
  /** The event log since the last reset. */
  events(): Promise<object[]>;
  /** Writes the page of the run since the last reset. Resolves to its path. */
  report(path: string): Promise<string>;
  /** Calls `run`. If it fails, writes the page of the run, and adds the path to the message of the error. */
  reported<T>(name: string, run: () => T | Promise<T>, folder?: string): Promise<T>;
}

/** A fork: a cluster of its own until `stop`. */
export interface Fork extends Cluster, AsyncDisposable {
  readonly name: string;
  readonly revision: number;
  stop(): Promise<void>;
}

/** The cluster of a server that this process has started. */
export interface StartedCluster extends Cluster, AsyncDisposable {
  readonly isRunning: boolean;
  /** What the server has written on its standard output and standard error. */
  log(): string;
  /** Stops the server and removes its folder. A second call has no effect. */
  stop(): Promise<void>;
}

/** Starts a server. It ends with `stop`, or when this process ends in any way. */
export function start(options?: Options): Promise<StartedCluster>;

/** Base of all errors of this package. */
export class CoracleError extends Error {}
/** The program is missing, or cannot run here. */
export class BinaryError extends CoracleError {}
/** The server did not start, or has ended. */
export class StartError extends CoracleError {}
/** The control endpoint refused a request with a Status of meta/v1. */
export class ApiError extends CoracleError {
  readonly code: number;
  readonly reason: string;
}
/** `clock.until`: the object did not hold in time. The message has what was found. */
export class NotMet extends ApiError {}
/** `settle`: something still moves. */
export class NotSettled extends CoracleError {
  readonly lastChange?: string;
  readonly pending: string[];
}
