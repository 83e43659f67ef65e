// Packs the npm packages: node pack.js OUT OS-ARCH=BINARY... [--licences=FILE]. @coracle/testing has the library, and an
// optional dependency @coracle/OS-ARCH for each program, which has the program, the licence of Coracle and FILE.
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const [out, ...programs] = process.argv.slice(2).filter((argument) => !argument.startsWith('--licences='));
const licences = process.argv.find((argument) => argument.startsWith('--licences='))?.slice('--licences='.length);
const carriers = programs.map((argument) => /^((linux|darwin)-(x64|arm64))=(.+)$/.exec(argument));
const isFile = (path) => statSync(path, { throwIfNoEntry: false })?.isFile();
if (carriers.length === 0 || !carriers.every((carrier) => carrier && isFile(carrier[4])) || (licences && !isFile(licences))) {
  console.error('usage: node pack.js OUT OS-ARCH=BINARY... [--licences=FILE], such as dist linux-x64=../target/release/coracle');
  process.exit(2);
}
const here = dirname(fileURLToPath(import.meta.url));
const manifest = JSON.parse(readFileSync(join(here, 'package.json')));
const work = mkdtempSync(join(tmpdir(), 'coracle-pack-'));
mkdirSync(resolve(out), { recursive: true });

function pack(folder, written) {
  cpSync(join(here, '..', 'LICENSE'), join(folder, 'LICENSE'));
  writeFileSync(join(folder, 'package.json'), JSON.stringify(written, null, 2));
  execFileSync('npm', ['pack', '--pack-destination', resolve(out)], { cwd: folder, stdio: 'inherit' });
}

try {
  for (const [, platform, os, cpu, binary] of carriers) {
    const folder = join(work, platform);
    mkdirSync(join(folder, 'bin'), { recursive: true });
    cpSync(binary, join(folder, 'bin', 'coracle'), { dereference: true });
    chmodSync(join(folder, 'bin', 'coracle'), 0o755);
    if (licences) cpSync(licences, join(folder, 'THIRD-PARTY-LICENSES'));
    const description = `The program of ${manifest.name} for ${os} on ${cpu}`;
    const files = ['bin', 'THIRD-PARTY-LICENSES'];
    const { version, license } = manifest;
    pack(folder, { name: `@coracle/${platform}`, version, description, license, os: [os], cpu: [cpu], preferUnplugged: true, files });
  }

  const library = join(work, 'testing');
  // supervise.sh is a link, and npm packs no links.
  for (const name of ['lib', 'README.md']) cpSync(join(here, name), join(library, name), { recursive: true, dereference: true });
  const { scripts, devDependencies, ...published } = manifest;
  const optionalDependencies = Object.fromEntries(carriers.map(([, platform]) => [`@coracle/${platform}`, manifest.version]));
  pack(library, { ...published, optionalDependencies });
} finally {
  rmSync(work, { recursive: true, force: true });
}
