import { expect, test } from "vitest";
import { withLogIndexOfTransaction } from "./rpc-server.ts";

const log = (transactionHash: string, logIndex: string) => ({ transactionHash, logIndex, data: "0x" });
const receipts: Readonly<Record<string, object>> = {
  first: { logs: [log("first", "0x0"), log("first", "0x1")] },
  second: { logs: [log("second", "0x2"), log("second", "0x3")] },
};

const answers: Readonly<Record<string, (hash?: string) => unknown>> = {
  eth_getLogs: () => [log("first", "0x1"), log("second", "0x3")],
  eth_getTransactionReceipt: (hash = "") => receipts[hash] ?? null,
  eth_getBlockReceipts: () => Object.values(receipts),
  eth_blockNumber: () => "0x1",
};

const { request } = withLogIndexOfTransaction({
  request: async <T>(method: string, params: readonly unknown[] = []) => answers[method]?.(params[0] as string) as T,
});

test("logs are numbered within their transaction, also those that a filter has left", async () => {
  expect(await request("eth_getLogs", [{}])).toEqual([log("first", "0x1"), log("second", "0x1")]);
  expect(await request("eth_getTransactionReceipt", ["second"])).toEqual({
    logs: [log("second", "0x0"), log("second", "0x1")],
  });
  expect(await request("eth_getBlockReceipts", ["0x1"])).toEqual([
    { logs: [log("first", "0x0"), log("first", "0x1")] },
    { logs: [log("second", "0x0"), log("second", "0x1")] },
  ]);
  expect(await request("eth_getTransactionReceipt", ["third"])).toBeNull();
  expect(await request("eth_blockNumber")).toBe("0x1");
});
