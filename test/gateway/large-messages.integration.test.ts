import { once } from "node:events";
import { Agent, request, type IncomingMessage } from "node:http";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { generousMs, until } from "#daemon/testing/until.ts";
import { startRisingNode } from "../support/node/rising-node.ts";
import { startService } from "../support/service-process.ts";

/** Max wait of another caller during the attack. A single one of these messages used to block the thread for more than a second. */
const waitMs = 600;
const bodyBytes = 5_242_880;
/** Addresses of the attacker and of the other callers, all on this machine. */
const attacker = "127.0.0.2";
const other = "127.0.0.3";

const call = (method: string, params: string) => `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`;
const filled = (part: (at: number) => string, bytes: number) => {
  const parts: string[] = [];
  for (let length = 0; length < bytes; length += (parts.at(-1)?.length ?? 0) + 1) parts.push(part(parts.length));
  return parts.join(",");
};
const room = bodyBytes - 200;
const keys = `{${filled((at) => `"k${at}":1`, room)}}`;
const messages = {
  "empty params": call("eth_coinbase", `[${filled(() => "[]", room)}]`),
  "keys in a filter": call("eth_getLogs", `[${keys}]`),
  "keys in tracer options": call("debug_traceTransaction", `["0x${"ab".repeat(32)}",${keys}]`),
  "a batch of long calls": `[${filled(() => call("eth_call", `[{"data":"0x${"ab".repeat(2_500)}"},"latest"]`), room - 6_000)}]`,
  "a batch of filters": `[${filled(() => call("eth_getLogs", `[{"address":[${filled(() => `"0x${"ab".repeat(20)}"`, 40_000)}]}]`), room - 50_000)}]`,
};

async function post(url: string, body: string, options: Readonly<{ agent?: Agent; localAddress: string }>) {
  const headers = { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) };
  const outgoingRequest = request(url, { method: "POST", headers, ...options });
  outgoingRequest.end(body);
  const [response] = (await once(outgoingRequest, "response")) as [IncomingMessage];
  return { status: response.statusCode ?? 0, text: (await buffer(response)).toString() };
}

test("a connection that repeatedly sends 5 MiB of JSON does not delay other callers, and the node is not blamed", async () => {
  await using node = await startRisingNode();
  await using service = await startService("gateway", {
    GATEHOUSE_GATEWAY_NODE_HTTP_URL: node.httpUrl,
    GATEHOUSE_GATEWAY_NODE_WEB_SOCKET_URL: node.webSocketUrl,
    GATEHOUSE_GATEWAY_NODE_CHAIN_ID: "1672",
    GATEHOUSE_GATEWAY_PUBLIC_PORT: "0",
    GATEHOUSE_GATEWAY_LISTEN_PORT: "0",
    GATEHOUSE_GATEWAY_HEALTH_INTERVAL_MS: "100",
  });
  const { gateway: url = "" } = service.urls;
  const operations =
    Object.entries(service.urls).find(([name]) => !name.startsWith("gateway"))?.[1] ?? service.urls["operations"];
  const read = async (path: string) => {
    const response = await fetch(`${operations}${path}`);
    return { status: response.status, text: await response.text() };
  };
  await until("it is ready", generousMs, async () => (await read("/readyz")).status === 200);
  const attack = { isDone: false };
  /** The longest wait of another client in each round of the attack. */
  const longest: number[] = [];
  const notReady: string[] = [];
  const others = (async () => {
    using agent = { agent: new Agent({ keepAlive: true }), [Symbol.dispose]: () => agent.agent.destroy() };
    while (!attack.isDone) {
      const askedAt = performance.now();
      const { text } = await post(url, call("eth_chainId", "[]"), { agent: agent.agent, localAddress: other });
      expect(text).toBe('{"jsonrpc":"2.0","id":1,"result":"0x688"}');
      longest[longest.length - 1] = Math.max(longest.at(-1) ?? 0, performance.now() - askedAt);
      const readiness = await read("/readyz");
      if (readiness.status !== 200) notReady.push(readiness.text);
      await sleep(20);
    }
  })();
  using agent = { agent: new Agent({ keepAlive: true, maxSockets: 1 }), [Symbol.dispose]: () => agent.agent.destroy() };
  const outcomes = new Map<string, string[]>();
  for (let round = 0; round < 3; round += 1) {
    longest.push(0);
    for (const [name, body] of Object.entries(messages)) {
      const { text } = await post(url, body, { agent: agent.agent, localAddress: attacker });
      outcomes.set(name, [...(outcomes.get(name) ?? []), text.slice(0, 80)]);
    }
  }
  attack.isDone = true;
  await others;
  for (const name of ["empty params", "keys in a filter", "keys in tracer options"]) {
    expect(outcomes.get(name)?.every((text) => /"code":-32(600|005)/.test(text))).toBe(true);
  }
  // Compares rounds, because the messages are the same in each, while a busy machine delays only some.
  expect(Math.min(...longest)).toBeLessThan(waitMs);
  expect(notReady).toEqual([]);
  const { events } = JSON.parse((await read("/status")).text) as { events: readonly { message: string }[] };
  expect(events.filter(({ message }) => message.startsWith("RpcResponding is False"))).toEqual([]);
});
