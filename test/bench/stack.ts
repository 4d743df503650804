import { readFileSync } from "node:fs";
import { request } from "undici";
import { startStack, type RunningStack } from "../support/running-stack.ts";
import { readResidentMiB, findStackProcesses } from "../support/stack-processes.ts";

/** One row of output: what was measured, with its unit in the name. */
type Row = Readonly<Record<string, string | number>>;

const requests = 1_000;
const concurrency = 16;

/** Measures the embedded stack: start times, the first paid response, and the memory of each part. */
export async function measureStack(): Promise<void> {
  const startedAt = performance.now();
  await using stack = await startStack();
  const upAfterMs = Math.round(performance.now() - startedAt);
  print("Cold start of each part, as the stack printed it", listColdStarts(stack));
  print("From start to the first paid response", [
    { what: "printed by the stack", ms: Number(/First paid response (\d+) ms after/.exec(stack.output())?.[1]) },
    { what: "until everything was printed", ms: upAfterMs },
  ]);
  print(`Resident memory before and after ${requests} requests`, await measureMemory(stack));
}

function listColdStarts({ output }: RunningStack): Row[] {
  return [...output().matchAll(/│ ([\w -]+?) +│ \S+ +│ +(\d+) │/g)].map(([, name = "", ms = ""]) => ({
    name,
    ms: Number(ms),
  }));
}

/** Request that one part of the stack gets a thousand times. */
type Load = Readonly<{ name: string; url: string; body?: string }>;

function listLoads({ ports }: RunningStack): readonly Load[] {
  const rpc = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_blockNumber", params: [] });
  return [
    { name: "node", url: formatUrl(ports.node, "/"), body: rpc },
    { name: "pushgateway", url: formatUrl(ports.pushgateway, "/metrics") },
    { name: "sidecar", url: formatUrl(ports.gateway, "/"), body: rpc },
    { name: "facilitator", url: formatUrl(ports.facilitator, "/supported") },
    { name: "resource-server", url: formatUrl(ports.resourceServer, "/data") },
    { name: "upstream", url: formatUrl(ports.upstream, "/data") },
  ];
}

async function measureMemory(stack: RunningStack): Promise<Row[]> {
  const processes = findStackProcesses(stack);
  const rows: Row[] = [];
  for (const load of listLoads(stack)) {
    const pid = processes.get(load.name);
    if (pid === undefined) throw new Error(`no process of the ${load.name} in the stack`);
    const before = readResidentMiB(pid);
    await drive(load);
    rows.push({ service: load.name, "MiB before": before, "MiB after": readResidentMiB(pid) });
  }
  return rows;
}

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

function formatUrl(port: number, path: string): string {
  return `http://127.0.0.1:${port}${path}`;
}

function print(title: string, rows: readonly Row[]): void {
  const cpu = /model name\s*: (.*)/.exec(readFileSync("/proc/cpuinfo", "utf8"))?.[1] ?? "unknown processor";
  process.stdout.write(`\n${title} (Node ${process.version}, ${cpu})\n`);
  for (const row of rows) {
    const cells = Object.entries(row).map(([key, value]) => `${key}: ${value}`);
    process.stdout.write(`  ${cells.join(", ")}\n`);
  }
}
