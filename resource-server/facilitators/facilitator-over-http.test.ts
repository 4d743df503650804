import { describe, expect, it } from "vitest";
import { Secret } from "#daemon/secrets/secret.ts";
import { createLog } from "#daemon/log/log.ts";
import { readSettleState, readVerifyState } from "#x402/answer.ts";
import { createFacilitatorOverHttp } from "./facilitator-over-http.ts";
import { offer, createPayload } from "../testing/payments.ts";
import { settledAnswer } from "../testing/facilitation-stub.ts";

type Options = Readonly<{ url?: string; timeoutMs?: number; apiKey?: Secret }>;
type Answer = (path: string, body: unknown, headers: Headers) => Response | Promise<Response>;

function facilitator(answer: Answer, { timeoutMs = 5_000, ...options }: Options = {}) {
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const request = new Request(input, init);
    const late = new Promise<never>((_, reject) => {
      init?.signal?.addEventListener("abort", () => reject(init.signal?.reason as Error));
    });
    const text = await request.text();
    const body: unknown = text === "" ? undefined : JSON.parse(text);
    return Promise.race([answer(new URL(request.url).pathname, body, request.headers), late]);
  };
  return createFacilitatorOverHttp(
    {
      url: "http://facilitator.test/",
      verifyTimeoutMs: timeoutMs,
      settleTimeoutMs: timeoutMs,
      network: "eip155:1672",
      ...options,
    },
    { fetch, log: createLog({ service: "test", level: "silent" }), signal: new AbortController().signal },
  );
}

const kinds = (network: string) => ({ kinds: [{ x402Version: 2, scheme: "exact", network }], extensions: [] });

