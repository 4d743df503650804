import { describe, expect, it } from "vitest";
import { findServiceRow, listPublishedPorts } from "../stack-services.ts";
import { parseConfig } from "../stack-config.ts";
import { dockerAddresses } from "./addresses.ts";
import { buildBundled, hasService, listIncludedServices, type BundledName } from "./bundled-services.ts";
import { findPort } from "./service-spec.ts";
import { stackArgs } from "./stack-specs.ts";

const secret = (text: string) => ({ kind: "secret", check: text, value: text }) as const;
const restart = { driver: "docker", container: "gh-node", exec: "docker exec gh-sidecar" } as const;
const config = parseConfig({
  devAccounts: "true",
  tokenAddress: "0x8083F940Be4327c7b67c414103e794C0B5eA7Bb2",
  postgresImage: "postgres:17",
  postgresPassword: "hidden-password-of-the-ledgers",
  observability: JSON.stringify({ prometheus: {}, alertmanager: {}, grafana: {} }),
});
const built = Object.entries(
  buildBundled(stackArgs(config, { prefix: "gh", addresses: dockerAddresses, restart, secret }), []),
).map(([name, { spec }]) => [name as BundledName, spec] as const);

describe("the services that a stack brings", () => {
  it("are all of the table, where the configuration has what each is for", () => {
    expect(built.map(([name]) => name)).toEqual([...listIncludedServices(config)]);
    expect(built.map(([name]) => name).toSorted()).toEqual([
      "alertmanager",
      "grafana",
      "postgres",
      "prometheus",
      "pushgateway",
      "upstream",
    ]);
  });

  it("are left out where the configuration says so; what every stack has is not", () => {
    const without = parseConfig({
      devAccounts: "true",
      tokenAddress: "0x8083F940Be4327c7b67c414103e794C0B5eA7Bb2",
      pushgatewayUrl: "http://push.example:9091",
    });
    expect(listIncludedServices(without)).toEqual(["upstream"]);
    expect([hasService(without, "pushgateway"), hasService(without, "facilitator")]).toEqual([false, true]);
  });

  it.each(built)("are as their row says: %s", (name, spec) => {
    const { image, keeps } = findServiceRow(name);
    expect([spec.name, spec.image]).toEqual([name, image]);
    for (const { port } of listPublishedPorts().filter(({ service }) => service === name)) {
      expect(findPort(spec, port).audience).toBe("system");
    }
    const kept = spec.volumes.filter(({ keep }) => keep).map((volume) => volume.name);
    expect(kept).toEqual(keeps === undefined ? [] : [`${name}-${keeps}`]);
  });
});
