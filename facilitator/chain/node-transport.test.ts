import pino from "pino";
import { expect, test } from "vitest";
import { ChainError } from "./chain-error.ts";
import { createFailover } from "./node-transport.ts";

type Behaviour = "answers" | "is down" | "rejects";

/** A node whose behaviour a test changes, and the calls posted to it. */
function createNode(name: string, chainId = 1672) {
  const node = { behaviour: "answers" as Behaviour, posted: [] as string[] };
  const post = async (body: string) => {
    const { method } = JSON.parse(body) as { method: string };
    node.posted.push(method);
    if (node.behaviour === "is down") throw new ChainError("unreachable", "the node can't be reached");
    if (node.behaviour === "rejects") throw new ChainError("rejected", "the node rejected");
    const result = method === "eth_chainId" ? `0x${chainId.toString(16)}` : name;
    return JSON.stringify({ jsonrpc: "2.0", id: 0, result });
  };
  return Object.assign(node, {
    origin: `http://${name}`,
    transport: { post, [Symbol.asyncDispose]: async () => undefined },
  });
}

function open(...nodes: ReturnType<typeof createNode>[]) {
  const lines: { event: string; node: string }[] = [];
  const log = pino({ level: "info" }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const time = { nowMs: 0 };
  const failover = createFailover(nodes, { chainId: 1672, monotonicMs: () => time.nowMs, log });
  const ask = async () => {
    const text = await failover.post(JSON.stringify({ id: 0, method: "ask" }), new AbortController().signal);
    return (JSON.parse(text) as { result: string }).result;
  };
  const abortPost = () => failover.post(JSON.stringify({ id: 0, method: "ask" }), AbortSignal.abort());
  return { ask, abortPost, time, events: () => lines.map(({ event, node }) => `${event} ${node}`) };
}

test("fails over to the second node, and returns to the first after its recovery", async () => {
  const [firstNode, secondNode] = [createNode("first"), createNode("second")];
  const { ask, time, events } = open(firstNode, secondNode);
  expect(await ask()).toBe("first");
  expect(secondNode.posted).toEqual([]);
  firstNode.behaviour = "is down";
  expect([await ask(), await ask()]).toEqual(["second", "second"]);
  expect(secondNode.posted, "its chain is checked once").toEqual(["eth_chainId", "ask", "ask"]);
  expect(firstNode.posted, "it is left alone").toEqual(["ask", "ask"]);
  time.nowMs += 5_000;
  expect(await ask(), "a probe that fails delays nothing").toBe("second");
  firstNode.behaviour = "answers";
  time.nowMs += 5_000;
  await ask();
  await new Promise((resolve) => setImmediate(resolve));
  expect(await ask()).toBe("first");
  expect(events()).toEqual(["node-failed http://first", "node-recovered http://first"]);
});

test("fails over from a node whose callers gave up only if a probe fails, too", async () => {
  const [first, second] = [createNode("first"), createNode("second")];
  const { ask, abortPost, time } = open(first, second);
  time.nowMs = 5_000;
  first.behaviour = "rejects";
  await expect(abortPost()).rejects.toThrow("the node rejected");
  first.behaviour = "answers";
  await new Promise((resolve) => setImmediate(resolve));
  expect(await ask(), "only the caller left").toBe("first");
  first.behaviour = "is down";
  time.nowMs = 10_000;
  await expect(abortPost()).rejects.toThrow("can't be reached");
  await new Promise((resolve) => setImmediate(resolve));
  expect(await ask()).toBe("second");
  expect(first.posted).toEqual(["ask", "eth_chainId", "ask", "ask", "eth_chainId"]);
});

test("never uses a node on another chain", async () => {
  const [firstNode, wrongChainNode, thirdNode] = [createNode("first"), createNode("wrong", 1), createNode("third")];
  const { ask, events } = open(firstNode, wrongChainNode, thirdNode);
  firstNode.behaviour = "is down";
  expect([await ask(), await ask()]).toEqual(["third", "third"]);
  expect(wrongChainNode.posted).toEqual(["eth_chainId"]);
  expect(events()).toContain("node-wrong-chain http://wrong");
});

test("does not retry a rejected call on another node, and names the setting if all nodes are down", async () => {
  const [first, second] = [createNode("first"), createNode("second")];
  const { ask } = open(first, second);
  first.behaviour = "rejects";
  await expect(ask()).rejects.toThrow("the node rejected");
  expect(second.posted).toEqual([]);
  first.behaviour = second.behaviour = "is down";
  await expect(ask()).rejects.toThrow("can't be reached");
  await expect(ask()).rejects.toThrow("chain.fallbackRpcUrls");
});
