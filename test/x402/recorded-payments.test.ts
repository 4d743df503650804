import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { observeInProcess, observePayment, type ObservedPayment } from "./observed-payment.ts";

type RecordedPayment = Readonly<{
  name: string;
  paymentPayload: unknown;
  paymentRequirements: unknown;
  observed: ObservedPayment;
}>;

/**
 * Payments of every shape, with the recorded results of facilitator and seller: the response, what is settled with
 * which bytes, the claim's key and digest, and the hash of the forwarded data. None of it may change, because ledgers
 * contain it.
 */
const recordedEntries = readFileSync(new URL("recorded-payments.jsonl", import.meta.url), "utf8")
  .trimEnd()
  .split("\n")
  .map((line) => JSON.parse(line) as RecordedPayment);

// They were recorded in a process that reads no settings, so rejections contain the schema library's own messages.
const { localeError } = z.config();
beforeAll(() => void z.config(z.locales.en()));
afterAll(() => void z.config({ localeError }));

test.each(recordedEntries)("$name", async ({ paymentPayload, paymentRequirements, observed }) => {
  const seen = await observePayment(paymentPayload, paymentRequirements);
  expect(JSON.parse(JSON.stringify(seen))).toEqual(observed);
});

test.each(recordedEntries.filter(({ observed }) => !("rejected" in observed.seller)))(
  "$name, in the process of the seller",
  async ({ paymentPayload, paymentRequirements, observed }) => {
    const seen = await observeInProcess(paymentPayload, paymentRequirements);
    expect(JSON.parse(JSON.stringify(seen))).toEqual(observed.facilitator);
  },
);
