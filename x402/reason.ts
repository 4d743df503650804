/**
 * Reasons for a rejected payment or a failed settlement, with the names shared by clients: those of `@x402/evm` if available, else those of
 * the error list in the specification of x402 version 2. Neither has `duplicate_settlement` and `payment_identifier_conflict`.
 */
export const reason = {
  version: "invalid_x402_version",
  scheme: "unsupported_scheme",
  network: "invalid_network",
  requirements: "invalid_payment_requirements",
  payloadType: "unsupported_payload_type",
  missingDomain: "invalid_exact_evm_missing_eip712_domain",
  tokenName: "invalid_exact_evm_token_name_mismatch",
  tokenVersion: "invalid_exact_evm_token_version_mismatch",
  recipient: "invalid_exact_evm_recipient_mismatch",
  value: "invalid_exact_evm_payload_authorization_value_mismatch",
  signature: "invalid_exact_evm_signature",
  validBefore: "invalid_exact_evm_payload_authorization_valid_before",
  validAfter: "invalid_exact_evm_payload_authorization_valid_after",
  nonceUsed: "invalid_exact_evm_nonce_already_used",
  balance: "invalid_exact_evm_insufficient_balance",
  simulation: "invalid_exact_evm_transaction_simulation_failed",
  transaction: "invalid_exact_evm_transaction_failed",
  transferEvent: "invalid_exact_evm_transfer_event_mismatch",
  permit2Proxy: "permit2_proxy_not_deployed",
  permit2Signature: "invalid_permit2_signature",
  permit2Token: "permit2_token_mismatch",
  permit2Spender: "invalid_permit2_spender",
  permit2Recipient: "invalid_permit2_recipient_mismatch",
  permit2Amount: "permit2_amount_mismatch",
  permit2Deadline: "permit2_deadline_expired",
  permit2Early: "permit2_not_yet_valid",
  permit2Nonce: "permit2_invalid_nonce",
  permit2Balance: "permit2_insufficient_balance",
  permit2Allowance: "permit2_allowance_required",
  permit2Simulation: "permit2_simulation_failed",
  approvalFormat: "invalid_eip2612_extension_format",
  approvalFrom: "eip2612_from_mismatch",
  approvalAsset: "eip2612_asset_mismatch",
  approvalSpender: "eip2612_spender_not_permit2",
  approvalAmount: "permit2_2612_amount_mismatch",
  uptoFacilitator: "upto_facilitator_mismatch",
  uptoAmount: "invalid_upto_evm_payload_settlement_exceeds_amount",
  pending: "settlement_pending",
  duplicate: "duplicate_settlement",
  identifier: "payment_identifier_conflict",
} as const;

/** Reason code. */
export type Reason = (typeof reason)[keyof typeof reason];

/** Rejection of a payment: a code for programs, and a sentence for humans. */
export type Refusal = Readonly<{ reason: Reason; message: string }>;

/** Returns whether a check resulted in a rejection. */
export function isRefusal(judged: object): judged is Refusal {
  return "reason" in judged;
}
