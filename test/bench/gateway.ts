import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { watchOutput } from "#daemon/command-line/lost-output.ts";
import { measureAgainstAnvil } from "./gateway/anvil.ts";
import { measureBatches } from "./gateway/batches.ts";
import { measureProxiesAlone } from "./gateway/behind-proxies.ts";
import { measureRealClients } from "./gateway/real-clients.ts";
import { measureNodeCost } from "./gateway/node-cost.ts";
import { passThrough } from "./gateway/pass-through.ts";
import { measureStreamedResponses } from "./gateway/stream.ts";
import { judge, print, formatVerdicts, type Figure } from "./gateway/table.ts";
import { measureWebSocketClients } from "./gateway/websocket-clients.ts";
import type { Measurement } from "./measurement.ts";
import { describeLoad, saveResults } from "./save-results.ts";

process.once("exit", watchOutput(process.stdout));

/**
 * Measures the gateway against nginx and HAProxy as proxies, all in front of the same native responder, and against plain anvil. Needs
 * nginx, haproxy, wrk, cc and taskset on PATH. `--seconds` of each run, `--rounds` of the compared runs; `--only` parts, separated by
 * commas; `node`, the search for the calls that are most expensive for the node, runs only if named; `--clients` of the WebSocket part;
 * `--save` writes the verdicts into `docs/benchmarks.md`, with `--note` about other load on the machine.
 */
const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "4" },
    rounds: { type: "string", default: "3" },
    only: { type: "string", default: "clients,small,large,anvil,batch,stream,websocket" },
    clients: { type: "string", default: "5000" },
    save: { type: "boolean", default: false },
    note: { type: "string" },
  },
});
const folder = mkdtempSync(join(tmpdir(), "gatehouse-bench-"));
const setup = { folder, seconds: Number(values.seconds), rounds: Number(values.rounds), connections: 64 };
const parts = new Map<string, () => Promise<readonly Figure[]> | readonly Figure[]>([
  ["clients", () => measureRealClients(setup)],
  ["proxies", () => measureProxiesAlone(setup)],
  ["small", () => passThrough("40 B", 42, setup)],
  ["large", () => passThrough("2 KB", 2_048, setup)],
  ["anvil", () => measureAgainstAnvil(setup)],
  ["batch", () => measureBatches(setup)],
  ["stream", measureStreamedResponses],
  ["websocket", () => measureWebSocketClients(Number(values.clients))],
  ["node", measureNodeCost],
]);
try {
  const versions = [readVersion("nginx", "-v"), readVersion("haproxy", "-v"), readVersion("wrk", "-v")].join(", ");
  const load = describeLoad();
  print("machine", [{ cpus: `${cpus().length} × ${cpus()[0]?.model}`, node: process.version, versions, load }]);
  const measured = new Map<string, readonly Measurement[]>();
  for (const name of values.only.split(",")) {
    const part = parts.get(name);
    if (part === undefined)
      throw new Error(`--only: unknown part "${name}"; expected one of ${[...parts.keys()].join(", ")}`);
    const measurements = judge(await part());
    print(`${name}, the farthest from its target first`, formatVerdicts(measurements));
    measured.set(`gateway: ${name}`, measurements);
  }
  if (values.save) {
    const how = [
      `${values.rounds} rounds of ${values.seconds} s`,
      ...(values.note === undefined ? [] : [values.note]),
    ].join(", ");
    await saveResults(measured, load, { how, programs: [versions] });
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function readVersion(command: string, flag: string): string {
  const text = execFileSync("sh", ["-c", `${command} ${flag} 2>&1 || true`], { encoding: "utf8" });
  return text.split("\n", 1)[0] ?? "";
}
