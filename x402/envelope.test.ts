import { PaymentPayloadV2Schema, PaymentRequirementsV2Schema } from "@x402/core/schemas";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { readPlainPayment, readPlainRequirements } from "./envelope.ts";

const requirements = {
  scheme: "exact",
  network: "eip155:1672",
  amount: "10000",
  asset: "0xaa",
  payTo: "0xbb",
  maxTimeoutSeconds: 60,
  extra: { name: "USDC", version: "2" },
};
const payment = {
  x402Version: 2,
  resource: { url: "https://example.com/", description: "data", mimeType: "text/plain" },
  accepted: requirements,
  payload: { signature: "0x", authorization: {} },
  extensions: { bazaar: {} },
};

test("parses the common form without the schemas, and returns undefined for other forms", () => {
  expect(readPlainPayment({ ...payment, more: 1 })).toEqual({ accepted: requirements, payload: payment.payload });
  expect(readPlainRequirements({ ...requirements, more: 1 })).toEqual(requirements);
  expect(readPlainRequirements({ ...requirements, extra: null })).toBeUndefined();
});

/** Replaces or removes one field of a value, at any depth. */
function change(value: object, path: readonly number[], put: unknown): object {
  const keys = Object.keys(value);
  const key = keys[(path[0] ?? 0) % (keys.length + 1)] ?? "added";
  const inner = (value as Record<string, unknown>)[key];
  if (path.length > 1 && typeof inner === "object" && inner !== null) {
    return { ...value, [key]: change(inner, path.slice(1), put) };
  }
  return { ...value, [key]: put };
}

const odd = fc.oneof(
  fc.constantFrom(
    undefined,
    null,
    "",
    ":",
    "a:b",
    "ab",
    0,
    -1,
    Number.POSITIVE_INFINITY,
    Number.NaN,
    [],
    {},
    true,
    "é",
    ["a"],
    {
      url: "",
    },
    { ["__proto__"]: null },
  ),
  fc.string(),
  fc.jsonValue(),
);

test("parses random payments as the schemas do", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(9), { minLength: 1, maxLength: 3 }), odd, (path, put) => {
      const sent = change(payment, path, put);
      const plain = readPlainPayment(sent);
      if (plain !== undefined) {
        const { accepted, payload } = PaymentPayloadV2Schema.parse(sent);
        expect(plain).toEqual({ accepted, payload });
      }
      const wanted = change(requirements, path, put);
      const read = readPlainRequirements(wanted);
      if (read !== undefined) expect(read).toEqual(PaymentRequirementsV2Schema.parse(wanted));
    }),
    { numRuns: 2_000 },
  );
});
