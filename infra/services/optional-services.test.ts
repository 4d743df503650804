import { describe, expect, it } from "vitest";
import { findServiceRow, listPublishedPorts } from "../stack-services.ts";
import { parseConfig } from "../stack-config.ts";
import { deploymentSecret } from "../config/pulumi-config.ts";
import { buildServices } from "./built-stack.ts";
import { hasService, listIncludedServices } from "./optional-services.ts";
import { findPort } from "./service-spec.ts";
import { describeTarget } from "./stack-context.ts";

const config = parseConfig({
  devAccounts: "true",
  tokenAddress: "0x8083F940Be4327c7b67c414103e794C0B5eA7Bb2",
  postgresImage: "postgres:17",
  postgresPassword: "hidden-password-of-the-ledgers",
  observability: JSON.stringify({ prometheus: {}, alertmanager: {}, grafana: {} }),
});
const services = buildServices(config, { prefix: "gh", ...describeTarget(config, "gh"), secret: deploymentSecret });
const built = listIncludedServices(config).map((name) => [name, services[name]?.spec] as const);

describe("the optional services of a stack", () => {
  it("are all included when configured", () => {
    expect(built.map(([name, spec]) => spec?.name ?? `no ${name}`).toSorted()).toEqual([
      "alertmanager",
      "grafana",
      "postgres",
      "prometheus",
      "pushgateway",
      "upstream",
    ]);
  });

  it("are excluded unless configured, unlike core services", () => {
    const without = parseConfig({
      devAccounts: "true",
      tokenAddress: "0x8083F940Be4327c7b67c414103e794C0B5eA7Bb2",
      pushgatewayUrl: "http://push.example:9091",
    });
    expect(listIncludedServices(without)).toEqual(["upstream"]);
    expect([hasService(without, "pushgateway"), hasService(without, "facilitator")]).toEqual([false, true]);
  });

  it.each(built)("match their row in the service table: %s", (name, spec) => {
    const { image, keeps } = findServiceRow(name);
    if (spec === undefined) throw new Error(`no ${name}`);
    expect([spec.name, spec.image]).toEqual([name, image]);
    for (const { port } of listPublishedPorts().filter(({ service }) => service === name)) {
      expect(findPort(spec, port).audience).toBe("system");
    }
    const kept = spec.volumes.filter(({ retain }) => retain).map((volume) => volume.name);
    expect(kept).toEqual(keeps === undefined ? [] : [`${name}-${keeps}`]);
  });
});
