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

type Service = Readonly<{ ports?: readonly string[]; environment?: Readonly<Record<string, unknown>> }>;

const composeFiles = globSync("examples/compose/*/compose.yaml", { cwd: root });
const readServices = (file: string) =>
  Object.values((parse(readFileSync(join(root, file), "utf8")) as { services: Record<string, Service> }).services);
const listPorts = ({ ports = [] }: Service) => ports.map((port) => port.split(":").at(-1));

test.each(composeFiles)("%s publishes only default ports", (file) => {
  const publishedPorts = readServices(file).flatMap(listPorts);
  const known = Object.values(defaultPorts).flatMap((ports) => Object.values(ports).map(String));
  expect(publishedPorts.length).toBeGreaterThan(0);
  expect(known).toEqual(expect.arrayContaining(publishedPorts));
});

test.each(composeFiles)("%s restricts the hosts and origins of what it publishes", (file) => {
  const restrictions = [
    [defaultPorts.sidecar.status, "GATEHOUSE_SIDECAR_LISTEN_ALLOWED_HOSTS"],
    [defaultPorts.sidecar.rpc, "GATEHOUSE_SIDECAR_GATEWAY_CALLERS_CORS_ORIGINS"],
    [defaultPorts["resource-server"].operations, "GATEHOUSE_RESOURCE_SERVER_OPERATIONS_ALLOWED_HOSTS"],
    [defaultPorts.facilitator.operations, "GATEHOUSE_FACILITATOR_OPERATIONS_ALLOWED_HOSTS"],
  ] as const;
  const services = readServices(file);
  const required = services.flatMap((service) =>
    restrictions.flatMap(([port, variable]) =>
      listPorts(service).includes(String(port)) ? [{ variable, value: service.environment?.[variable] }] : [],
    ),
  );
  expect(required.length).toBeGreaterThan(1);
  for (const { variable, value } of required) expect(value, variable).toMatch(/^\$\{\w+:-[\w:/-]+\}$/);
});
