import { expect, test } from "vitest";
import { findUnknownVariables } from "#daemon/settings/environment.ts";
import { listSettingsLeaves } from "#daemon/settings/leaf.ts";
import { loadDefinitions, serviceNames } from "./service-definitions.ts";

const definitions = await loadDefinitions();

const services = definitions.map(({ service, schema }) => ({
  service,
  leaves: listSettingsLeaves(service, schema),
}));

test("a service is defined under its own name", () => {
  expect(services.map(({ service }) => service)).toEqual(serviceNames);
});

test.each(services)("$service takes no other service's variables for its own, misspelt", ({ service, leaves }) => {
  const others = services.filter((other) => other.service !== service).flatMap((other) => other.leaves);
  const env = Object.fromEntries(others.map((leaf) => [leaf.env, "x"]));
  expect(findUnknownVariables(service, leaves, env)).toEqual([]);
});

test("a variable of a misspelt service is refused by the service that was meant, with the name that was meant", () => {
  const sidecar = services.find(({ service }) => service === "sidecar")!;
  const refused = (name: string) =>
    findUnknownVariables("sidecar", sidecar.leaves, { [name]: "x" }).map(({ message }) => message);
  const meant = "did you mean GATEHOUSE_SIDECAR_NODE_WORKSPACE? Correct the name or remove it.";
  expect(refused("GATEHOUSE_SIDCAR_NODE_WORKSPACE")).toEqual([`no such service as SIDCAR; ${meant}`]);
  expect(refused("GATEHOUSE_SIDE_CAR_NODE_WORKSPACE")).toEqual([`no such service as SIDE_CAR; ${meant}`]);
  expect(refused("GATEHOUSE_SIDEACR_NODE_WORKSPCE")).toEqual([`no such service as SIDEACR; ${meant}`]);
});

test.each(definitions)("$service has each setting that its help begins with", ({ service, schema, usual }) => {
  const known = new Set(listSettingsLeaves(service, schema).map(({ path }) => path.join(".")));
  expect(usual.filter((name) => !known.has(name))).toEqual([]);
});
