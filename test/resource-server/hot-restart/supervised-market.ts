import { hash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { findFreePorts } from "#daemon/testing/free-ports.ts";
import { startPaymentChain, testAccount, type PaymentChain } from "../../support/payments/payment-chain.ts";
import { accelerateService } from "../../support/accelerated-waits.ts";
import { isLong } from "../../support/run-size.ts";
import { startService, type ServiceProcess } from "../../support/service-process.ts";
import { readSettingsInForce } from "../../support/settings-in-force.ts";
import { startUpstream, type TestUpstream } from "../../support/payments/test-upstream.ts";

/** A hot-restarted service with fixed ports, so that it can be restarted on the same ones. */
export type Supervised = AsyncDisposable &
  Readonly<{
    url: string;
    start: () => Promise<void>;
    /** The supervisor process; undefined while there is none. */
    supervisor: () => ServiceProcess | undefined;
    /** Writes the settings file, with additions to the required settings. */
    write: (more: object) => Promise<void>;
    /** Whether the last written settings are active. */
    isInForce: () => Promise<boolean>;
    /** Reason why the last written settings were rejected; undefined if they were not. */
    rejection: () => Promise<string | undefined>;
    /** The ledger's rows. */
    rows: (sql: string) => readonly Readonly<Record<string, unknown>>[];
    /** Output of all its processes. */
    output: () => string;
  }>;

/** A hot-restarted resource server that settles by itself; its ledgers are files. */
export type SupervisedMarketThatSettles = AsyncDisposable &
  Readonly<{ chain: PaymentChain; upstream: TestUpstream; shop: Supervised }>;

/** A hot-restarted facilitator and resource server, each with a ledger in a file. */
export type SupervisedMarket = SupervisedMarketThatSettles & Readonly<{ facilitator: Supervised }>;

/** The services' shared dependencies, without a settler. */
export type ShopDependencies = Awaited<ReturnType<typeof openShopDependencies>>;

/** Starts a resource server and its dependencies. */
export async function openSelfSupervisedMarket(): Promise<SupervisedMarketThatSettles> {
  await using resources = new AsyncDisposableStack();
  const dependencies = resources.use(await openShopDependencies());
  const shop = resources.use(await superviseShopThatSettles(dependencies));
  const owned = resources.move();
  return { ...dependencies, shop, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** Starts a resource server that settles by itself. */
export function superviseShopThatSettles(
  dependencies: ShopDependencies,
  env: Readonly<Record<string, string>> = {},
): Promise<Supervised> {
  return superviseShop(
    dependencies,
    { settlement: { rpcUrl: dependencies.chain.url, ledgerPath: join(dependencies.folder, "settlement.sqlite") } },
    { GATEHOUSE_RESOURCE_SERVER_SETTLEMENT_PRIVATE_KEY: testAccount(0).privateKey, ...env },
  );
}

/** Starts a facilitator. */
export function superviseFacilitator(
  { chain, folder }: ShopDependencies,
  env: Readonly<Record<string, string>> = {},
): Promise<Supervised> {
  return supervise("facilitator", folder, {
    settings: { chain: { rpcUrl: chain.url }, assets: [{ address: chain.token, name: "USDC", version: "2" }] },
    env: { GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY: testAccount(0).privateKey, ...env },
  });
}

/** Starts all of it. */
export async function openSupervisedMarket(): Promise<SupervisedMarket> {
  await using resources = new AsyncDisposableStack();
  const dependencies = resources.use(await openShopDependencies());
  const facilitator = resources.use(await superviseFacilitator(dependencies));
  const shop = resources.use(await superviseShop(dependencies, { facilitator: { url: facilitator.url } }));
  const owned = resources.move();
  return { ...dependencies, facilitator, shop, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** Starts a resource server's dependencies, except for a settler. */
export async function openShopDependencies() {
  await using resources = new AsyncDisposableStack();
  const chain = resources.use(await startPaymentChain());
  const upstream = resources.use(await startUpstream());
  const folder = await mkdtemp(join(tmpdir(), "gatehouse-supervised-"));
  resources.defer(() => rm(folder, { recursive: true, force: true }));
  const routesPath = join(folder, "routes.json5");
  const accepts = `{ scheme: "exact", price: "0.01", network: "eip155:1672" }`;
  await writeFile(routesPath, `{ "GET /data": { accepts: ${accepts}, upstream: "${upstream.url}/data" } }`);
  const owned = resources.move();
  return { folder, chain, upstream, routesPath, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

function superviseShop(
  { folder, chain, routesPath }: ShopDependencies,
  settling: object,
  env: Readonly<Record<string, string>> = {},
): Promise<Supervised> {
  return supervise("resource-server", folder, {
    settings: {
      routesPath,
      payTo: testAccount(2).address,
      token: { address: chain.token },
      payment: { resumeIntervalMs: 200 },
      ...settling,
    },
    env,
  });
}

/** In a long run, settings files are checked twice per second, otherwise ten times. */
const waitsLess = isLong ? {} : accelerateService({ waitsMs: [500], times: 5 });

/** Starts one of the services; its ledger is a file in the directory, unless the environment specifies otherwise. */
async function supervise(
  service: "facilitator" | "resource-server",
  folder: string,
  { settings, env }: Readonly<{ settings: object; env: Readonly<Record<string, string>> }>,
): Promise<Supervised> {
  const [port = 0, operationsPort = 0] = await findFreePorts(2);
  const path = join(folder, `${service}.json5`);
  const ledgerPath = join(folder, `${service}.sqlite`);
  const isInFile = !Object.keys(env).some((name) => name.endsWith("_LEDGER_URL"));
  let text = "";
  let runningProcess: ServiceProcess | undefined;
  const startedProcess: ServiceProcess[] = [];
  const write = async (more: object) => {
    const listeners = { listen: { port }, operations: { port: operationsPort } };
    const ledger = isInFile ? { ledger: { path: ledgerPath } } : {};
    text = JSON.stringify({ ...settings, ...listeners, ...ledger, ...more });
    await writeFile(path, text);
  };
  const start = async () => {
    runningProcess = undefined;
    runningProcess = await startService(
      service,
      { ...waitsLess, ...env, XDG_STATE_HOME: join(folder, "home") },
      { args: ["--settings", path, "--hot-restart"] },
    );
    startedProcess.push(runningProcess);
  };
  const look = async () => {
    // A short poll interval would cost the service more CPU than everything else.
    await sleep(80);
    const urls = { operations: `http://127.0.0.1:${operationsPort}` };
    return readSettingsInForce({ urls }, path).catch(() => undefined);
  };
  await write({});
  await start();
  return {
    url: `http://127.0.0.1:${port}`,
    start,
    supervisor: () => runningProcess,
    write,
    isInForce: async () => {
      const found = await look();
      return found?.sha256 === hash("sha256", text) && found.rejected === undefined;
    },
    rejection: async () => (await look())?.rejected,
    rows: (sql) => {
      using database = new DatabaseSync(ledgerPath, { timeout: 5_000 });
      return database.prepare(sql).all();
    },
    output: () => startedProcess.map(({ output }) => output()).join(""),
    [Symbol.asyncDispose]: async () => runningProcess?.[Symbol.asyncDispose](),
  };
}
