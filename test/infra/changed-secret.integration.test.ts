import { hash } from "node:crypto";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { makeSharedDirectory } from "#daemon/testing/test-directory.ts";
import { limitlessTier } from "#gateway/testing/limitless-tier.ts";
import { deploymentSecret } from "../../infra/config/pulumi-config.ts";
import {
  filesDirectory,
  liveFilesDirectory,
  liveSecretsDirectory,
  type ServiceSpec,
} from "../../infra/services/service-spec.ts";
import { buildSidecarSpec } from "../../infra/services/sidecar-spec.ts";
import { describeTarget } from "../../infra/services/stack-context.ts";
import { parseConfig } from "../../infra/stack-config.ts";
import { pause } from "#daemon/time.ts";
import { startCallers } from "../support/gateway/callers.ts";
import { startSizedNode, type SizedNode } from "../support/node/sized-node.ts";
import { startService } from "../support/service-process.ts";
import { generousMs, until } from "#daemon/testing/until.ts";

const [before, after] = ["token-of-before-the-rotation-0000001", "token-of-after-the-rotation-00000002"];
const resources = new AsyncDisposableStack();
let node: SizedNode;
const folder = makeSharedDirectory();

beforeAll(async () => {
  node = resources.use(await startSizedNode());
});
afterAll(() => resources.disposeAsync());

/** The sidecar of a Docker stack, with this machine's ports and directories. */
function specWith(controlToken: string, restoreAfterMs = 30_000): ServiceSpec {
  const sidecar = {
    node: {
      workspace: node.workspace,
      httpUrl: node.httpUrl,
      ...(node.webSocketUrl && { webSocketUrl: node.webSocketUrl }),
    },
    listen: { host: "127.0.0.1", port: 0 },
    pushgateway: { url: "http://127.0.0.1:9091" },
    upkeep: { controlToken, restoreAfterMs, stateDirectory: join(folder, "state") },
    restart: { driver: "none" },
    gateway: {
      public: { host: "127.0.0.1", port: 0 },
      private: { enabled: false },
      tiers: { public: { ...limitlessTier, webSockets: 100 }, internal: limitlessTier },
    },
  };
  const config = parseConfig({ settings: JSON.stringify({ sidecar }) });
  const { spec, problems } = buildSidecarSpec(config, {
    prefix: "gh",
    ...describeTarget(config, "gh"),
    secret: deploymentSecret,
  });
  expect(problems).toEqual([]);
  return spec;
}

/** Replaces container paths in a text with this machine's paths. */
const placeOf = (text: string) => text.replaceAll("/run/gatehouse", folder);

/** Delivers files like the delivery container: one by one, each complete. */
async function deliver(files: ServiceSpec["files"], directory: string): Promise<void> {
  await mkdir(placeOf(directory), { recursive: true });
  for (const { name, content } of files) {
    const stagedPath = join(placeOf(directory), `.${name}.staged`);
    await writeFile(stagedPath, placeOf(String(content)), { mode: 0o400 });
    await rename(stagedPath, join(placeOf(directory), name));
  }
}

/** Starts the sidecar of a container specification, as the stack's container would. */
async function startDeployed(spec: ServiceSpec) {
  await deliver(spec.files, filesDirectory);
  await deliver(spec.liveFiles ?? [], liveFilesDirectory);
  await deliver(spec.liveSecrets ?? [], liveSecretsDirectory);
  const environment = Object.fromEntries(
    Object.entries(spec.environment).map(([name, value]) => [name, placeOf(value)]),
  );
  const state = { XDG_STATE_HOME: join(folder, "home") };
  const [service = "", ...args] = spec.arguments ?? [];
  const sidecar = await startService(service, { ...environment, ...state }, { args });
  const statusBy = async (token: string) => {
    const headers = { Authorization: `Bearer ${token}` };
    return (await fetch(`${sidecar.urls["sidecar"]}/control`, { headers })).status;
  };
  return { ...sidecar, statusBy };
}

it("a changed secret and setting together cause one hot restart, and no call fails", { timeout: 180_000 }, async () => {
  const spec = specWith(before);
  await using sidecar = await startDeployed(spec);
  const { statusBy } = sidecar;
  await until("the old token works", generousMs, async () => (await statusBy(before)) === 200);
  const callers = await startCallers(sidecar.urls["gateway"] ?? "", { requestsPerSecond: 100, webSockets: 5 });

  // Another difference would replace the container.
  expect({ ...specWith(after), liveSecrets: [] }).toEqual({ ...spec, liveSecrets: [] });
  const changed = specWith(after, 20_000);
  expect({ ...changed, liveSecrets: [], liveFiles: [] }).toEqual({ ...spec, liveSecrets: [], liveFiles: [] });
  await deliver(changed.liveSecrets ?? [], liveSecretsDirectory);
  // Two containers deliver the files, and the second one exits later.
  await pause(1_500);
  await deliver(changed.liveFiles ?? [], liveFilesDirectory);
  await until("the new token works", generousMs, async () => (await statusBy(after)) === 200);
  await until("the old token no longer works", generousMs, async () => (await statusBy(before)) === 401);
  const settings = (changed.liveFiles ?? []).find(({ name }) => name === "settings.json5");
  const sha256 = hash("sha256", placeOf(String(settings?.content)));
  await until("the changed setting is active", generousMs, async () => {
    return (await (await fetch(`${sidecar.urls["sidecar"]}/configuration`)).text()).includes(sha256);
  });
  await until("WebSockets were reopened", generousMs, () => callers.reopened() >= 5);
  await callers.end();
  expect(callers.failures).toEqual([]);
  expect(callers.answered()).toBeGreaterThan(100);
  expect(sidecar.output().match(/"service-ready"/g)).toHaveLength(2);
  expect(sidecar.output()).not.toMatch(new RegExp(`${before}|${after}`));
});
