import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findFreePorts } from "#daemon/testing/free-ports.ts";
import { parseConfig, readConfig } from "../stack-config.ts";
import { ConfigError } from "../config/config-problem.ts";
import { findContextProblems } from "./kubernetes-context.ts";
import { preflight } from "./preflight.ts";

const directory = mkdtempSync(join(tmpdir(), "gatehouse-preflight-"));
const socket = join(directory, "engine.sock");
const images: Readonly<Record<string, unknown>> = {
  "node:26": { Config: { Env: ["NODE_VERSION=26.1.0"] } },
  "push:1": {},
  "node:20": { Config: { Env: ["NODE_VERSION=20.1.0"] } },
};
/** Unused ports, a port of one of the stack's own containers, and one of another container. */
const [ownPort = 0, othersPort = 0, ...freePorts] = await findFreePorts(7);
/** The port of one of the stack's own containers that keeps restarting. */
let restartingPort = 0;
const running = [
  { Names: ["/gh-sidecar"], Ports: [{ PublicPort: ownPort }] },
  { Names: ["/other"], Ports: [{ PublicPort: othersPort }] },
];
const free = Object.fromEntries(
  ["privateGatewayPort", "resourceServerPort", "resourceServerOperationsPort", "statusPort", "pushgatewayPort"].map(
    (key, at) => [key, String(freePorts[at])],
  ),
);
let engine: Server;
let taken: Server;

/** The requests that the program sends to an engine, with Docker's responses. */
function answer(path: string): readonly [status: number, body: unknown] {
  if (path === "/version") return [200, { ApiVersion: "1.41" }];
  if (path === "/containers/json") return [200, running];
  if (path.startsWith("/containers/json?")) return [200, [{ Names: ["/gh-pushgateway"], Ports: [] }]];
  if (path === "/containers/gh-pushgateway/json") {
    return [200, { HostConfig: { PortBindings: { "9091/tcp": [{ HostPort: String(restartingPort) }] } } }];
  }
  const name = decodeURIComponent(path.split("/").slice(2, -1).join("/"));
  if (path.startsWith("/images/"))
    return images[name] === undefined ? [404, { message: "no such image" }] : [200, images[name]];
  if (name.startsWith("private.example/")) return [401, { message: "unauthorized" }];
  return [404, { message: "manifest unknown" }];
}

beforeAll(async () => {
  engine = createServer(({ url = "" }, response) => {
    const [status, body] = answer(url);
    response.writeHead(status).end(JSON.stringify(body));
  });
  taken = createServer();
  await new Promise<void>((resolve) => engine.listen(socket, resolve));
  await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
});
afterAll(() => {
  engine.close();
  taken.close();
  rmSync(directory, { recursive: true });
});

async function problemsOf(raw: Readonly<Record<string, string>>): Promise<string[]> {
  const base = { dockerEngine: `unix://${socket}`, tokenAddress: `0x${"02".repeat(20)}`, devAccounts: "true" };
  const ready = { baseImage: "node:26", pushgatewayImage: "push:1", gatewayPort: String(ownPort), ...free };
  try {
    await preflight(parseConfig({ ...base, ...ready, ...raw }), { prefix: "gh", environment: {} });
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.map(({ key, message }) => `${key}: ${message}`);
    throw error;
  }
  return [];
}

