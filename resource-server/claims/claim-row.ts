import type { PaymentPayload, PaymentRequirements, SettleResponse } from "@x402/core/types";
import { z } from "zod";
import type { ClaimKey, PaymentClaim } from "./payment-claim.ts";
import type { SoldResponse } from "../sold-response.ts";

const keyColumns = z.object({ network: z.string(), asset: z.string(), payer: z.string(), nonce: z.string() });

const row = keyColumns.extend({
  state: z.enum(["working", "settling", "settled", "delivered"]),
  route: z.string(),
  fingerprint: z.string(),
  digest: z.string(),
  payload: z.string().nullable(),
  requirements: z.string(),
  idempotency_key: z.string(),
  valid_before: z.number(),
  status: z.number().nullable(),
  headers: z.string().nullable(),
  body: z.instanceof(Uint8Array<ArrayBuffer>).nullable(),
  settlement: z.string().nullable(),
});

/** Makes a claim's key of a row of table `claims`. */
export function claimKeyFromRow(raw: unknown): ClaimKey {
  return keyColumns.parse(raw);
}

/** Makes a claim of a row of table `claims`. */
export function claimFromRow(raw: unknown): PaymentClaim {
  const { network, asset, payer, nonce, state, route, fingerprint, digest, ...columns } = row.parse(raw);
  return {
    key: { network, asset, payer, nonce },
    state,
    route,
    fingerprint,
    digest,
    payload: columns.payload === null ? undefined : (JSON.parse(columns.payload) as PaymentPayload),
    requirements: JSON.parse(columns.requirements) as PaymentRequirements,
    idempotencyKey: columns.idempotency_key,
    validBefore: columns.valid_before,
    response: responseOf(columns),
    settlement: columns.settlement === null ? undefined : (JSON.parse(columns.settlement) as SettleResponse),
  };
}

type ResponseColumns = Pick<z.output<typeof row>, "status" | "headers" | "body">;

function responseOf({ status, headers, body }: ResponseColumns): SoldResponse | undefined {
  if (status === null || headers === null || body === null) return undefined;
  return { status, headers: JSON.parse(headers) as SoldResponse["headers"], body };
}
