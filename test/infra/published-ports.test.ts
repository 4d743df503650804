import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { defaultPorts } from "#daemon/default-ports.ts";
import { stackServices } from "#infra/stack-services.ts";
import { privatePorts } from "../../policies/rules/private-ports.ts";
import { buildDockerContainer } from "../../policies/testing/sample-resources.ts";

const root = join(import.meta.dirname, "../..");
const thirdParties = ["prometheus", "alertmanager", "grafana", "postgres", "pushgateway"] as const;

test.each(thirdParties)("the policy private-ports includes the port of %s", (name) => {
  const [internal] = Object.values(stackServices[name].ports);
  const container = buildDockerContainer({ ports: [{ internal, external: internal, ip: "0.0.0.0" }] });
  const found = privatePorts.check(container, { allowedRegistries: [] });
  expect(found).toEqual([expect.stringContaining(`publishes port ${internal}`)]);
});

test.each(globSync("examples/compose/*/compose.yaml", { cwd: root }))("%s publishes only default ports", (file) => {
  const { services } = parse(readFileSync(join(root, file), "utf8")) as {
    services: Record<string, { ports?: string[] }>;
  };
  const publishedPorts = Object.values(services).flatMap(({ ports = [] }) =>
    ports.map((port) => port.split(":").at(-1)),
  );
  const known = Object.values(defaultPorts).flatMap((ports) => Object.values(ports).map(String));
  expect(publishedPorts.length).toBeGreaterThan(0);
  expect(known).toEqual(expect.arrayContaining(publishedPorts));
});
