import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { readRequestTrace } from "#daemon/http/request-trace.ts";
import { createLog } from "#daemon/log/log.ts";
import { createPaymentPosts } from "./http.ts";

const rejected = { reason: "invalid_exact_evm_signature", message: "the payer did not sign it." };
const payer = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";

function startPosts() {
  const lines: Readonly<Record<string, unknown>>[] = [];
  const destination = new PassThrough().on("data", (line: Buffer) => lines.push(JSON.parse(line.toString())));
  const posts = createPaymentPosts({
    facilitator: {
      verify: async () => ({ isValid: false, invalidReason: rejected.reason, invalidMessage: rejected.message, payer }),
      settle: async () => ({
        success: false,
        errorReason: rejected.reason,
        errorMessage: rejected.message,
        transaction: "",
        network: "eip155:1672",
      }),
      supported: () => ({ kinds: [], extensions: [], signers: {} }),
    },
    apiKeys: undefined,
    log: createLog({ service: "facilitator", level: "info" }, destination),
  });
  const send = (
    path: "/verify" | "/settle",
    { address = "192.0.2.1", headers = {} as Record<string, string> } = {},
  ) => {
    const sent: Record<string, string> = { "content-type": "application/json", ...headers };
    const body = JSON.stringify({ paymentPayload: {}, paymentRequirements: { payTo: payer } });
    return posts[path]?.({
      header: (name) => sent[name.toLowerCase()],
      address,
      trace: readRequestTrace({ "x-request-id": "r-1" }),
      signal: new AbortController().signal,
      readText: async () => body,
    });
  };
  return { lines, send };
}

test.each([
  ["/verify", "verify"],
  ["/settle", "settle"],
] as const)("logs a rejected %s with its reason, payer and caller", async (path, operation) => {
  const { lines, send } = startPosts();
  await send(path);
  expect(lines).toMatchObject([
    {
      "log.level": "info",
      "event.action": "payment-rejected",
      "http.request.id": "r-1",
      gatehouse: { operation, reason: rejected.reason, cause: rejected.message, caller: "192.0.2.1" },
    },
  ]);
});

test("logs no rejection of a seller's check of its terms", async () => {
  const { lines, send } = startPosts();
  await send("/verify", { headers: { "gatehouse-terms-check": "1" } });
  expect(lines).toEqual([]);
});

test("logs rejections of other callers while one has many", async () => {
  const { lines, send } = startPosts();
  for (let payments = 0; payments < 1_000; payments += 1) await send("/verify");
  await send("/verify", { address: "192.0.2.2" });
  expect(lines.length).toBeLessThanOrEqual(11);
  expect(lines.at(-1)).toMatchObject({ gatehouse: { caller: "192.0.2.2" } });
});
