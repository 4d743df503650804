import { describe, expect, it } from "vitest";
import { parseConfig } from "./stack-config.ts";
import { ConfigError } from "./config/config-problem.ts";

const key = `0x${"11".repeat(32)}`;

function problemsOf(raw: Record<string, string>): string[] {
  try {
    parseConfig(raw);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.map(({ key: name, message }) => `${name}: ${message}`);
    throw error;
  }
  return [];
}

describe("parseConfig", () => {
  it("fills defaults and reads text by the schema's types", () => {
    const config = parseConfig({ gatewayPort: "18545", devAccounts: "true", nodeVersion: "0.15", routes: "{}" });
    expect(config).toMatchObject({ target: "docker", gatewayPort: 18_545, devAccounts: true, nodeVersion: "0.15" });
  });

  it("takes Pulumi's empty defaults for keys that are not set", () => {
    expect(parseConfig({ nodeImage: "", nodeUser: "0", dockerSocketGroup: "-1" }).nodeUser).toBeUndefined();
  });

  it("reports all problems at once, each with its key, what was found and what is allowed", () => {
    expect(problemsOf({ target: "nomad", gatewayPort: "99999", chainID: "1672", publishAddress: "here" })).toEqual([
      "target: found nomad; expected docker or kubernetes. Correct it with `pulumi config set target …`.",
      "publishAddress: found here; expected an IP address of the Docker host. Correct it with `pulumi config set publishAddress …`.",
      "gatewayPort: found 99999; expected a port number from 0 to 65535 (0: any free port). Correct it with `pulumi config set gatewayPort …`.",
      "chainID: unknown key; Pulumi.yaml lists the keys. Correct the name or remove it with `pulumi config rm`.",
    ]);
  });

  it("never shows a secret that does not fit", () => {
    const [problem = ""] = problemsOf({ signerPrivateKey: `${key}ff` });
    expect(problem).toContain("signerPrivateKey: found an invalid value; expected a private key");
    expect(problem).not.toContain("1111");
  });

  it("never shows the credentials of a URL that does not fit", () => {
    const [problem = ""] = problemsOf({ pushgatewayUrl: "ftp://pusher:hunter2@metrics.example" });
    expect(problem).toContain("pushgatewayUrl: found ftp://[masked]@metrics.example; expected an http:// URL");
  });

  it("refuses the development accounts with a real node or one's own signer", () => {
    expect(problemsOf({ devAccounts: "true", nodeImage: "node:1@sha256:0", nodeUser: "1000" })[0]).toMatch(
      /^devAccounts: found true together with nodeImage/,
    );
    expect(problemsOf({ devAccounts: "true", signerPrivateKey: key })[0]).toMatch(
      /^devAccounts: found true together with signer/,
    );
  });

  it("requests the address that peers use, where only a person knows it", () => {
    const real = { nodeImage: "node:1@sha256:0", nodeUser: "1000", nodeVersion: "0.16.2" };
    expect(problemsOf(real)[0]).toMatch(
      /^hostIp: missing; expected the IP address at which peers reach the Docker host/,
    );
    const kubernetes = { ...real, target: "kubernetes", gatehouseImage: "x", devnetImage: "y" };
    expect(problemsOf({ ...kubernetes, peers: "load-balancer" })[0]).toMatch(/peers reach the load balancer/);
    expect(problemsOf({ ...kubernetes, peers: "node-port" })).toEqual([]);
  });

  it("refuses a peers' port that can't be exposed or that the node has for something else", () => {
    const kubernetes = { target: "kubernetes", gatehouseImage: "x", devnetImage: "y" };
    expect(problemsOf({ ...kubernetes, peers: "node-port", peerPort: "19000" })[0]).toMatch(
      /^peerPort: found 19000; expected a port from 30000 to 32767/,
    );
    expect(problemsOf({ peerPort: "18100" })[0]).toMatch(/^peerPort: found 18100, which is the node's own http port/);
  });

  it("refuses a cluster with a directory for its objects", () => {
    const kubernetes = { target: "kubernetes", gatehouseImage: "x", devnetImage: "y" };
    expect(problemsOf({ ...kubernetes, renderTo: "out", kubernetesContext: "staging" })).toEqual([
      "kubernetesContext: found together with renderTo, which writes files and contacts no cluster. Remove one of the two.",
    ]);
  });

  it("refuses two public ways in", () => {
    const hosts = { gatewayHost: "rpc.example", resourceServerHost: "paid.example" };
    const both = {
      ingress: JSON.stringify({ ...hosts, tlsSecret: "tls" }),
      gatewayApi: JSON.stringify({ ...hosts, name: "public", namespace: "gateways" }),
    };
    expect(problemsOf(both)).toEqual([
      "gatewayApi: found together with ingress; only one may be set. Remove one of the two.",
    ]);
  });

  it("requests the version of a real node whose image's tag does not name it", () => {
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

  it("requests the devnet's image on Kubernetes only where something of it runs", () => {
    const real = { nodeImage: "evm/node:0.16.2@sha256:0", nodeUser: "1000", target: "kubernetes", gatehouseImage: "x" };
    const routes = JSON.stringify({ "GET /data": { upstream: "http://data.example" } });
    expect(problemsOf({ ...real, routes })).toEqual([]);
    const missing = expect.stringMatching(
      /^devnetImage: missing; on Kubernetes, images must come from a registry/,
    ) as string;
    expect(problemsOf(real)).toEqual([missing]);
    expect(problemsOf({ target: "kubernetes", gatehouseImage: "x", routes })).toEqual([missing]);
  });

  it("requests the user of a real node's image", () => {
    expect(problemsOf({ nodeImage: "node:1@sha256:0", hostIp: "203.0.113.10" })[0]).toMatch(
      /^nodeUser: missing; expected the user ID/,
    );
  });
});
