import { z } from "zod";
import { errorBody, type Api, type ApiResponse, type ApiOperation } from "#daemon/http/open-api.ts";
import { termsCheckHeader } from "#x402/envelope.ts";

const requirements = z.object({
  scheme: z.string(),
  network: z.string().describe("CAIP-2 network, such as eip155:1672"),
  amount: z.string().describe("In the token's smallest unit"),
  asset: z.string().describe("Token address"),
  payTo: z.string(),
  maxTimeoutSeconds: z.number(),
  extra: z.record(z.string(), z.unknown()).optional(),
});

const paymentRequest = z.object({
  x402Version: z.literal(2).optional(),
  paymentPayload: z
    .looseObject({
      x402Version: z.literal(2),
      accepted: requirements,
      payload: z
        .record(z.string(), z.unknown())
        .describe("Scheme-specific: signature, and authorization (EIP-3009) or permit2Authorization (Permit2)"),
    })
    .describe("Decoded PAYMENT-SIGNATURE header"),
  paymentRequirements: requirements.describe("Payment requirements from the seller"),
});

const verdict = z.object({
  isValid: z.boolean(),
  invalidReason: z.string().optional(),
  invalidMessage: z.string().optional(),
  payer: z.string().optional(),
});

const settlement = z.object({
  success: z.boolean(),
  transaction: z.string().describe("Transaction hash; empty if none was sent"),
  amount: z.string().optional().describe("For upto, the amount charged, in the token's smallest units"),
  network: z.string(),
  payer: z.string().optional(),
  errorReason: z.string().optional(),
  errorMessage: z.string().optional(),
});

const rejections: Readonly<Record<number, ApiResponse>> = Object.fromEntries(
  Object.entries({
    400: "Not a valid payment request; the error has the path of the invalid field",
    401: "The API key is missing or wrong",
    413: "The body is too large",
    415: "The body is not JSON, or is compressed",
    500: "The chain can't be queried, which says nothing about the payment",
    429: "Too many of the seller's payments are being verified, or a limit of the seller's own is reached; Retry-After says when to retry",
    503: "Too many requests in flight, or the ledger is unavailable; Retry-After says when to retry",
  }).map(([status, description]) => [status, { description, body: errorBody }]),
);

const callers = ["bearer", "apiKey"] as const;

const operations: readonly ApiOperation[] = [
  {
    method: "post",
    path: "/verify",
    summary: "Whether a payment would settle now",
    security: callers,
    headers: [
      { name: termsCheckHeader, description: "Marks a seller's check of its terms, which is not counted as a payment" },
    ],
    body: paymentRequest,
    responses: { 200: { description: "The verdict", body: verdict }, ...rejections },
  },
  {
    method: "post",
    path: "/settle",
    summary: "Settle a payment on the chain, once",
    description:
      "The first caller owns the payment. errorReason settlement_pending means that the outcome is not known yet: send the request again with the same Idempotency-Key, never for another payment.",
    security: callers,
    headers: [
      { name: "Idempotency-Key", description: "Identifies one sale: the same key always gets the same outcome" },
    ],
    body: paymentRequest,
    responses: { 200: { description: "The outcome", body: settlement }, ...rejections },
  },
  {
    method: "get",
    path: "/supported",
    summary: "Supported payment kinds",
    responses: {
      200: {
        description: "Schemes, networks and signers",
        body: z.object({
          kinds: z.array(
            z.object({
              x402Version: z.literal(2),
              scheme: z.string(),
              network: z.string(),
              extra: z.record(z.string(), z.unknown()).optional().describe("For upto, facilitatorAddress"),
            }),
          ),
          assets: z
            .array(z.object({ network: z.string(), address: z.string(), decimals: z.number().optional() }))
            .describe("Accepted tokens"),
          extensions: z.array(z.string()),
          signers: z.record(z.string(), z.array(z.string())),
          error: z.string().optional().describe("Why settlement is unavailable; kinds is then empty"),
        }),
      },
      401: { description: "The API key is wrong", body: errorBody },
    },
  },
  {
    method: "get",
    path: "/health",
    summary: "Liveness",
    responses: { 200: { description: "The facilitator responds", body: z.object({ status: z.literal("ok") }) } },
  },
];

export const facilitatorApi: Api = {
  title: "Gatehouse facilitator",
  description: "Verifies x402 version 2 payments and settles them on the chain.",
  operations,
};
