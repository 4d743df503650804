import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { findFreePorts } from "#daemon/testing/free-ports.ts";
import { tracingGasFactor } from "#gateway/catalogue/method.ts";
import { runsCode } from "#gateway/calls/call-accounting.ts";
import { createPolicy, type Policy } from "#gateway/policy.ts";
import { gatewaySection } from "#gateway/settings/sections.ts";
import { makeBlocksEventful } from "./eventful-blocks.ts";
import { findWorker, start, type BenchProcess } from "./proxies.ts";
import { print, type Figure } from "./table.ts";
import { readCpuMs } from "./wrk.ts";

/** A call, with the gateway's charge and limits for it. */
type PricedCall = Readonly<{
  what: string;
  method: string;
  params: readonly unknown[];
  units: number;
  /** Additional units per millisecond of the node's time. */
  unitsPerMs: number;
  /** Time after which the gateway aborts the call. */
  timeoutMs: number;
}>;

type Costly = PricedCall & Readonly<{ unitMs: number }>;

/** Loop bodies, as hexadecimal code that leaves the stack unchanged. GAS is a number that no other run has used. */
const bodies: Readonly<Record<string, string>> = {
  "a jump": "",
  "KECCAK256 of 64 KiB": "620100005f2050",
  "BALANCE of new accounts": "5a3150",
  "EXTCODEHASH of new accounts": "5a3f50",
  "EXTCODECOPY of new accounts": "5f5f5f5a3c",
  "SLOAD of new slots": "5a5450",
  "SSTORE to new slots": "5a5a55",
  TSTORE: "5a5a5d",
  "EXP of 32 bytes": "7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff5a0a50",
  "MULMOD of 32 bytes": "5a19801919800950",
  "LOG0 of 4 KiB": "6110005fa0",
  CREATE: "5f5f5ff050",
  "CODECOPY of 24 KiB": "6160005f5f39",
  "MCOPY of 64 KiB": "620100005f5f5e",
  "ecrecover (1)": "5f5f60805f60015afa50",
  "SHA-256 (2) of 64 KiB": "5f5f620100005f60025afa50",
  "RIPEMD-160 (3) of 64 KiB": "5f5f620100005f60035afa50",
  "identity (4) of 64 KiB": "620100005f620100005f60045afa50",
  "pairing (8) of nothing": "5f5f5f5f60085afa50",
};
/** Method whose calls get a gas limit from the gateway if they specify none. */
const tracing = "debug_traceCall";
const account = `0x${"ab".repeat(20)}`;
const shownCalls = 10;
/** Max CPU milliseconds per unit that would be proportionate: a hundred times that of eth_getBalance. */
const maxUnitMs = 2;
/** Accounts funded on the development chains of anvil and geth. */
const funded = {
  anvil: "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266",
  geth: "0x71562b71999873db5b286df957af199ec94617f7",
};
/** Min CPU time measured per call, because its resolution is ten milliseconds, and max repetitions for that. */
const measuredMs = 100;
const mostRuns = 200;

/**
 * Searches the public methods and their possible parameters for the calls with the highest CPU cost to the node per
 * unit charged to the caller: on anvil, and on geth if it is on the PATH. Prints the ten worst of each; the page shows these figures.
 */
export async function measureNodeCost(): Promise<readonly Figure[]> {
  const policy = createPolicy(gatewaySection.parse({}));
  const figures: Figure[] = [];
  for (const name of ["anvil", "geth"] as const) {
    if (name === "geth" && !isOnPath(name)) {
      print("geth is not on the PATH, and was not measured", []);
      continue;
    }
    await using node = await (name === "anvil" ? startAnvil() : startGeth());
    const all: Costly[] = [];
    for (const call of listCalls(policy, funded[name])) all.push(...(await measureCall(node.process, call)));
    process.stderr.write(`${name}: ${all.length} calls measured\n`);
    const worst = all.toSorted((one, other) => other.unitMs - one.unitMs).slice(0, shownCalls);
    print(
      `${name}: the highest CPU cost per unit (${all.length} calls)`,
      worst.map(({ what, units, unitMs }) => ({ call: what, units, "ms a unit": unitMs.toFixed(2) })),
    );
    for (const { what, unitMs } of worst)
      figures.push({ what: `${name}: ms of CPU per unit, ${what}`, figure: unitMs, target: { most: maxUnitMs } });
  }
  return figures;
}

function listCalls(policy: Policy, sender: string): readonly PricedCall[] {
  const plain = (what: string, method: string, params: readonly unknown[]): PricedCall => ({
    what: `${method} ${what}`,
    method,
    params,
    ...findCost(policy, method),
  });
  const keys = Array.from({ length: 1_500 }, (_, at) => `0x${at.toString(16).padStart(64, "0")}`);
  const percentiles = Array.from({ length: 100 }, (_, at) => at + 1);
  const tracer = { tracer: "callTracer" };
  const loops = ["eth_call", "eth_estimateGas", "eth_createAccessList", tracing].flatMap((method) =>
    Object.keys(bodies).flatMap((body) =>
      [method === tracing ? 5_000_000 : undefined, 50_000_000].map((gas) => buildLoop(policy, method, [body], gas)),
    ),
  );
  return [
    plain("of an account", "eth_getBalance", [account, "latest"]),
    plain("of an account", "eth_getTransactionCount", [account, "latest"]),
    plain("of 1,500 keys", "eth_getProof", [account, keys, "latest"]),
    plain("of 1,024 blocks", "eth_feeHistory", ["0x400", "latest", percentiles]),
    plain("of 100 blocks", "eth_getLogs", [{ fromBlock: "0x0", toBlock: "0x63" }]),
    plain("of 500 blocks", "trace_filter", [{ fromBlock: "0x0", toBlock: "0x1f3" }]),
    plain("with transactions", "eth_getBlockByNumber", ["0x1", true]),
    plain("of a block", "eth_getBlockReceipts", ["0x1"]),
    plain("of a block", "debug_traceBlockByNumber", ["0x1", tracer]),
    // The access list never stabilizes: a warm account costs less gas, and the gas determines the account.
    plain("that touches a new account each time", "eth_createAccessList", [
      { from: sender, data: "0x5a3150" },
      "latest",
    ]),
    plain("that is none", "eth_sendRawTransaction", [`0x02${"ff".repeat(2_000)}`]),
    ...loops,
  ];
}

