import { once } from "node:events";
import { getContractAddress, type Hex } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import { WebSocket } from "ws";
import { within } from "#daemon/time.ts";
import {
  createWallet,
  encodeCreation,
  sender,
  startTestNode,
  writerCode,
  type TestNode,
  type Wallet,
} from "#devnet/testing/rpc-fixture.ts";

let node: TestNode;
let wallet: Wallet;
let contract: Hex;
beforeAll(async () => {
  node = await startTestNode();
  wallet = await createWallet(node);
  contract = getContractAddress({ from: sender.address, nonce: 0n });
  await wallet.send({ data: encodeCreation(writerCode) });
  await node.anvil.mine();
});
afterAll(() => node[Symbol.asyncDispose]());

type Message = Record<string, unknown> & { params?: { subscription: string; result: Record<string, unknown> } };

async function open() {
  const socket = new WebSocket(node.rpc.webSocketUrl);
  const receivedMessages: Message[] = [];
  let wake: (() => void) | undefined;
  socket.on("message", (data) => {
    receivedMessages.push(JSON.parse(String(data)) as Message);
    wake?.();
  });
  await once(socket, "open");
  const next = async (): Promise<Message> => {
    while (receivedMessages.length === 0) await new Promise<void>((resolve) => (wake = resolve));
    return receivedMessages.shift()!;
  };
  return {
    socket,
    send: (text: string) => socket.send(text),
    ask: async (method: string, ...params: unknown[]) => {
      socket.send(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }));
      return within(`response to ${method}`, 5_000, next());
    },
    next: () => within("message", 5_000, next()),
    [Symbol.dispose]: () => socket.close(),
  };
}

test("sends each block's header to a newHeads subscription until it is cancelled", async () => {
  using connection = await open();
  const { result: id } = await connection.ask("eth_subscribe", "newHeads");
  expect(id).toMatch(/^0x[0-9a-f]{32}$/);
  const blocks = [await node.anvil.mine(), await node.anvil.mine()];
  for (const block of blocks) {
    const { method, params } = await connection.next();
    expect(method).toBe("eth_subscription");
    expect(params?.subscription).toBe(id);
    expect(params?.result).toMatchObject({ number: block.number, hash: block.hash, parentHash: block["parentHash"] });
    expect(params?.result).not.toHaveProperty("transactions");
  }
  expect(await connection.ask("eth_unsubscribe", id)).toMatchObject({ result: true });
  await node.anvil.mine();
  expect(await connection.ask("eth_chainId")).toMatchObject({ result: "0x688" });
  expect(await connection.ask("eth_unsubscribe", id)).toMatchObject({
    error: { code: -32000, message: "subscription not found" },
  });
});

test("sends only matching logs to a logs subscription", async () => {
  using connection = await open();
  const topic = `0x${"aa".padStart(64, "0")}`;
  const { result: wanted } = await connection.ask("eth_subscribe", "logs", { address: contract, topics: [topic] });
  await connection.ask("eth_subscribe", "logs", { address: [sender.address] });
  await connection.ask("eth_subscribe", "logs", { topics: [null, topic] });
  const { result: everything } = await connection.ask("eth_subscribe", "logs");
  const data = `0x${"77".repeat(32)}` as const;
  const transactionHash = await wallet.send({ to: contract, data });
  await node.anvil.mine();
  const messages = [await connection.next(), await connection.next()];
  expect(messages.map(({ params }) => params?.subscription)).toEqual([wanted, everything]);
  for (const { params } of messages) expect(params?.result).toMatchObject({ data, transactionHash, removed: false });
  expect(await connection.ask("eth_chainId")).toMatchObject({ result: "0x688" });
});

test("responds to eth_subscribe before the first notification, even in a batch", async () => {
  using connection = await open();
  const calls = Array.from({ length: 50 }, (_, id) => ({ jsonrpc: "2.0", id, method: "eth_gasPrice" }));
  const subscribe = { jsonrpc: "2.0", id: "s", method: "eth_subscribe", params: ["newHeads"] };
  connection.send(JSON.stringify([subscribe, ...calls]));
  await node.anvil.mine();
  expect(await connection.next()).toHaveLength(51);
  await node.anvil.mine();
  expect((await connection.next())["method"]).toBe("eth_subscription");
});

test("keeps the connection open after an invalid message or an unknown subscription", async () => {
  using connection = await open();
  connection.send("{");
  expect(await connection.next()).toMatchObject({ id: null, error: { code: -32700 } });
  connection.socket.send(Buffer.from('{"jsonrpc":"2.0","id":null,"method":"net_version"}'));
  expect(await connection.next()).toEqual({ jsonrpc: "2.0", id: null, result: "1672" });
  expect(await connection.ask("eth_subscribe", "logs", { address: "0x12" })).toMatchObject({ error: { code: -32602 } });
  const error = { code: -32601, message: 'no "newPendingTransactions" subscription in eth namespace' };
  expect(await connection.ask("eth_subscribe", "newPendingTransactions")).toMatchObject({ error });
});

test("closes connections with 1001 when the node stops", async () => {
  const other = await startTestNode();
  const socket = new WebSocket(other.rpc.webSocketUrl);
  await once(socket, "open");
  const closed = once(socket, "close");
  await other[Symbol.asyncDispose]();
  expect((await closed)[0]).toBe(1001);
});
