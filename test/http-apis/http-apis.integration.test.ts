import { afterAll, beforeAll, expect, it } from "vitest";
import { decodePaymentRequiredHeader, decodePaymentSignatureHeader } from "@x402/core/http";
import { startStack, type RunningStack } from "../support/running-stack.ts";
import { signPaymentHeader } from "../support/payments/signed-payment.ts";
import { readContractedService } from "./api-contract.ts";

const token = "a-token-for-this-test-of-32-characters";
const sent = { "Content-Type": "application/json" };

let stack: RunningStack;
beforeAll(async () => {
  stack = await startStack({ GATEHOUSE_SIDECAR_UPKEEP_CONTROL_TOKEN: token });
});
afterAll(() => stack?.[Symbol.asyncDispose]());

const at = (port: number) => `http://127.0.0.1:${port}`;

/** Builds a seller's request for the stack's route, signed by its client. */
async function buildQuestion(): Promise<RequestInit> {
  const unpaid = await fetch(`${at(stack.ports.resourceServer)}/data`);
  const [offer] = decodePaymentRequiredHeader(unpaid.headers.get("PAYMENT-REQUIRED") ?? "").accepts;
  if (offer === undefined) throw new Error("there is no offer");
  const paymentPayload = decodePaymentSignatureHeader(await signPaymentHeader(offer));
  return { headers: sent, body: JSON.stringify({ x402Version: 2, paymentPayload, paymentRequirements: offer }) };
}

it("facilitator responses match its OpenAPI document", async () => {
  const { ask, unseen } = await readContractedService(at(stack.ports.facilitator));
  expect(await ask("GET", "/openapi.json")).toBe(200);
  expect(await ask("GET", "/health")).toBe(200);
  expect(await ask("GET", "/supported")).toBe(200);
  const asked = await buildQuestion();
  expect(await ask("POST", "/verify", asked)).toBe(200);
  expect(await ask("POST", "/settle", asked)).toBe(200);
  // The payment has been spent by now.
  expect(await ask("POST", "/verify", asked)).toBe(200);
  expect(await ask("POST", "/settle", asked)).toBe(200);
  expect(await ask("POST", "/verify", { headers: sent, body: "{}" })).toBe(400);
  expect(await ask("POST", "/settle", { body: "{}" })).toBe(415);
  expect(await ask("POST", "/settle", { headers: sent, body: " ".repeat(2_000_000) })).toBe(413);
  expect(unseen()).toEqual([]);
});

it("responses on a facilitator's admin port match its OpenAPI document", async () => {
  const { ask } = await readContractedService(at(stack.ports.facilitatorOperations));
  for (const path of ["/livez", "/readyz", "/configuration", "/metrics", "/openapi.json", "/status", "/"]) {
    expect([path, await ask("GET", path)]).toEqual([path, 200]);
  }
});

it("resource server responses match its OpenAPI document", async () => {
  const { ask, unseen } = await readContractedService(at(stack.ports.resourceServerOperations));
  const selling = at(stack.ports.resourceServer);
  for (const path of ["/livez", "/readyz", "/configuration", "/metrics", "/openapi.json", "/status", "/"]) {
    expect([path, await ask("GET", path)]).toEqual([path, 200]);
  }
  for (const path of unseen().map((operation) => operation.replace("GET ", ""))) {
    expect([path, await ask("GET", path, {}, selling)]).toEqual([path, 200]);
  }
  expect(unseen()).toEqual([]);
});

it("sidecar responses match its OpenAPI document", async () => {
  const { ask, unseen } = await readContractedService(at(stack.ports.sidecar));
  for (const path of [
    "/livez",
    "/readyz",
    "/configuration",
    "/metrics",
    "/openapi.json",
    "/startupz",
    "/status",
    "/",
    "/runbooks/README.md",
    "/runbooks/node-down.md",
  ]) {
    expect([path, await ask("GET", path)]).toEqual([path, 200]);
  }
  expect(await ask("GET", "/runbooks/node-down.md", { headers: { Accept: "text/html" } })).toBe(200);
  expect(await ask("GET", "/runbooks/nothing.md")).toBe(404);
  const headers = { ...sent, Authorization: `Bearer ${token}` };
  expect(await ask("GET", "/control")).toBe(401);
  expect(await ask("GET", "/control", { headers })).toBe(200);
  expect(await ask("POST", "/control/resume", { headers })).toBe(200);
  expect(await ask("POST", "/control/restart", { headers })).toBe(200);
  expect(await ask("POST", "/control/adopt", { headers, body: "{}" })).toBe(400);
  expect(await ask("POST", "/control/adopt", { headers, body: JSON.stringify({ digest: "another" }) })).toBe(200);
  const source = JSON.stringify({ source: "/no/such/release" });
  expect(await ask("POST", "/control/upgrade", { headers, body: source })).toBe(200);
  expect(unseen()).toEqual([]);
});
