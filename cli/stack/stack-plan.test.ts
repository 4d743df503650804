import { expect, it } from "vitest";
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
