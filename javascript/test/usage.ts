// The types fit a program, and refuse a wrong one. `npm run types` compiles this file; it is not run.
import { type Cluster, NotMet, start } from '@coracle/testing';

export async function use(): Promise<number> {
  await using cluster = await start({ nodes: 2, kubernetes: '1.36', time: 'scaled=60' });
  const now: Date = await cluster.clock.advance('24h');
  const advanced: number = await cluster.clock.until({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' } }, { within: 5000 });
  await using fault = await cluster.fault({ lose: 'answer' }, { by: 'my-operator' }, { for: '3s' });
  const fork: Cluster = await cluster.fork({ snapshot: await cluster.snapshot('kept') });
  const found: string = await fork.until(async () => 'x');
  // @ts-expect-error: there is no such time
  await start({ time: 'fast' });
  // @ts-expect-error: an object is expected
  await cluster.clock.until('pod/default/web');
  try {
    await cluster.settle({ within: '1m' });
  } catch (error) {
    if (error instanceof NotMet) return error.code;
  }
  return now.getTime() + advanced + (await fault.struck()) + found.length;
}
