import { expect, test } from "vitest";
import {
  buildSettleResponse,
  readSettleState,
  buildVerifyResponse,
  readVerifyState,
  refuse,
  type SettleAnswer,
} from "./answer.ts";
import { reason } from "./reason.ts";

const network = "eip155:1672";
const payer = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const transaction = `0x${"ab".repeat(32)}` as const;
const refusal = { reason: reason.balance, message: "too little." };

test.each<readonly [SettleAnswer, object, ReturnType<typeof readSettleState>]>([
  [{ state: "settled", transaction }, { success: true, transaction }, "settled"],
  [
    { state: "refused", refusal },
    { success: false, errorReason: refusal.reason, errorMessage: refusal.message, transaction: "" },
    "refused",
  ],
  [
    { state: "failed", transaction, reason: reason.transaction, message: "reverted." },
    { success: false, errorReason: reason.transaction, errorMessage: "reverted.", transaction },
    "refused",
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
    "refused",
  ],
])("builds a /settle response for $state that a seller can read", (answer, body, state) => {
  const said = buildSettleResponse({ answer, payer }, network);
  expect(said).toEqual({ ...body, network, payer });
  expect(readSettleState(said)).toBe(state);
  expect(buildSettleResponse({ answer, payer: undefined }, network)).toEqual({ ...body, network });
});

test("builds a /verify response with the verdict and its reason", () => {
  expect(buildVerifyResponse({ answer: { state: "valid" }, payer })).toEqual({ isValid: true, payer });
  const refused = buildVerifyResponse(refuse(refusal, undefined));
  expect(refused).toEqual({ isValid: false, invalidReason: refusal.reason, invalidMessage: refusal.message });
  expect([readVerifyState({ isValid: true }), readVerifyState(refused)]).toEqual(["valid", "refused"]);
});

test("treats unexpected_error verdicts as no verdict", () => {
  for (const fault of ["unexpected_verify_error", "unexpected_settle_error", "unexpected_error"]) {
    expect(readVerifyState({ isValid: false, invalidReason: fault })).toBeUndefined();
    expect(readSettleState({ success: false, errorReason: fault })).toBe("pending");
  }
  expect(readSettleState({ success: false })).toBe("refused");
});
