import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Paint } from "#daemon/command-line/command-output.ts";
import { formatFailure } from "#daemon/command-line/start-failure.ts";
import { waitForAbort, createStopSignal, stopStatuses } from "#daemon/process/stop-signal.ts";
import { prepareNode, requireAnvil } from "#devnet/prepared-node.ts";
import { deriveEmbeddedAccounts, writeKeyFile, type EmbeddedAccounts } from "./accounts.ts";
import { type Variables, watchLauncher } from "./child-environment.ts";
import type { ChildService } from "./child-service.ts";
import { requireFreePorts, type RequestedPort } from "./free-ports.ts";
import { createPartGroup, supervise } from "./supervisor.ts";
import { startNode, stopLeftoverNode } from "./node-process.ts";
import { purchase } from "./purchase.ts";
import { planStack, type ChildName, type StackPlan } from "./stack-plan.ts";
import {
  clearStateDirectory,
  lockStateDirectory,
  createStateDirectory,
  locateStateDirectory,
  type StateDirectory,
  renderRoutesFile,
} from "./state-directory.ts";
import { requireSettlement } from "./settlement-check.ts";
import { formatFreshStart, formatReadyTable, formatSuggestions, type ReadyRow } from "./stack-report.ts";

export type StackOptions = Readonly<{
  once: boolean;
  fresh: boolean;
  verbose: boolean;
  /** Print one JSON document after the purchase, and everything else to `stderr`. */
  json: boolean;
  stateDirectory: string;
  /** Port for a Prometheus that observes the stack; if absent, none runs. */
  observe: number | undefined;
  env: Variables;
}>;

type Output = Readonly<{ write(text: string): unknown }>;

export type StackDependencies = Readonly<{ stdout: Output; stderr: Output; paint: Paint }>;

const limits = {
  readyDeadlineMs: 30_000,
  /** Stops the resource server first, then all others in parallel. The total is less than the 5 s after which Ctrl-C ends everything. */
  frontStopDeadlineMs: 1_500,
  backStopDeadlineMs: 3_000,
  restartsMax: 5,
  windowMs: 60_000,
  pauseMs: 200,
} as const;

/** Makes the C library use one heap and return freed memory; `cli/gatehouse.sh` does the same when a user runs `gatehouse`. */
const releasesMemory = { MALLOC_ARENA_MAX: "1", MALLOC_TRIM_THRESHOLD_: "131072" };

const maxPrice = "0.05";
const purchaseTimeoutMs = 30_000;

/**
 * Runs the embedded stack: starts each part in its own process, makes one paid request, then keeps running until SIGINT or SIGTERM. Returns
 * the exit status: 0; 1 if a step failed, which `stderr` reports; or with `once` 128 plus the number of the signal that stopped it before the payment.
 */
export async function runStack(options: StackOptions, dependencies: StackDependencies): Promise<number> {
  const { stdout, stderr, paint } = dependencies;
  const resources = new AsyncDisposableStack();
  const running = { stdout: options.json ? stderr : stdout, stderr, paint, documents: stdout };
  const status = await runUntilStopped(options, resources, running);
  try {
    await resources.disposeAsync();
    return status;
  } catch (error) {
    for (const line of formatFailure(error)) dependencies.stderr.write(`${line}\n`);
    return Math.max(status, 1);
  }
}

