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
  ["had blocks steadily", { ...silent, cadence: "steady" }],
  ["had blocks now and then", silent],
  ["has references that go on", { ...silent, reference: { height: 99, requestedAtMs: 90_000 } }],
  ["had lost blocks", { ...silent, highest: 20 }],
])(
  "the height of a node that %s is not known while the RPC does not answer, and its calls are not called served",
  (_, health) => {
    expect(deriveRpcConditions(health, limits, now).advancing).toEqual({
      type: "HeightAdvancing",
      status: "Unknown",
      reason: "NoResponse",
      message: "The RPC is not responding, so the height is not known; it was 16 at 2023-11-14T22:12:20.000Z.",
    });
  },
);

test("the height of a node that has never answered is not known, and nothing is said of the past", () => {
  expect(deriveRpcConditions({ answers: 0, failure }, limits, now).advancing).toEqual({
    type: "HeightAdvancing",
    status: "Unknown",
    reason: "NoResponse",
    message: "The RPC is not responding, so the height is not known.",
  });
});

test("a look without an answer leaves what the last one found of the height: one slow answer makes a node that is behind fit for nothing", () => {
  const before = { height: { reason: "Stalled", message: "Stalled." } } as const;
  expect(deriveHealthInfo(deriveRpcConditions(silent, limits, now), before, now)).not.toHaveProperty("height");
});
