// Finds the program `coracle`, and checks that it runs here.
import { spawnSync } from 'node:child_process';
import { accessSync, closeSync, constants, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, join } from 'node:path';
import { BinaryError } from './errors.js';

export const VERSION = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version;

/** The machine of an ELF program, as Node names architectures. */
const MACHINES = { 62: 'x64', 183: 'arm64' };

const isFile = (path) => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;

/** The path of the program: CORACLE_BIN, the one of the platform package, or the one on PATH; checked. */
export function find(environment = process.env, carried = carriedBinary()) {
  const named = environment.CORACLE_BIN;
  if (named) {
    if (isFile(named)) return checked(named);
    throw new BinaryError(
      `CORACLE_BIN names ${named}, which is not a file: set it to the path of the program \`coracle\``);
  }
  if (carried && isFile(carried)) return checked(carried);
  const folders = (environment.PATH ?? '').split(delimiter).filter(Boolean);
  const onPath = folders.map((folder) => join(folder, 'coracle')).find(isFile);
  if (onPath) return checked(onPath);
  const carrier = `@coracle/${process.platform}-${process.arch}`;
  throw new BinaryError(
    `the program \`coracle\` is missing: install ${carrier}, put it on PATH, or set CORACLE_BIN to its path`);
}

/** The path of the program in the platform package; `undefined` if the package is not installed. */
function carriedBinary() {
  try {
    return createRequire(import.meta.url).resolve(`@coracle/${process.platform}-${process.arch}/bin/coracle`);
  } catch {
    return undefined;
  }
}

/** This path, if the program runs here and has the version of this package. */
export function checked(path) {
  try {
    accessSync(path, constants.X_OK);
  } catch {
    throw new BinaryError(`${path} is not executable: run \`chmod +x ${path}\``);
  }
  if (!isForThisMachine(path)) {
    const machine = `${process.platform} ${process.arch}`;
    throw new BinaryError(`${path} is not a program for this machine (${machine}): use the build for it`);
  }
  const ran = spawnSync(path, ['--version'], { encoding: 'utf8', timeout: 30_000 });
  if (ran.error) throw new BinaryError(`${path} cannot be started (${ran.error.code}): check the file`);
  const needs = [...ran.stderr.matchAll(/GLIBC_([\d.]+)' not found/g)].map((found) => found[1]);
  if (needs.length > 0) {
    const newest = needs.sort((a, b) => a.localeCompare(b, 'en', { numeric: true })).at(-1);
    const has = process.report.getReport().header.glibcVersionRuntime ?? 'another C library';
    throw new BinaryError(`${path} needs glibc ${newest}, and this machine has ${has}: `
      + 'use a newer system or image, or a build for its glibc');
  }
  const found = /^coracle(?:-\S+)? ((\d+\.\d+)\S*)$/.exec(ran.stdout.trim());
  if (ran.status !== 0 || !found) {
    const said = (ran.stderr || ran.stdout).trim().split('\n').at(-1) || `exit code ${ran.status}`;
    throw new BinaryError(`${path} is not the program \`coracle\` (${said}): set CORACLE_BIN to its path`);
  }
  if (found[2] !== VERSION.split('.', 2).join('.')) {
    throw new BinaryError(
      `${path} has version ${found[1]}, and this package needs ${VERSION}: install the same version of both`);
  }
  return path;
}

/** A script, or on Linux an ELF program of this architecture. `execvp` would give anything else to a shell. */
function isForThisMachine(path) {
  const head = Buffer.alloc(20);
  const file = openSync(path, 'r');
  readSync(file, head);
  closeSync(file);
  if (head.toString('latin1', 0, 2) === '#!' || process.platform !== 'linux') return true;
  return head.toString('latin1', 0, 4) === '\x7fELF' && MACHINES[head.readUInt16LE(18)] === process.arch;
}