async function runUntilStopped(
  options: StackOptions,
  resources: AsyncDisposableStack,
  dependencies: StackDependencies & Readonly<{ documents: Output }>,
): Promise<number> {
  const startedAt = performance.now();
  const signal = AbortSignal.any([createStopSignal(), resources.use(watchLauncher(options.env)).gone]);
  try {
    requireAnvil();
    if (options.observe !== undefined) (await import("./stack-prometheus.ts")).requirePrometheus();
    const directory = locateStateDirectory(options.stateDirectory);
    const accounts = deriveEmbeddedAccounts();
    const plan = planStack({ directory, accounts, env: options.env });
    for (const line of plan.unusedSettings) dependencies.stderr.write(`${line}\n`);
    resources.use(await lockStateDirectory(directory, options.fresh));
    await stopLeftoverNode(plan.chain.workspace, limits.backStopDeadlineMs);
    await requireFreePorts(listPorts(plan, options), options.env);
    if (options.fresh) await clearStateDirectory(directory);
    const start = { ...options, directory, accounts, plan, startedAt };
    const { hints, document } = await startAndBuy(start, resources, { ...dependencies, signal });
    if (options.json) dependencies.documents.write(`${JSON.stringify(document)}\n`);
    if (options.once) return 0;
    dependencies.stdout.write(`${hints}\n`);
    await waitForAbort(signal);
    return reportStop(signal, options, dependencies);
  } catch (error) {
    if (signal.aborted) return reportStop(signal, options, dependencies);
    for (const line of formatFailure(error)) dependencies.stderr.write(`${line}\n`);
    return 1;
  }
}

/** Returns the exit status of a stopped stack; with `once`, its payment is missing. */
function reportStop(
  { reason }: AbortSignal,
  { once }: Pick<StackOptions, "once">,
  { stdout }: Pick<StackDependencies, "stdout">,
): number {
  stdout.write("\nstopping\n");
  if (!once) return 0;
  return Object.entries(stopStatuses).find(([name]) => name === reason)?.[1] ?? 1;
}

function listPorts({ ports }: StackPlan, { observe }: Pick<StackOptions, "observe">): readonly RequestedPort[] {
  if (observe === undefined) return ports;
  return [...ports, { owner: "Prometheus", host: "127.0.0.1", port: observe, setting: "--observe" }];
}

type Start = Readonly<{ directory: StateDirectory; accounts: EmbeddedAccounts; plan: StackPlan; startedAt: number }> &
  Pick<StackOptions, "observe" | "verbose" | "json">;
type Running = StackDependencies & Readonly<{ signal: AbortSignal }>;

/** Document of `gatehouse stack --json`; `purchase` is that of `gatehouse pay --json`. */
type StackDocument = Readonly<{ parts: readonly ReadyRow[]; purchase: unknown; paidAfterMs: number }>;

/** Starts everything and buys one request; returns hints for the user on what to try next, and the JSON document. */
async function startAndBuy(
  { directory, accounts, plan, startedAt, observe, verbose, json }: Start,
  resources: AsyncDisposableStack,
  dependencies: Running,
): Promise<Readonly<{ hints: string; document: StackDocument }>> {
  const { stdout, paint, signal } = dependencies;
  createStateDirectory(directory);
  await writeKeyFile(directory.signerKey, accounts.signer);
  await writeKeyFile(directory.clientKey, accounts.client);
  const { sale } = plan;
  await writeFile(directory.routes, renderRoutesFile(sale, plan.urls.upstream), { mode: 0o600 });
  const { rows, configPath } = await startParts(plan, directory, resources, dependencies);
  await requireSettlement(plan.urls.facilitator, formatFreshStart(directory, process.cwd()));
  const observers = observe === undefined ? [] : [await startObserver(plan, directory, observe, resources, signal)];
  const parts = [...rows, ...observers];
  stdout.write(`${formatReadyTable(parts, paint)}\n\n`);
  signal.throwIfAborted();
  const purchaseResult = await purchase(
    {
      url: `${plan.urls.resourceServer}/data`,
      network: `eip155:${sale.chainId}`,
      token: sale.token,
      payee: sale.payee,
      clientKey: accounts.client.privateKey,
      rpcUrl: plan.chain.httpUrl,
      maxAmount: maxPrice,
      timeoutMs: purchaseTimeoutMs,
      verbose,
      json,
    },
    { stdout, paint },
  );
  const paidAfterMs = Math.round(performance.now() - startedAt);
  stdout.write(`${paint(["bold", "green"], `First paid response ${paidAfterMs} ms after the start.`)}\n\n`);
  const files = { nodeConfig: configPath, clientKeyFile: directory.clientKey, workingDirectory: process.cwd() };
  return { hints: formatSuggestions(plan, files, paint), document: { parts, purchase: purchaseResult, paidAfterMs } };
}

