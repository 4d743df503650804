import { encodePaymentSignatureHeader } from "@x402/core/http";
import { assert, property, string, uint8Array } from "fast-check";
import { describe, expect, it } from "vitest";
import { findAcceptedOffer, readPayment } from "./payment-header.ts";
import { offer, createPayload, createPayment } from "../testing/payments.ts";

const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64");

describe("readPayment", () => {
  it("lowercases asset and payer, and reads nonce and expiry", () => {
    const sentPayload = createPayload();
    const { authorization } = sentPayload.payload as { authorization: { nonce: string } };
    expect(readPayment(encodePaymentSignatureHeader(sentPayload))).toMatchObject({
      ok: true,
      payment: {
        key: {
          network: offer.network,
          asset: offer.asset.toLowerCase(),
          payer: "0x70997970c51812dc3a010c7d01b50e0d17dc79c8",
          nonce: authorization.nonce,
        },
        validBefore: 4_000_000_000,
      },
    });
  });

  it("derives the digest from the signature too", () => {
    const one = createPayload();
    const otherPayload = { ...one, payload: { ...one.payload, signature: "0x00" } };
    expect(createPayment(one).digest).not.toBe(createPayment(otherPayload).digest);
    expect(createPayment(one).digest).toBe(createPayment(structuredClone(one)).digest);
  });

  // test/x402/recorded-payments.jsonl has the malformed payments.
  it.each([
    ["nonsense", "%%%", /not base64 of JSON/],
    ["an empty header", "", /not base64 of JSON/],
    [
      "a network that PostgreSQL can't look up",
      base64(createPayload((p) => ({ ...p, accepted: { ...p.accepted, network: "eip155:\0" } }))),
      /PAYMENT-SIGNATURE: accepted\.network: expected text without control characters/,
    ],
    [
      "an asset that PostgreSQL can't look up",
      base64(createPayload((p) => ({ ...p, accepted: { ...p.accepted, asset: "0x\0" } }))),
      /accepted\.asset: expected text without control characters/,
    ],
    [
      "a resource that is not UTF-8",
      Buffer.from(JSON.stringify(createPayload((p) => ({ ...p, resource: { url: "ÿ" } }))), "latin1").toString(
        "base64",
      ),
      /not base64 of JSON in UTF-8/,
    ],
    ["two joined headers", `${base64(createPayload())}, ${base64(createPayload())}`, /not base64 of JSON/],
  ])("rejects %s with a reason", (_name, header, message) => {
    expect(readPayment(header)).toEqual({ ok: false, message: expect.stringMatching(message) });
  });

  it("rejects random headers without throwing", () => {
    assert(property(string(), (header) => void expect(readPayment(header).ok).toBe(false)));
    assert(
      property(uint8Array(), (bytes) => void expect(readPayment(Buffer.from(bytes).toString("base64")).ok).toBe(false)),
    );
  });
});

describe("findAcceptedOffer", () => {
  it("finds the offer for an address in another letter case", () => {
    const paidPayment = createPayment(
      createPayload((p) => ({ ...p, accepted: { ...offer, asset: offer.asset.toLowerCase() } })),
    );
    expect(findAcceptedOffer(paidPayment, [offer])).toBe(offer);
  });

  it.each([
    { amount: "9999" },
    { network: "eip155:1" as const },
    { payTo: "0x0000000000000000000000000000000000000001" },
    { asset: "0x0000000000000000000000000000000000000001" },
    { maxTimeoutSeconds: 1_000_000 },
    { extra: { ...offer.extra, version: "1" } },
  ])("rejects an offer that the route does not have: %j", (change) => {
    const paidPayment = createPayment(createPayload((p) => ({ ...p, accepted: { ...offer, ...change } })));
    expect(findAcceptedOffer(paidPayment, [offer])).toBeUndefined();
  });
});
