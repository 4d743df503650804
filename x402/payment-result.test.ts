import { expect, test } from "vitest";
import {
  buildSettleResponse,
  readSettleState,
  buildVerifyResponse,
  readVerifyState,
  reject,
  type SettleResult,
} from "./payment-result.ts";
import { reason } from "./reason.ts";

const network = "eip155:1672";
const payer = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const transaction = `0x${"ab".repeat(32)}` as const;
const rejection = { reason: reason.balance, message: "too little." };

test.each<readonly [SettleResult, object, ReturnType<typeof readSettleState>]>([
  [{ state: "settled", transaction }, { success: true, transaction }, "settled"],
  [
    { state: "rejected", rejection },
    { success: false, errorReason: rejection.reason, errorMessage: rejection.message, transaction: "" },
    "rejected",
  ],
  [
    { state: "failed", transaction, reason: reason.transaction, message: "reverted." },
    { success: false, errorReason: reason.transaction, errorMessage: "reverted.", transaction },
    "rejected",
  ],
  [
    { state: "pending", transaction: "" },
    {
      success: false,
      errorReason: "settlement_pending",
      errorMessage:
        "the transaction was sent but its outcome is not known yet; settle the same payment again to get it.",
      transaction: "",
    },
    "pending",
  ],
  [
    { state: "duplicate", transaction },
    {
      success: false,
      errorReason: "duplicate_settlement",
      errorMessage:
        "the payment belongs to the call that settled it first. Do not deliver anything for this one. To get the outcome of your own settlement, send the same Idempotency-Key each time.",
      transaction,
    },
    "rejected",
  ],
])("builds a /settle response for $state that a seller can read", (answer, body, state) => {
  const said = buildSettleResponse({ result: answer, payer }, network);
  expect(said).toEqual({ ...body, network, payer });
  expect(readSettleState(said)).toBe(state);
  expect(buildSettleResponse({ result: answer, payer: undefined }, network)).toEqual({ ...body, network });
});

test("builds a /verify response with the verdict and its reason", () => {
  expect(buildVerifyResponse({ result: { state: "valid" }, payer })).toEqual({ isValid: true, payer });
  const rejected = buildVerifyResponse(reject(rejection, undefined));
  expect(rejected).toEqual({ isValid: false, invalidReason: rejection.reason, invalidMessage: rejection.message });
  expect([readVerifyState({ isValid: true }), readVerifyState(rejected)]).toEqual(["valid", "rejected"]);
});

test("treats unexpected_error verdicts as no verdict", () => {
  for (const fault of ["unexpected_verify_error", "unexpected_settle_error", "unexpected_error"]) {
    expect(readVerifyState({ isValid: false, invalidReason: fault })).toBeUndefined();
    expect(readSettleState({ success: false, errorReason: fault })).toBe("pending");
  }
  expect(readSettleState({ success: false })).toBe("rejected");
});