/** Starts Prometheus for the running services. Loaded only on request: other starts do not need the rules. */
async function startObserver(
  { scraped: targets }: StackPlan,
  { prometheus: directory, logs: logDirectory }: StateDirectory,
  port: number,
  resources: AsyncDisposableStack,
  signal: AbortSignal,
): Promise<ReadyRow> {
  const { startStackPrometheus } = await import("./stack-prometheus.ts");
  const { readyDeadlineMs: startDeadlineMs, frontStopDeadlineMs: stopDeadlineMs } = limits;
  const options = { targets, port, directory, logDirectory, startDeadlineMs, stopDeadlineMs, signal };
  const { alertsUrl: url, readyAfterMs } = resources.use(await startStackPrometheus(options));
  return { name: "Prometheus, with the alerts", url, readyAfterMs };
}

type StartedParts = Readonly<{ rows: readonly ReadyRow[]; configPath: string }>;

/** Starts the parts without dependencies, then those that need the node, then the one that needs the facilitator; stops them in reverse order. */
async function startParts(
  plan: StackPlan,
  directory: StateDirectory,
  resources: AsyncDisposableStack,
  { stdout, paint, signal }: Running,
): Promise<StartedParts> {
  const announce = (line: string) => stdout.write(`${line}\n`);
  const announceStep = (line: string) => announce(paint("dim", line));
  const program = fileURLToPath(new URL("../gatehouse.js", import.meta.url));
  const child = (name: ChildName, stopDeadlineMs: number): Promise<ChildService> =>
    supervise(
      { name, env: { ...releasesMemory, ...plan.environments[name] } },
      { program, logDirectory: directory.logs, stopDeadlineMs, signal, ...limits },
      { announce },
    );
  const { workspace } = await prepareNode(plan.devnet, { ownerPid: process.pid });
  const { readyDeadlineMs: startDeadlineMs, backStopDeadlineMs, frontStopDeadlineMs } = limits;
  const back = resources.use(createPartGroup());
  announceStep("starting the node, the Pushgateway and the sample upstream");
  const [node, pushgateway, upstream] = await back.start([
    startNode({
      ...workspace,
      startDeadlineMs,
      stopDeadlineMs: backStopDeadlineMs,
      signal,
      freshStart: formatFreshStart(directory, process.cwd()),
    }),
    child("pushgateway", backStopDeadlineMs),
    child("upstream", backStopDeadlineMs),
  ]);
  signal.throwIfAborted();
  announceStep("starting the sidecar and the facilitator");
  const [sidecar, facilitator] = await back.start([
    child("sidecar", backStopDeadlineMs),
    child("facilitator", backStopDeadlineMs),
  ]);
  signal.throwIfAborted();
  announceStep("starting the resource server");
  stdout.write("\n");
  const front = resources.use(createPartGroup());
  const [resourceServer] = await front.start([child("resource-server", frontStopDeadlineMs)]);
  const services = [pushgateway, sidecar, facilitator, upstream, resourceServer];
  const pageRow = { name: "status page", url: `${plan.urls.sidecar}/`, readyAfterMs: sidecar.readyAfterMs };
  const nodeRows = [
    { name: "node", url: plan.chain.httpUrl, readyAfterMs: node.readyAfterMs },
    { name: "node WebSocket", url: plan.chain.webSocketUrl, readyAfterMs: node.readyAfterMs },
  ];
  return { rows: [pageRow, ...nodeRows, ...services.flatMap(listRows)], configPath: workspace.configPath };
}

function listRows({ urls, readyAfterMs }: ChildService): ReadyRow[] {
  return Object.entries(urls).map(([name, url]) => ({ name, url, readyAfterMs }));
}
