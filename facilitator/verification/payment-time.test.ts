import { expect, test } from "vitest";
import { rejectTime } from "./payment-time.ts";

const nowSeconds = 1_800_000_000n;
const authorization = {
  from: "0x0000000000000000000000000000000000000001",
  to: "0x0000000000000000000000000000000000000002",
  value: 1n,
  validAfter: nowSeconds - 1n,
  validBefore: nowSeconds + 6n,
  nonce: `0x${"00".repeat(32)}`,
} as const;

test.each([
  ["just begun and just long enough", {}, undefined],
  ["ends too soon", { validBefore: nowSeconds + 5n }, "invalid_exact_evm_payload_authorization_valid_before"],
  ["begins this very second", { validAfter: nowSeconds }, "invalid_exact_evm_payload_authorization_valid_after"],
  ["never ends", { validBefore: 2n ** 256n - 1n }, undefined],
])("an authorization that %s", (_, changes, reason) => {
  expect(rejectTime({ ...authorization, ...changes }, Number(nowSeconds) * 1_000)?.reason).toBe(reason);
});
