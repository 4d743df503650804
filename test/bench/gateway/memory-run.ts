import { mixScript } from "./mix.ts";
import { startAnvilAndGateway } from "./anvil.ts";
import { withLowestMemory } from "./lowest-memory.ts";
import type { Surroundings } from "./surroundings.ts";
import { print, type Figure, type Row } from "./table.ts";
import { drive } from "./wrk.ts";

/** Requests of one window; the lowest memory of each window is compared with that of the first after the first million. */
const windowRequests = 1_000_000;

/**
 * Sends the mix until there were so many requests. The resident memory of a process that collects garbage goes up and down, so that
 * windows are compared by the lowest that each of them saw.
 */
export async function measureMemoryRun(requests: number, surroundings: Surroundings): Promise<readonly Figure[]> {
  await using both = await startAnvilAndGateway();
  const { url, pid } = both.gateway;
  const windows: number[] = [];
  let sent = 0;
  let refused = 0;
  let broken = 0;
  while (sent < requests) {
    const { result, lowestMiB } = await withLowestMemory(pid, () =>
      drive({ url, pid, script: mixScript, ...surroundings }),
    );
    const window = Math.floor(sent / windowRequests);
    windows[window] = Math.min(windows[window] ?? Number.POSITIVE_INFINITY, lowestMiB);
    sent += result.requests;
    refused += result.refused;
    broken += result.failed - result.refused;
    const shown: Row = { sent, "lowest MiB": lowestMiB, "req/s": result.requestsPerSecond, refused, broken };
    process.stdout.write(`  ${JSON.stringify(shown)}\n`);
  }
  const [, base = Number.NaN] = windows;
  const growth = ((windows.at(-1) ?? Number.NaN) / base - 1) * 100;
  const what = `memory over ${sent} requests of the mix, by its lowest in each million`;
  print(what, [{ "MiB by million": windows.join(" "), refused, broken }]);
  return [{ what: `${what}: growth from the first million on, %`, figure: growth, target: { most: 5 } }];
}
