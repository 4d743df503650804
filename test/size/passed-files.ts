import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { generousMs, until } from "#daemon/testing/until.ts";
import { startFakeNode as startFakeRpc } from "#gateway/testing/fake-node.ts";
import { createFakeNode } from "#sidecar/testing/fake-node.ts";
import { startPaymentChain } from "../support/payments/payment-chain.ts";
import { buildSettlingEnvironment, createTemporaryFolder, findUrl, signPaymentFor } from "../support/payments/shop.ts";
import { startUpstream } from "../support/payments/test-upstream.ts";
import { runGatehouse } from "../support/run-command.ts";
import { startService } from "../support/service-process.ts";

const root = join(import.meta.dirname, "../..");
/** Repetitions; a file counts if its functions run in every one, which excludes timers. */
const repetitions = 4;

type Files = readonly string[];

type LoadedFiles = Readonly<{ own: Files; packages: number }>;

/**
 * Lists the files whose functions run for one `eth_call` over HTTP that neither the cache nor another read can serve.
 */
export async function listFilesOfCall(): Promise<Files> {
  await using node = await startFakeRpc();
  await using recorder = await createRecorder();
  await using gateway = await startService("gateway", {
    ...recorder.env,
    GATEHOUSE_GATEWAY_NODE_HTTP_URL: node.httpUrl,
    GATEHOUSE_GATEWAY_NODE_CHAIN_ID: "1",
    GATEHOUSE_GATEWAY_PUBLIC_PORT: "0",
    GATEHOUSE_GATEWAY_LISTEN_PORT: "0",
    GATEHOUSE_GATEWAY_HEALTH_INTERVAL_MS: "60000",
  });
  await until("the gateway is ready", generousMs, async () => (await fetch(`${gateway.urls["operations"]}/readyz`)).ok);
  let calls = 0;
  return await recorder.listRepeated(gateway.pid, async () => {
    const data = `0x70a08231${String((calls += 1)).padStart(64, "0")}`;
    const params = [{ to: `0x${"ab".repeat(20)}`, data }, "latest"];
    const body = JSON.stringify({ jsonrpc: "2.0", id: calls, method: "eth_call", params });
    const headers = { "Content-Type": "application/json" };
    const response = await fetch(gateway.urls["gateway"] ?? "", { method: "POST", headers, body });
    if (!(await response.text()).includes("result")) throw new Error("eth_call failed");
  });
}

export async function listFilesOfPayment(): Promise<Files> {
  await using chain = await startPaymentChain();
  await using upstream = await startUpstream();
  await using folder = await createTemporaryFolder();
  await using recorder = await createRecorder();
  const routesPath = join(folder.path, "routes.json5");
  const accepts = [{ scheme: "exact", price: "0.01", network: "eip155:1672" }];
  await writeFile(routesPath, JSON.stringify({ "GET /data": { accepts, upstream: `${upstream.url}/data` } }));
  await using shop = await startService("resource-server", {
    ...recorder.env,
    ...buildSettlingEnvironment(chain, {
      routesPath,
      settlementPath: join(folder.path, "settlement.sqlite"),
      claimsPath: join(folder.path, "claims.sqlite"),
    }),
  });
  const url = `${findUrl(shop)}/data`;
  return await recorder.listRepeated(shop.pid, async () => {
    const response = await fetch(url, { headers: { "PAYMENT-SIGNATURE": await signPaymentFor(url) } });
    await response.arrayBuffer();
    if (response.status !== 200) throw new Error(`the payment ended with ${response.status}`);
  });
}

export async function listFilesOfSidecar(): Promise<LoadedFiles> {
  await using workspace = await createFakeNode();
  await using rpc = await startFakeRpc();
  await using folder = await createTemporaryFolder();
  await using recorder = await createRecorder();
  const sidecar = await startService("sidecar", {
    ...recorder.env,
    GATEHOUSE_SIDECAR_NODE_WORKSPACE: workspace.workspace,
    GATEHOUSE_SIDECAR_NODE_HTTP_URL: rpc.httpUrl,
    GATEHOUSE_SIDECAR_NODE_WEB_SOCKET_URL: rpc.webSocketUrl,
    GATEHOUSE_SIDECAR_UPKEEP_STATE_DIRECTORY: folder.path,
    GATEHOUSE_SIDECAR_RESTART_DRIVER: "none",
    GATEHOUSE_SIDECAR_LISTEN_PORT: "0",
    GATEHOUSE_SIDECAR_GATEWAY_PUBLIC_PORT: "0",
  });
  await sidecar.end("SIGTERM");
  return await recorder.readLoaded();
}

export async function listFilesOfHelp(): Promise<LoadedFiles> {
  await using recorder = await createRecorder();
  const { status, stderr } = await runGatehouse(["--help"], recorder.env);
  if (status !== 0) throw new Error(stderr);
  return await recorder.readLoaded();
}

async function createRecorder() {
  const folder = await createTemporaryFolder();
  const read = async (name: string) =>
    JSON.parse(await readFile(join(folder.path, `${name}.json`), "utf8")) as string[];
  let taken = 0;
  const take = async (pid: number) => {
    const name = `ran-${(taken += 1)}`;
    process.kill(pid, "SIGWINCH");
    await until("the process reports its files", generousMs, () => existsSync(join(folder.path, `${name}.json`)));
    return selectOwn(await read(name));
  };
  return {
    env: {
      NODE_OPTIONS: `--import ${pathToFileURL(join(import.meta.dirname, "file-recorder.js")).href}`,
      GATEHOUSE_RECORDED_FILES: folder.path,
    },
    listRepeated: async (pid: number, act: () => Promise<void>): Promise<Files> => {
      await act();
      await take(pid);
      let commonFiles: Files | undefined;
      for (let repetition = 0; repetition < repetitions; repetition += 1) {
        await act();
        const files = await take(pid);
        commonFiles = commonFiles?.filter((file) => files.includes(file)) ?? files;
      }
      return commonFiles ?? [];
    },
    readLoaded: async (): Promise<LoadedFiles> => {
      const urls = await read("loaded");
      return { own: selectOwn(urls), packages: urls.filter((url) => url.includes("/node_modules/")).length };
    },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

function selectOwn(urls: readonly string[]): Files {
  return urls
    .filter((url) => url.startsWith("file:") && !url.includes("/node_modules/"))
    .map((url) => relative(root, fileURLToPath(url)))
    .filter((path) => !path.startsWith("test/"));
}
