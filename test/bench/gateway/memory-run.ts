import { mixScript } from "./mix.ts";
import { startAnvilAndGateway } from "./anvil.ts";
import type { Surroundings } from "./surroundings.ts";
import { print, verdict, type Row } from "./table.ts";
import { drive, memoryMiB } from "./wrk.ts";

const firstMillion = 1_000_000;

/** Sends the mix until there were so many requests, and compares the gateway's memory with that after the first million. */
export async function memoryRun(requests: number, surroundings: Surroundings): Promise<void> {
  await using both = await startAnvilAndGateway();
  const { url, pid } = both.gateway;
  const rows: Row[] = [];
  let sent = 0;
  let failed = 0;
  let base = 0;
  while (sent < requests) {
    const run = await drive({ url, pid, script: mixScript, ...surroundings });
    sent += run.requests;
    failed += run.failed;
    const now = memoryMiB(pid, "VmRSS");
    if (base === 0 && sent >= firstMillion) base = now;
    const shown = { requests: sent, "resident MiB": now, "req/s": run.requestsPerSecond, failed };
    process.stdout.write(`  ${JSON.stringify(shown)}\n`);
    rows.push(shown);
  }
  const growth = (Number(rows.at(-1)?.["resident MiB"]) / base - 1) * 100;
  print(`memory over ${sent} requests of the mix`, [
    verdict("growth from the first million on, %", growth, { most: 5 }),
  ]);
}
