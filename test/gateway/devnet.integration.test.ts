import { isDeepStrictEqual } from "node:util";
import { JsonRpcProvider, WebSocketProvider } from "ethers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSubject, type TestSubject } from "#devnet/testing/rpc-subject.ts";
import { startTestNode, type TestNode } from "#devnet/testing/rpc-fixture.ts";
import { specifiedMethods } from "#gateway/catalogue/methods.ts";
import { limitlessTier } from "#gateway/testing/limitless-tier.ts";
import { connectTestClient } from "#gateway/testing/test-client.ts";
import { post, startTestGateway, type TestGateway } from "#gateway/testing/test-gateway.ts";
import { buildParamValues, listVariedCalls } from "./param-variants.ts";

async function answerOf(url: string, method: string, params: readonly unknown[]): Promise<unknown> {
  return JSON.parse((await post(url, JSON.stringify({ jsonrpc: "2.0", id: 77, method, params }))).text);
}

describe("the gateway in front of a devnet node", () => {
  let node: TestNode;
  let subject: TestSubject;
  let gateway: TestGateway;
  beforeAll(async () => {
    node = await startTestNode();
    subject = await createSubject(node);
    const settings = { tiers: { public: limitlessTier, internal: limitlessTier }, internal: { enabled: true } };
    gateway = await startTestGateway(node.rpc, settings);
  });
  afterAll(async () => {
    await gateway?.[Symbol.asyncDispose]();
    await node?.[Symbol.asyncDispose]();
  });

  const comparedMethods = specifiedMethods.filter(
    ({ answeredBy, name }) => answeredBy === "node" && name !== "eth_sendRawTransaction",
  );
  it.each(comparedMethods.map(({ name }) => name))(
    "responds to %s like the node itself, with any params",
    async (name) => {
      const [plainest, ...others] = listVariedCalls(
        comparedMethods.find((method) => method.name === name)!,
        buildParamValues(subject),
      );
      const through = gateway.urls["internal"]!;
      const direct = await answerOf(node.rpc.httpUrl, name, plainest!.params);
      expect(direct).not.toHaveProperty("error");
      for (const { params } of [plainest!, ...others]) {
        const [before, ...responses] = [
          await answerOf(node.rpc.httpUrl, name, params),
          await answerOf(through, name, params),
          await answerOf(through, name, params),
          await answerOf(node.rpc.httpUrl, name, params),
        ];
        // A pending block contains the time of the request.
        if (JSON.stringify(params).includes("pending") && !isDeepStrictEqual(before, responses[2])) continue;
        for (const response of responses) expect(response, JSON.stringify(params)).toEqual(before);
      }
    },
  );

  it("serves ethers over HTTP and WebSocket", async () => {
    const overHttp = new JsonRpcProvider(gateway.url);
    const overWebSocket = new WebSocketProvider(gateway.url.replace("http", "ws"));
    expect((await overHttp.getNetwork()).chainId).toBe(1_672n);
    expect(await overHttp.getBlockNumber()).toBe(await overWebSocket.getBlockNumber());
    const receipt = await overHttp.getTransactionReceipt(subject.transaction);
    expect(receipt?.blockHash).toBe(subject.blockHash);
    await expect(overHttp.send("eth_nothing", [])).rejects.toThrow("does not exist/is not available");
    const seen = Promise.withResolvers<number>();
    await overWebSocket.on("block", seen.resolve);
    const { number } = await node.anvil.mine();
    expect(await seen.promise).toBeGreaterThanOrEqual(Number(number));
    overHttp.destroy();
    await overWebSocket.destroy();
  });

  it("shows a transaction sent through it at once", async () => {
    const responseBefore = await answerOf(gateway.url, "eth_getTransactionCount", [subject.account, "pending"]);
    const { result } = (await answerOf(gateway.url, "eth_sendRawTransaction", [subject.signed])) as { result: string };
    expect(result).toMatch(/^0x[0-9a-f]{64}$/);
    await node.anvil.mine();
    const receipt = (await answerOf(gateway.url, "eth_getTransactionReceipt", [result])) as {
      result: { status: string };
    };
    expect(receipt.result.status).toBe("0x1");
    expect(responseBefore).toHaveProperty("result");
  });

  it("caps the gas of a call whose block override allows more, over any transport", async () => {
    const { url: httpUrl, webSocketUrl } = node.anvil;
    await using cappingGateway = await startTestGateway(
      { httpUrl, webSocketUrl },
      { tiers: { public: limitlessTier }, limits: { traceCallOverrides: true } },
    );
    await using client = await connectTestClient(cappingGateway.url);
    const to = `0x${"ab".repeat(20)}`;
    // EVM code that returns the remaining gas.
    const state = { [to]: { code: "0x5a5f5260205ff3" } };
    // EVM code that stops if more than 60,000,000 gas remains, and fails otherwise.
    const greedy = { [to]: { code: "0x63039387005a11600b57fe5b00" } };
    const blocks = [{ gasLimit: "0xffffffffff" }, [null, null, null, "0xffffffffff", null, null, null, null]];
    const calls: [string, unknown[]][] = blocks.flatMap((block) =>
      [{ to }, { to, gas: null }, { to, gasLimit: "0xffffffff" }].flatMap((given): [string, unknown[]][] => [
        ["eth_call", [given, "latest", state, block]],
        ["eth_estimateGas", [given, "latest", greedy, block]],
      ]),
    );
    const [blockOverrides] = blocks;
    calls.push(["debug_traceCall", [{ to }, "latest", { stateOverrides: state, blockOverrides }]]);
    const texts = calls.map(([method, params], id) => JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    const batched = JSON.parse(
      (await post(cappingGateway.url, `[${[...texts, ...texts].join(",")}]`)).text,
    ) as object[];
    const alone = await Promise.all(texts.map(async (text) => JSON.parse((await post(cappingGateway.url, text)).text)));
    const overWebSocket: unknown[] = [];
    for (const text of texts) overWebSocket.push(JSON.parse(await client.ask(text)));
    for (const responses of [batched.slice(0, calls.length), batched.slice(calls.length), alone, overWebSocket]) {
      for (const [at, response] of (responses as { result?: string | { output: string } }[]).entries()) {
        const { result } = response;
        if (calls[at]![0] === "eth_estimateGas") {
          expect(response).toHaveProperty("error");
          continue;
        }
        const left = Number(typeof result === "object" ? result.output : result);
        expect([texts[at], left > 49_900_000 && left < 50_000_000]).toEqual([texts[at], true]);
      }
    }
  });
});