/** Builds a call that runs a loop as a contract's creation code, which needs no state override. */
function buildLoop(policy: Policy, method: string, body: readonly string[], gas: number | undefined): PricedCall {
  const data = `0x5b${body.map((name) => bodies[name] ?? "").join("")}5f56`;
  const named = gas === undefined ? {} : { gas: `0x${gas.toString(16)}` };
  const more = method === tracing ? [{ tracer: "callTracer" }] : [];
  return {
    what: `${method} of ${gas ?? "no"} gas, loop: ${body.join(" + ")}`,
    method,
    params: [{ data, ...named }, "latest", ...more],
    ...findCost(policy, method, gas),
  };
}

/** Returns the gateway's charge and limits for a call with the given gas, or with none specified. */
function findCost(
  { catalogue, settings }: Policy,
  method: string,
  gas?: number,
): Pick<PricedCall, "units" | "unitsPerMs" | "timeoutMs"> {
  const { costUnits = 1, timeoutMs = 10_000, limit } = catalogue.get(method) ?? {};
  const { gasPerUnit, unitsPerNodeMs } = settings.rateLimit;
  const isMultiplied =
    (limit?.kind === "tracer" && limit.overrides === true) || (limit?.kind === "gas" && limit.isRepeated === true);
  const pricedGas = isMultiplied ? tracingGasFactor * (gas ?? settings.limits.callGas) : (gas ?? 0);
  return {
    units: Math.max(costUnits, Math.ceil(pricedGas / gasPerUnit)),
    unitsPerMs: runsCode({ limit }) ? unitsPerNodeMs : 0,
    timeoutMs,
  };
}

/** Measures a call; returns nothing if the node does not know the method. */
async function measureCall({ url, pid }: BenchProcess, call: PricedCall): Promise<readonly Costly[]> {
  const cpuMsBefore = readCpuMs(pid);
  const startedAt = performance.now();
  let runs = 0;
  let spent = 0;
  while (spent < measuredMs && runs < mostRuns) {
    const text = await request(url, call);
    if (text.includes('"code":-32601')) return [];
    runs += 1;
    spent = readCpuMs(pid) - cpuMsBefore;
  }
  // The gateway charges for contract code's time once it knows that.
  const tookMs = (performance.now() - startedAt) / runs;
  const units = Math.max(call.units, Math.floor(tookMs * call.unitsPerMs));
  return [{ ...call, units, unitMs: spent / runs / units }];
}

/** Makes a call and returns the start of its response, which may be a gigabyte long; nothing if the call is aborted. */
async function request(url: string, { method, params, timeoutMs }: PricedCall): Promise<string> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const headers = { "Content-Type": "application/json" };
  let beginning: string | undefined;
  try {
    const response = await fetch(url, { method: "POST", headers, body, signal: AbortSignal.timeout(timeoutMs) });
    for await (const chunk of response.body ?? []) beginning ??= Buffer.from(chunk).toString("latin1");
  } catch (error) {
    if (!(error instanceof DOMException) || error.name !== "TimeoutError") throw error;
  }
  return beginning ?? "";
}

async function startAnvil() {
  await using starting = new AsyncDisposableStack();
  const [port = 0] = await findFreePorts(1);
  const args = ["--port", String(port), "--block-time", "1", "--silent", "--prune-history", "16"];
  const process = findWorker(starting.use(await start("anvil", args, port)));
  await makeEventsFor(process.url, 3_000);
  const resources = starting.move();
  return { process, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

/** Produces blocks with logs for a while, but none while the node is busy with a measured call. */
async function makeEventsFor(url: string, ms: number): Promise<void> {
  await using _making = await makeBlocksEventful(url);
  await sleep(ms);
}

async function startGeth() {
  const [port = 0, authPort = 0] = await findFreePorts(2);
  const folder = mkdtempSync(join(tmpdir(), "gatehouse-geth-"));
  const http = ["--http", "--http.port", String(port), "--http.api", "eth,debug"];
  const own = ["--dev", "--dev.period", "1", "--datadir", folder, "--ipcdisable", "--verbosity", "1"];
  const process = await start("geth", [...own, ...http, "--authrpc.port", String(authPort)], port);
  return {
    process,
    [Symbol.asyncDispose]: async () => {
      await process[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function isOnPath(command: string): boolean {
  return execFileSync("sh", ["-c", `command -v ${command} || true`], { encoding: "utf8" }).trim() !== "";
}
