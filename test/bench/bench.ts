import { readFileSync } from "node:fs";
import { request } from "undici";
import { startStack, type RunningStack } from "../support/running-stack.ts";

/** One row of output: what was measured, with its unit in the name. */
type Row = Readonly<Record<string, string | number>>;

const requests = 1_000;
const concurrency = 16;

const startedAt = performance.now();
await using stack = await startStack();
const upAfterMs = Math.round(performance.now() - startedAt);

print("Cold start of each part, as the stack printed it", coldStarts(stack));
print("From start to the first paid response", [
  { what: "printed by the stack", ms: Number(/first paid response after (\d+) ms/.exec(stack.output())?.[1]) },
  { what: "until everything was printed", ms: upAfterMs },
]);
print(`Resident memory before and after ${requests} requests`, await memory(stack));

function coldStarts({ output }: RunningStack): Row[] {
  return [...output().matchAll(/│ ([\w-]+) +│ \S+ +│ +(\d+) │/g)].map(([, name = "", ms = ""]) => ({
    name,
    ms: Number(ms),
  }));
}

async function memory({ ports }: RunningStack): Promise<Row[]> {
  const rpc = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_blockNumber", params: [] });
  const loads: readonly Load[] = [
    { name: "sidecar (gateway)", metrics: ports.sidecar, url: at(ports.gateway, "/"), body: rpc },
    { name: "facilitator (/supported)", metrics: ports.facilitator, url: at(ports.facilitator, "/supported") },
    { name: "resource server (402)", metrics: ports.resourceServer, url: at(ports.resourceServer, "/data") },
    { name: "upstream", metrics: ports.upstream, url: at(ports.upstream, "/data") },
  ];
  const rows: Row[] = [];
  for (const load of loads) {
    const before = await residentMiB(load.metrics);
    await drive(load);
    rows.push({ service: load.name, "MiB before": before, "MiB after": await residentMiB(load.metrics) });
  }
  return rows;
}

type Load = Readonly<{ name: string; metrics: number; url: string; body?: string }>;

async function drive({ url, body }: Load): Promise<void> {
  let sent = 0;
  const worker = async (): Promise<void> => {
    while (sent < requests) {
      sent += 1;
      const response = await request(
        url,
        body === undefined ? {} : { method: "POST", body, headers: { "content-type": "application/json" } },
      );
      await response.body.dump();
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
}

async function residentMiB(port: number): Promise<number> {
  const response = await request(at(port, "/metrics"));
  const bytes = /^process_resident_memory_bytes (\S+)$/m.exec(await response.body.text())?.[1];
  return Math.round(Number(bytes) / 1_048_576);
}

function at(port: number, path: string): string {
  return `http://127.0.0.1:${port}${path}`;
}

function print(title: string, rows: readonly Row[]): void {
  const cpu = /model name\s*: (.*)/.exec(readFileSync("/proc/cpuinfo", "utf8"))?.[1] ?? "unknown processor";
  process.stdout.write(`\n${title} (Node ${process.version}, ${cpu})\n`);
  for (const row of rows)
    process.stdout.write(
      `  ${Object.entries(row)
        .map(([key, value]) => `${key}: ${value}`)
        .join(", ")}\n`,
    );
}