describe("preflight on Docker", () => {
  it("reports all problems at once", async () => {
    const { port } = taken.address() as AddressInfo;
    const found = await problemsOf({
      devAccounts: "false",
      tokenAddress: "",
      resourceServerPort: String(othersPort),
      statusPort: String(port),
      pushgatewayImage: "",
      baseImage: "node:20",
      devnetImage: "registry.example/devnet:1",
    });
    expect(found).toEqual([
      "signerPrivateKey: missing; expected the key of the account that submits settlements. Set it with `pulumi config set --secret signerPrivateKey …`.",
      "payTo: missing; expected the account that receives payments. Set it with `pulumi config set payTo …`.",
      "tokenAddress: missing; expected the contract of the payment token. Set it with `pulumi config set tokenAddress …`.",
      `resourceServerPort: found ${othersPort}, but the container other already publishes it. Free it, or use another one with \`pulumi config set resourceServerPort …\`.`,
      `statusPort: found ${port}, but another process on this machine listens on it at 127.0.0.1. Free it, or use another one with \`pulumi config set statusPort …\`.`,
      "devnetImage: found registry.example/devnet:1, which the engine does not have and can't pull (manifest unknown); correct it with `pulumi config set devnetImage …`, or load it into the engine.",
      "pushgatewayImage: found prom/pushgateway:v1.11.3@sha256:74fa117cef2d7e383112d25139ff1c2d2e309c35389a9e0554a47136a1482e48, which the engine does not have and can't pull (manifest unknown); correct it with `pulumi config set pushgatewayImage …`, or load it into the engine.",
      "baseImage: found node:20, which has Node 20.1.0; expected an image with Node 24 or later. Correct it with `pulumi config set baseImage …`.",
    ]);
  });

  it("reports parse, cross-key, service and host problems together", async () => {
    const offer = { scheme: "exact", network: "eip155:1672", payTo: `0x${"03".repeat(20)}` };
    const routes = {
      "GET /a": { accepts: { ...offer, price: "cheap" }, upstream: "http://a.example" },
      "GET /b": { accepts: { ...offer, price: "$0.01" }, upstream: "not a URL" },
    };
    const { config, problems } = readConfig({
      dockerEngine: `unix://${socket}`,
      baseImage: "node:26",
      pushgatewayImage: "push:1",
      ...free,
      gatewayPort: String(othersPort),
      nodeImage: "push:1",
      chainId: "none",
      signerPrivateKey: "0x1",
      limits: JSON.stringify({ node: { cpus: "0.5", memoryMebibytes: 64 } }),
      settings: JSON.stringify({
        facilitator: { signer: { privateKye: 1 } },
        "engine-proxy": { restartsPerHour: -1 },
      }),
      routes: JSON.stringify(routes),
    });
    const context = { prefix: "gh", environment: {}, problems };
    const error = await preflight(config, context).then(String, (thrown: unknown) => thrown as ConfigError);
    expect(error).toBeInstanceOf(ConfigError);
    const found = (error as ConfigError).problems.map(({ key, message }) => `${key}: ${message.split(";")[0]}`);
    expect(found).toEqual([
      "chainId: found none",
      "signerPrivateKey: found an invalid value",
      "hostIp: missing",
      "nodeUser: missing",
      "nodeVersion: missing",
      "domainKey: missing",
      "stabilizingKey: missing",
      "payTo: missing",
      "tokenAddress: missing",
      expect.stringMatching(/^settings\.facilitator\.signer\.privateKye: unknown setting of facilitator/),
      "routes: GET /b: upstream: expected an http:// or https:// URL. Correct it with `pulumi config set --path 'routes[\"GET /b\"].…' …`.",
      expect.stringMatching(/^routes: GET \/a: accepts\.price: "cheap" is not a price/),
      expect.stringMatching(/^settings\.engine-proxy\.restartsPerHour: /),
      expect.stringMatching(`^gatewayPort: found ${othersPort}, but the container other`),
    ]);
  });

  it("reports a PostgreSQL image that can't be pulled", async () => {
    const own = { postgresImage: "registry.example/postgres:17", postgresPassword: "hidden-password-of-the-ledgers" };
    expect(await problemsOf(own)).toEqual([
      expect.stringMatching(/^postgresImage: found registry.example\/postgres:17, .* can't pull \(manifest unknown\)/),
    ]);
  });

  it("reports a used port of Prometheus with the command for its nested key", async () => {
    const { port } = taken.address() as AddressInfo;
    const observability = { prometheus: { image: "push:1", port }, grafana: { image: "registry.example/grafana:1" } };
    expect(await problemsOf({ observability: JSON.stringify(observability) })).toEqual([
      `observability.prometheus.port: found ${port}, but another process on this machine listens on it at 127.0.0.1. Free it, or use another one with \`pulumi config set --path observability.prometheus.port …\`.`,
      expect.stringMatching(
        /^observability\.grafana\.image: .*`pulumi config set --path observability\.grafana\.image …`/,
      ),
    ]);
  });

  it("accepts ports of the stack's own containers, even while one restarts", async () => {
    const { port } = taken.address() as AddressInfo;
    expect(await problemsOf({ statusPort: String(port) })).toHaveLength(1);
    restartingPort = port;
    expect(await problemsOf({ statusPort: String(port) })).toEqual([]);
    expect(await problemsOf({})).toEqual([]);
  });

  it("rejects duplicate ports and an address of another machine", async () => {
    const both = String(free["statusPort"]);
    const found = await problemsOf({ resourceServerPort: both, publishAddress: "192.0.2.1" });
    expect(found).toEqual([
      expect.stringMatching(`^statusPort: found ${both}, as is resourceServerPort`),
      expect.stringMatching(
        `^resourceServerPort: found ${both}, but 192\\.0\\.2\\.1 is not an address of this machine`,
      ),
    ]);
  });

  it("accepts an image in a registry that requires authentication", async () => {
    expect(await problemsOf({ gatehouseImage: "private.example/gatehouse:1" })).toEqual([]);
  });

  it("reports an unresponsive engine, and duplicate ports without one", async () => {
    const dockerEngine = `unix://${directory}/none.sock`;
    const unresponsive = expect.stringMatching(
      /^dockerEngine: found unix:.*none\.sock, which is not responding \(.*ENOENT.*\); start the Docker engine/,
    );
    expect(await problemsOf({ dockerEngine })).toEqual([unresponsive]);
    const both = String(free["statusPort"]);
    const duplicate = expect.stringMatching(`^statusPort: found ${both}, as is resourceServerPort`);
    expect(await problemsOf({ dockerEngine, resourceServerPort: both })).toEqual([duplicate, unresponsive]);
    expect(await problemsOf({ dockerEngine: "ssh://node.example", resourceServerPort: both })).toEqual([duplicate]);
  });
});

it("rejects renderTo together with a Pulumi provider", async () => {
  const raw = { target: "kubernetes", gatehouseImage: "x", devnetImage: "y", renderTo: "out", devAccounts: "true" };
  const config = parseConfig({ ...raw, tokenAddress: `0x${"02".repeat(20)}` });
  await preflight(config, { prefix: "gh", environment: {} });
  await expect(preflight(config, { prefix: "gh", environment: {}, hasProvider: true })).rejects.toThrow(
    "renderTo: found together with an explicit or inherited provider, which applies to its own cluster",
  );
});

describe("the context of a Kubernetes stack", () => {
  const file = join(directory, "kubeconfig");
  const home = { kubeconfig: file, home: directory, inCluster: false };
  const write = (current: string) =>
    writeFileSync(file, `current-context: "${current}"\ncontexts:\n  - name: staging\n  - name: production\n`);

  it("must exist in the kubeconfig", () => {
    write("staging");
    expect(findContextProblems("production", home)).toEqual([]);
    expect(findContextProblems(undefined, home)).toEqual([]);
    expect(findContextProblems("prodution", home)[0]?.message).toBe(
      "found prodution, which the kubeconfig does not have; it has staging, production. Correct it with `pulumi config set kubernetesContext …`.",
    );
  });

  it("is required without a current context", () => {
    write("");
    expect(findContextProblems(undefined, home)[0]?.message).toMatch(
      /^missing, and the kubeconfig has no current context/,
    );
  });

  it("requires a kubeconfig unless the program runs in the cluster", () => {
    const none = { ...home, kubeconfig: join(directory, "none") };
    expect(findContextProblems(undefined, none)[0]?.message).toMatch(/^no kubeconfig found \(checked .*none\)/);
    expect(findContextProblems(undefined, { ...none, inCluster: true })).toEqual([]);
  });
});
