import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import type { Hex } from "viem";
import { expect, it } from "vitest";
import { WebSocket } from "ws";
import { createSubject } from "#devnet/testing/rpc-subject.ts";
import { startTestNode } from "#devnet/testing/rpc-fixture.ts";
import { startTestGateway } from "#gateway/testing/test-gateway.ts";
import { generousMs, until } from "#daemon/testing/until.ts";

/** A TCP relay to a port, which can be interrupted and kept closed. */
async function startWay(target: string) {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  const state = { isShut: false };
  const server = createServer((client) => {
    if (state.isShut) {
      client.destroy();
      return;
    }
    const node = connect(Number(port), hostname);
    for (const [one, other] of [
      [client, node],
      [node, client],
    ] as const) {
      sockets.add(one);
      one.on("error", () => one.destroy());
      one.on("close", () => {
        sockets.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    shut: () => {
      state.isShut = true;
      cut();
    },
    open: () => {
      state.isShut = false;
    },
    [Symbol.asyncDispose]: async () => {
      cut();
      server.close();
      await once(server, "close");
    },
  };
}

/** Subscribes to heads and logs over a WebSocket, each in order of arrival. */
async function follow(url: string, address: string) {
  const socket = new WebSocket(url);
  const ids: string[] = [];
  const reported = new Map<string, unknown[]>();
  socket.on("message", (data: Buffer) => {
    const message = JSON.parse(data.toString()) as {
      id?: number;
      result?: string;
      params?: { subscription: string; result: unknown };
    };
    if (message.params === undefined) ids[message.id!] = message.result!;
    else
      reported.set(message.params.subscription, [
        ...(reported.get(message.params.subscription) ?? []),
        message.params.result,
      ]);
  });
  await once(socket, "open");
  for (const [id, params] of [["newHeads"], ["logs", { address }]].entries()) {
    socket.send(JSON.stringify({ jsonrpc: "2.0", id, method: "eth_subscribe", params }));
    await until("the subscription exists", generousMs, async () => ids[id] !== undefined);
  }
  return {
    heads: () => reported.get(ids[0]!) ?? [],
    logs: () => reported.get(ids[1]!) ?? [],
    [Symbol.dispose]: () => socket.terminate(),
  };
}

it("after a lost node connection, a gateway client gets the same notifications as a direct client of the node", async () => {
  await using node = await startTestNode();
  const { contract, wallet } = await createSubject(node);
  await using way = await startWay(node.rpc.webSocketUrl);
  await using gateway = await startTestGateway(
    { httpUrl: node.rpc.httpUrl, webSocketUrl: way.url },
    { webSocket: { reconnectMs: 50 } },
  );
  await gateway.shows("gatehouse_gateway_upstream_subscriptions 1");
  using direct = await follow(node.rpc.webSocketUrl, contract);
  using through = await follow(gateway.url.replace("http", "ws"), contract);
  const data: Hex = `0x${"22".repeat(32)}`;
  const mine = async () => {
    await wallet.send({ to: contract as Hex, data });
    await node.anvil.mine();
  };
  await mine();
  await until("the first block arrives", generousMs, async () => through.heads().length === 1);
  way.shut();
  for (let blocks = 0; blocks < 3; blocks += 1) await mine();
  expect(through.heads()).toHaveLength(1);
  way.open();
  await until("the gap is bridged", generousMs, async () => through.heads().length === 4);
  await mine();
  await until(
    "everything has arrived",
    generousMs,
    async () => through.heads().length === 5 && direct.heads().length === 5,
  );
  await until(
    "all logs have arrived",
    generousMs,
    async () => through.logs().length === 5 && direct.logs().length === 5,
  );
  expect(through.heads()).toEqual(direct.heads());
  expect(through.logs()).toEqual(direct.logs());
});
