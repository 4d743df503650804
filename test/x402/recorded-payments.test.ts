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
 * Payments of every shape, with what facilitator and seller made of each when they were recorded: the answer, what is settled by which
 * bytes, the key and the digest of the claim, and the hash of what is sent on. None of it may change, because ledgers hold it.
 */
const recorded = readFileSync(new URL("recorded-payments.jsonl", import.meta.url), "utf8")
  .trimEnd()
  .split("\n")
  .map((line) => JSON.parse(line) as RecordedPayment);

// They were recorded in a process that reads no settings, where the schema library's own words stand in a refusal.
const { localeError } = z.config();
beforeAll(() => void z.config(z.locales.en()));
afterAll(() => void z.config({ localeError }));

test.each(recorded)("$name", async ({ paymentPayload, paymentRequirements, observed }) => {
  const seen = await observePayment(paymentPayload, paymentRequirements);
  expect(JSON.parse(JSON.stringify(seen))).toEqual(observed);
});

test.each(recorded.filter(({ observed }) => !("refused" in observed.seller)))(
  "$name, to a facilitator in the process of the seller who read it",
  async ({ paymentPayload, paymentRequirements, observed }) => {
    const seen = await observeInProcess(paymentPayload, paymentRequirements);
    expect(JSON.parse(JSON.stringify(seen))).toEqual(observed.facilitator);
  },
);