describe("facilitatorOverHttp", () => {
  it("sends payload and requirements, names the sale to settle for, and gives the verdict", async () => {
    const sent = createPayload();
    const asked: unknown[] = [];
    await using client = facilitator((path, body, headers) => {
      if (path === "/supported") return Response.json(kinds("eip155:1672"));
      asked.push([path, body, headers.get("Idempotency-Key")]);
      return Response.json(path === "/verify" ? { isValid: true, payer: "0xp", invalidReason: null } : settledAnswer);
    });
    expect(await client.verify({ sent }, offer)).toEqual({ isValid: true, payer: "0xp" });
    expect(await client.settle({ sent }, offer, "a-sale")).toEqual(settledAnswer);
    const body = { x402Version: 2, paymentPayload: sent, paymentRequirements: offer };
    expect(asked).toEqual([
      ["/verify", body, null],
      ["/settle", body, "a-sale"],
    ]);
  });

  it("shows its API key with every call, and no error shows it", async () => {
    const shown = new Set<string | null>();
    const answer: Answer = (_path, _body, headers) => {
      shown.add(headers.get("Authorization"));
      return Response.json({ error: "the API key is wrong" }, { status: 401 });
    };
    await using client = facilitator(answer, { apiKey: new Secret("a-key-of-16-or-more") });
    const denied = { code: "denied", message: expect.stringMatching(/^(?!.*a-key-of).*answered 401/s) };
    await expect(client.verify({ sent: createPayload() }, offer)).rejects.toMatchObject(denied);
    await expect(client.settle({ sent: createPayload() }, offer, "a-sale")).rejects.toMatchObject(denied);
    await expect.poll(() => client.readiness()).toMatchObject({ ok: false, message: expect.stringContaining("401") });
    expect([...shown]).toEqual(["Bearer a-key-of-16-or-more"]);
  });

  it("sends credentials of its URL, and the API key with them", async () => {
    const shown: unknown[] = [];
    const answer: Answer = (path, _body, headers) => {
      if (path === "/verify") shown.push(headers.get("Authorization"), headers.get("X-API-Key"));
      return Response.json(path === "/verify" ? { isValid: true } : kinds("eip155:1672"));
    };
    const url = "http://seller:p%40ss@facilitator.test/";
    await using client = facilitator(answer, { url, apiKey: new Secret("a-key-of-16-or-more") });
    expect(await client.verify({ sent: createPayload() }, offer)).toMatchObject({ isValid: true });
    expect(shown).toEqual([`Basic ${btoa("seller:p@ss")}`, "a-key-of-16-or-more"]);
  });

  it.each<[string, Answer, string]>([
    ["500", () => Response.json({ error: "rpc down" }, { status: 500 }), "failed"],
    ["503", () => new Response("busy", { status: 503 }), "failed"],
    ["400", () => Response.json({ error: "bad" }, { status: 400 }), "refused"],
    ["422", () => Response.json({ error: "bad" }, { status: 422 }), "refused"],
    ["401", () => Response.json({ error: "which key?" }, { status: 401 }), "denied"],
    ["404", () => new Response("no such page", { status: 404 }), "denied"],
    ["429", () => new Response("slow down", { status: 429 }), "denied"],
    ["HTML", () => new Response("<html>"), "unintelligible"],
    ["another document", () => Response.json({ ok: true }), "unintelligible"],
    ["a redirect", () => Response.redirect("http://elsewhere.test"), "unintelligible"],
    ["too much", () => new Response("x".repeat(70_000)), "unknown"],
    [
      "a refused connection",
      () =>
        Promise.reject(new TypeError("fetch failed", { cause: Object.assign(new Error(), { code: "ECONNREFUSED" }) })),
      "unreachable",
    ],
    [
      "a broken connection",
      () =>
        Promise.reject(new TypeError("fetch failed", { cause: Object.assign(new Error(), { code: "ECONNRESET" }) })),
      "unknown",
    ],
  ])("takes %s for no verdict", async (_name, answer, code) => {
    await using client = facilitator(answer);
    await expect(client.settle({ sent: createPayload() }, offer, "a-sale")).rejects.toMatchObject({
      name: "FacilitationError",
      code,
    });
  });

  // Recorded from x402-rs 2.0.1.
  it.each([
    [400, "insufficient_funds", "refused"],
    [400, "invalid_payment_expired", "refused"],
    [400, "recipient_mismatch", "refused"],
    [500, "unexpected_error", undefined],
  ])("reads a verdict by its body although its status is %i: %s", async (status, reason, state) => {
    await using client = facilitator((path) => {
      const rejected = { success: false, network: "", transaction: "", errorReason: reason, errorMessage: "x" };
      const invalid = { isValid: false, invalidReason: reason, invalidReasonDetails: "x", payer: "" };
      return Response.json(path === "/settle" ? rejected : invalid, { status });
    });
    const verdict = await client.verify({ sent: createPayload() }, offer);
    expect([verdict.invalidReason, readVerifyState(verdict)]).toEqual([reason, state]);
    const settlement = await client.settle({ sent: createPayload() }, offer, "a-sale");
    expect([settlement.errorReason, readSettleState(settlement)]).toEqual([reason, state ?? "pending"]);
  });

  it.each([400, 500])("believes no success whose status is %i", async (status) => {
    await using client = facilitator((path) =>
      Response.json(path === "/settle" ? settledAnswer : { isValid: true }, { status }),
    );
    const code = status === 400 ? "refused" : "failed";
    await expect(client.verify({ sent: createPayload() }, offer)).rejects.toMatchObject({ code });
    await expect(client.settle({ sent: createPayload() }, offer, "a-sale")).rejects.toMatchObject({ code });
  });

  it("does not wait longer than it may", async () => {
    await using client = facilitator(() => new Promise(() => undefined), { timeoutMs: 20 });
    await expect(client.verify({ sent: createPayload() }, offer)).rejects.toMatchObject({ code: "unknown" });
  });

  it.each([
    ["eip155:1672", { ok: true, message: "answers" }],
    ["eip155:1", { ok: false, message: "does not settle exact on eip155:1672" }],
  ])("knows whether a facilitator for %s is fit", async (network, state) => {
    await using client = facilitator(() => Response.json(kinds(network)));
    await expect.poll(() => client.readiness()).toEqual(state);
    expect(client.settlesNothing()).toBe(!state.ok);
  });

  it("says why a facilitator settles nothing now", async () => {
    await using client = facilitator(() => Response.json({ kinds: [], error: "0xs holds 0 to pay for gas" }));
    const message = "does not settle exact on eip155:1672: 0xs holds 0 to pay for gas";
    await expect.poll(() => client.readiness()).toEqual({ ok: false, message });
    expect(client.settlesNothing()).toBe(true);
  });
});
