import { describe, expect, it } from "vitest";
import { parseConfig } from "./stack-config.ts";
import { listConfigProblems } from "./testing/config-problems.ts";

const problemsOf = (raw: Readonly<Record<string, string>>) => listConfigProblems(() => parseConfig(raw));

describe("parseConfig", () => {
  it("fills in defaults and parses text by the schema's types", () => {
    const config = parseConfig({ gatewayPort: "18545", devAccounts: "true", nodeVersion: "0.15", routes: "{}" });
    expect(config).toMatchObject({ target: "docker", gatewayPort: 18_545, devAccounts: true, nodeVersion: "0.15" });
  });

  it("treats Pulumi's empty defaults as unset", () => {
    expect(parseConfig({ nodeImage: "", nodeUser: "0", dockerSocketGroup: "-1" }).nodeUser).toBeUndefined();
  });

  it("requires hostIp where the address can't be derived", () => {
    const real = { nodeImage: "node:1@sha256:0", nodeUser: "1000", nodeVersion: "0.16.2" };
    expect(problemsOf(real)[0]).toMatch(
      /^hostIp: missing; expected the IP address at which peers reach the Docker host/,
    );
    const kubernetes = { ...real, target: "kubernetes", gatehouseImage: "x", devnetImage: "y" };
    expect(problemsOf({ ...kubernetes, peers: "load-balancer" })[0]).toMatch(/peers reach the load balancer/);
    expect(problemsOf({ ...kubernetes, peers: "node-port" })).toEqual([]);
  });

  it("requires nodeVersion if the image tag is not a version", () => {
    const real = { nodeUser: "1000", hostIp: "203.0.113.10" };
    const untold = ["evm/node@sha256:0", "evm/node:latest", "evm/node:2026.11.1", "evm/node:stable-0.15.0"];
    for (const nodeImage of untold) {
      expect(problemsOf({ ...real, nodeImage })).toEqual([
        "nodeVersion: missing; expected the version of the node's release, because the tag of nodeImage does not contain it, and the first node.conf is created before the node can be queried. Set it with `pulumi config set nodeVersion …`, e.g. 0.16.2.",
      ]);
      expect(problemsOf({ ...real, nodeImage, nodeVersion: "0.15.0" })).toEqual([]);
    }
    expect(problemsOf({ ...real, nodeImage: "evm/node:v0.15.0@sha256:0" })).toEqual([]);
  });

  it("requires the devnet image on Kubernetes only if a devnet service runs", () => {
    const real = { nodeImage: "evm/node:0.16.2@sha256:0", nodeUser: "1000", target: "kubernetes", gatehouseImage: "x" };
    const routes = JSON.stringify({ "GET /data": { upstream: "http://data.example" } });
    expect(problemsOf({ ...real, routes })).toEqual([]);
    const missing = expect.stringMatching(
      /^devnetImage: missing; on Kubernetes, images must come from a registry/,
    ) as string;
    expect(problemsOf(real)).toEqual([missing]);
    expect(problemsOf({ target: "kubernetes", gatehouseImage: "x", routes })).toEqual([missing]);
  });
});
