import { expect, test } from "vitest";
import { findUnknownVariables } from "#daemon/settings/environment.ts";
import { listSettingsLeaves } from "#daemon/settings/leaf.ts";
import { resolveSettings } from "#daemon/settings/settings.ts";
import { loadDefinitions, serviceNames } from "./service-definitions.ts";

const definitions = await loadDefinitions();

const services = definitions.map(({ service, schema }) => ({
  service,
  leaves: listSettingsLeaves(service, schema),
}));

test("defines each service under its own name", () => {
  expect(services.map(({ service }) => service)).toEqual(serviceNames);
});

test.each(services)(
  "$service does not mistake variables of other services for its own misspelt ones",
  ({ service, leaves }) => {
    const otherNames = services.filter((other) => other.service !== service).flatMap((other) => other.leaves);
    const env = Object.fromEntries(otherNames.map((leaf) => [leaf.env, "x"]));
    expect(findUnknownVariables(service, leaves, env)).toEqual([]);
  },
);

test("rejects a variable with a misspelt service name in the intended service, and suggests the correct name", () => {
  const sidecar = services.find(({ service }) => service === "sidecar")!;
  const loadRejected = (name: string) =>
    findUnknownVariables("sidecar", sidecar.leaves, { [name]: "x" }).map(({ message }) => message);
  const meant = "did you mean GATEHOUSE_SIDECAR_NODE_WORKSPACE? Correct the name or remove it.";
  expect(loadRejected("GATEHOUSE_SIDCAR_NODE_WORKSPACE")).toEqual([`no such service as SIDCAR; ${meant}`]);
  expect(loadRejected("GATEHOUSE_SIDE_CAR_NODE_WORKSPACE")).toEqual([`no such service as SIDE_CAR; ${meant}`]);
  expect(loadRejected("GATEHOUSE_SIDEACR_NODE_WORKSPCE")).toEqual([`no such service as SIDEACR; ${meant}`]);
});

test.each(definitions)("$service has every setting listed first in its help", ({ service, schema, common }) => {
  const known = new Set(listSettingsLeaves(service, schema).map(({ path }) => path.join(".")));
  expect(common.filter((name) => !known.has(name))).toEqual([]);
});

test.each(services)("$service has every setting that another needs", ({ leaves }) => {
  const known = new Set(leaves.map(({ path }) => path.join(".")));
  expect(leaves.filter(({ needs }) => needs !== undefined && !known.has(needs.join(".")))).toEqual([]);
});

test("reports API keys and a port for a private listener that is off, in a gateway and in a sidecar", () => {
  const given = { PRIVATE_PORT: "1", CALLERS_KEYS_PATH: "/keys", JWT_JWKS_PATH: "/jwks", TRACING_SAMPLE_RATIO: "1" };
  for (const prefix of ["GATEHOUSE_GATEWAY", "GATEHOUSE_SIDECAR_GATEWAY"]) {
    const env = Object.fromEntries(Object.entries(given).map(([name, value]) => [`${prefix}_${name}`, value]));
    const definition = definitions.find(({ service }) => prefix.startsWith(`GATEHOUSE_${service.toUpperCase()}`))!;
    const node = { GATEHOUSE_GATEWAY_NODE_HTTP_URL: "http://127.0.0.1:1", GATEHOUSE_GATEWAY_NODE_CHAIN_ID: "1" };
    const { unused } = resolveSettings(definition, { env: { ...env, ...(prefix.includes("SIDECAR") ? {} : node) } });
    expect(unused.map(({ name }) => name).sort()).toEqual(Object.keys(env).sort());
  }
});
