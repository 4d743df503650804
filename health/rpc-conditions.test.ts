import { expect, test } from "vitest";
import { deriveRpcConditions, deriveHealthInfo } from "./rpc-conditions.ts";
import type { RpcState } from "./rpc-state.ts";

const limits = { url: "http://127.0.0.1:18100", chainId: 1672, staleAfterMs: 30_000 };
const now = { monotonicMs: 100_000, wallMs: 1_700_000_000_000 };
const failure = {
  reason: "ConnectionRefused",
  message: "http://127.0.0.1:18100 can't be reached (ECONNREFUSED).",
} as const;
const silent: RpcState = {
  answers: 9,
  height: 16,
  highest: 16,
  heightSinceMs: 0,
  answeredAtMs: now.wallMs - 60_000,
  failure,
};

test.each<[string, RpcState]>([
  ["had steady blocks", { ...silent, cadence: "steady" }],
  ["had irregular blocks", silent],
  ["has references that advance", { ...silent, reference: { height: 99, requestedAtMs: 90_000 } }],
  ["had lost blocks", { ...silent, highest: 20 }],
])("reports an unknown height while the RPC is unresponsive, for a node that %s", (_, health) => {
  expect(deriveRpcConditions(health, limits, now).advancing).toEqual({
    type: "HeightAdvancing",
    status: "Unknown",
    reason: "NoResponse",
    message: "The RPC is not responding, so the height is not known; it was 16 at 2023-11-14T22:12:20.000Z.",
  });
});

test("reports an unknown height, without a past one, for a node that has never responded", () => {
  expect(deriveRpcConditions({ answers: 0, failure }, limits, now).advancing).toEqual({
    type: "HeightAdvancing",
    status: "Unknown",
    reason: "NoResponse",
    message: "The RPC is not responding, so the height is not known.",
  });
});

test("keeps the last height result after an unresponsive check", () => {
  const before = { height: { reason: "Stalled", message: "Stalled." } } as const;
  expect(deriveHealthInfo(deriveRpcConditions(silent, limits, now), before, now)).not.toHaveProperty("height");
});
