import { mkdtempSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { freePorts } from "../support/free-ports.ts";
import { haproxyProxy, nginxProxy, responder, start, type BenchProcess } from "./proxies.ts";
import { drive, type LoadResult } from "./wrk.ts";

/**
 * Measures the gateway against nginx and HAProxy as proxies, all in front of the same native responder, and against bare anvil.
 * Needs nginx, haproxy and wrk on PATH. Argument: seconds of each run (5).
 */
const seconds = Number(process.argv[2] ?? 5);
const connections = 64;
const gatewayMain = new URL("gateway-process.main.ts", import.meta.url).pathname;
const folder = mkdtempSync(join(tmpdir(), "gatehouse-bench-"));
const pass = '{"jsonrpc":"2.0","id":1,"method":"eth_syncing","params":[]}';
const hot = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}';
const balance =
  '{"jsonrpc":"2.0","id":1,"method":"eth_getBalance","params":["0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266","latest"]}';

await using stack = new AsyncDisposableStack();
stack.defer(() => rmSync(folder, { recursive: true, force: true }));
print("machine", [
  { cpus: `${cpus().length} × ${cpus()[0]?.model ?? "?"}`, node: process.version, seconds, connections },
]);
for (const [name, size] of [
  ["40 B", 42],
  ["2 KB", 2_048],
] as const) {
  await using scope = new AsyncDisposableStack();
  const [nodePort = 0, nginxPort = 0, haproxyPort = 0, gatewayPort = 0] = await freePorts(4);
  const result = "1".repeat(Math.max(4, size - 38));
  const node = scope.use(await responder(folder, nodePort, `{"jsonrpc":"2.0","id":1,"result":"0x${result}"}`));
  const nginx = scope.use(await nginxProxy(folder, nginxPort, nodePort));
  const haproxy = scope.use(await haproxyProxy(folder, haproxyPort, nodePort));
  const gateway = scope.use(await startGatewayProcess(gatewayPort, node.url));
  await measure(gateway, pass);
  print(`pass-through, ${name} replies`, [
    row("nginx proxy_pass", await measure(nginx, pass)),
    row("HAProxy", await measure(haproxy, pass)),
    row("gateway", await measure(gateway, pass)),
    row("gateway, hot read", await measure(gateway, hot)),
  ]);
  print(`one request at a time, ${name} replies`, [
    row("responder itself", await measure(node, pass, 1)),
    row("nginx proxy_pass", await measure(nginx, pass, 1)),
    row("gateway", await measure(gateway, pass, 1)),
  ]);
}
const [anvilPort = 0, gatewayPort = 0] = await freePorts(2);
const anvil = stack.use(
  await start("anvil", ["--port", String(anvilPort), "--block-time", "1", "--silent"], anvilPort),
);
const gateway = stack.use(await startGatewayProcess(gatewayPort, anvil.url));
await measure(gateway, balance);
print("eth_getBalance at latest", [
  row("bare anvil", await measure(anvil, balance)),
  row("gateway in front of it", await measure(gateway, balance)),
]);

function startGatewayProcess(port: number, nodeUrl: string): Promise<BenchProcess> {
  return start(process.execPath, [gatewayMain, String(port), nodeUrl, nodeUrl.replace("http", "ws")], port);
}

function measure({ url, pid }: BenchProcess, body: string, clients = connections): Promise<LoadResult> {
  return drive({ url, pid, body, connections: clients, seconds, folder });
}

function row(what: string, result: LoadResult) {
  return {
    what,
    "req/s": result.requestsPerSecond,
    "p50 ms": result.p50Ms,
    "p99 ms": result.p99Ms,
    "CPU µs/request": result.cpuMicros,
    "peak MiB": result.peakMiB,
    failed: result.failed,
  };
}

function print(title: string, rows: readonly Readonly<Record<string, string | number>>[]): void {
  process.stdout.write(`\n${title}\n`);
  for (const one of rows) {
    process.stdout.write(
      `  ${Object.entries(one)
        .map(([name, value]) => `${name}: ${value}`)
        .join("  ")}\n`,
    );
  }
}
