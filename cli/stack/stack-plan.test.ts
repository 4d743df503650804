import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { deriveEmbeddedAccounts } from "./accounts.ts";
import { planStack } from "./stack-plan.ts";
import { locateStateDirectory } from "./state-directory.ts";

const accounts = deriveEmbeddedAccounts();
const key = { GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY: accounts.signer.privateKey };
const file = "GATEHOUSE_PUSHGATEWAY_PERSISTENCE_FILE";

/** Lists the pushed-metrics files that the child processes of a stack in `/stack` are given. */
function findPushedMetrics(own: Readonly<Record<string, string>> = {}) {
  const env = { ...key, ...own };
  const directory = locateStateDirectory("/stack");
  const { environments } = planStack({ directory, accounts, env });
  return [environments.pushgateway[file], environments.upstream[file]];
}

it("keeps pushed metrics in the stack's own directory, never in a file shared with other Pushgateways", () => {
  expect(findPushedMetrics()).toEqual(["/stack/pushgateway.data", undefined]);
  expect(findPushedMetrics({ [file]: "/elsewhere" })[0]).toBe("/elsewhere");
});

it("makes Prometheus scrape each service with metrics at its own metrics listener", () => {
  const directory = locateStateDirectory("/stack");
  const { scraped } = planStack({ directory, accounts, env: key });
  expect(scraped).toMatchObject([
    { service: "sidecar", port: 9_600 },
    { service: "pushgateway", port: 9_091, honorLabels: true },
    { service: "facilitator", port: 9_602 },
    { service: "resource-server", port: 9_601 },
  ]);
});

it("links to the pages at the ports that the user chose", () => {
  const directory = locateStateDirectory("/stack");
  const env = { ...key, GATEHOUSE_SIDECAR_LISTEN_PORT: "9700" };
  const { environments } = planStack({ directory, accounts, env });
  const ports = { sidecar: 9_700, facilitator: 9_602, "resource-server": 9_601 };
  const pages = Object.entries(ports).map(([name, port]) => `${name}=http://127.0.0.1:${port}/`);
  expect(environments.sidecar["GATEHOUSE_SIDECAR_LISTEN_PAGES"]).toBe(pages.join(","));
  expect(environments["resource-server"]["GATEHOUSE_RESOURCE_SERVER_OPERATIONS_PAGES"]).toBe(pages.join(","));
});

it("gives each service the user's settings for it, and no other service's", () => {
  const directory = locateStateDirectory("/stack");
  const env = {
    ...key,
    GATEHOUSE_SIDECAR_UPKEEP_CONTROL_TOKEN: "planted-control-token-of-32-chars",
    GATEHOUSE_PAY_SIGNER_PRIVATE_KEY: accounts.client.privateKey,
    HTTPS_PROXY: "http://127.0.0.1:3128",
  };
  const { environments } = planStack({ directory, accounts, env });
  const holders = (name: string) =>
    Object.entries(environments).flatMap(([service, given]) => (given[name] === undefined ? [] : [service]));
  expect(holders("GATEHOUSE_SIDECAR_UPKEEP_CONTROL_TOKEN")).toEqual(["sidecar"]);
  expect(holders("GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY")).toEqual(["facilitator"]);
  expect(holders("GATEHOUSE_PAY_SIGNER_PRIVATE_KEY")).toEqual([]);
  expect(holders("HTTPS_PROXY")).toHaveLength(5);
});

it("prefers a setting in the user's settings file to the stack's own", async () => {
  const path = join(await makeTestDirectory(), "sidecar.json5");
  await writeFile(path, '{ upkeep: { mode: "observe" } }');
  const env = { ...key, GATEHOUSE_SIDECAR_SETTINGS_PATH: path };
  const { environments } = planStack({ directory: locateStateDirectory("/stack"), accounts, env });
  expect(environments.sidecar["GATEHOUSE_SIDECAR_UPKEEP_MODE"]).toBeUndefined();
  expect(environments.sidecar["GATEHOUSE_SIDECAR_LAG_RESTART"]).toBe("true");
});

it("sells to the payee and for the token that the user chose, with the node in the user's workspace", () => {
  const [payTo, token] = [`0x${"33".repeat(20)}`, `0x${"44".repeat(20)}`];
  const env = {
    ...key,
    GATEHOUSE_RESOURCE_SERVER_PAY_TO: payTo,
    GATEHOUSE_RESOURCE_SERVER_TOKEN_ADDRESS: token,
    GATEHOUSE_DEVNET_WORKSPACE_DIRECTORY: "/node",
  };
  const { sale, environments } = planStack({ directory: locateStateDirectory("/stack"), accounts, env });
  expect(sale).toEqual({ chainId: 1_672, payee: payTo, token });
  expect(environments.sidecar["GATEHOUSE_SIDECAR_NODE_WORKSPACE"]).toBe("/node");
});

it("reports the user's settings that have no effect, or reach only one of the services that share them", () => {
  const env = {
    ...key,
    GATEHOUSE_SIDECAR_NODE_HTTP_URL: "http://127.0.0.1:7777",
    GATEHOUSE_FACILITATOR_CHAIN_RPC_URL: "http://127.0.0.1:18100",
    GATEHOUSE_GATEWAY_PUBLIC_PORT: "8600",
    GATEHOUSE_PAY_SIGNER_PRIVATE_KEY: accounts.client.privateKey,
    GATEHOUSE_DEVNET_LOG_LEVEL: "debug",
    GATEHOUSE_DEVNET_NODE_HTTP_PORT: "18100",
  };
  expect(planStack({ directory: locateStateDirectory("/stack"), accounts, env }).unusedSettings).toEqual([
    "GATEHOUSE_SIDECAR_NODE_HTTP_URL applies to that service alone; the rest of the stack uses http://127.0.0.1:18100.",
    "GATEHOUSE_GATEWAY_PUBLIC_PORT is not used: the sidecar is the gateway, with GATEHOUSE_SIDECAR_GATEWAY_….",
    "GATEHOUSE_PAY_SIGNER_PRIVATE_KEY is not used: the stack pays with its own account.",
    "GATEHOUSE_DEVNET_LOG_LEVEL is not used: the node's own ops starts it, which logs to run/node.log.",
  ]);
});
