import { describe, expect, it, vi } from "vitest";
import { generousMs } from "#daemon/testing/until.ts";
import { Secret } from "#daemon/secrets/secret.ts";
import { createLog, type Logger } from "#daemon/log/log.ts";
import { createHttpClient } from "#daemon/http/http-client.ts";
import { startStubServer } from "../testing/stub-server.ts";
import type { SoldKind } from "../routes/route.ts";
import { createFacilitatorOverHttp } from "./facilitator-over-http.ts";
import { offer, createPayload } from "../testing/payments.ts";
import { settledResponse } from "../testing/facilitation-stub.ts";

type Options = Readonly<{
  /** URL of the facilitator at an origin. */
  url?: (origin: string) => string;
  timeoutMs?: number;
  apiKey?: Secret;
  offers?: () => (typeof offer)[];
  kinds?: SoldKind[];
  log?: Logger;
  clock?: () => number;
  signal?: AbortSignal;
}>;
type Answer = (path: string, body: unknown, headers: Headers) => Response | Promise<Response>;

async function facilitator(
  answer: Answer,
  {
    timeoutMs = 5_000,
    url = (origin) => `${origin}/`,
    log = createLog({ service: "test", level: "silent" }),
    clock = Date.now,
    signal = new AbortController().signal,
    ...options
  }: Options = {},
) {
  const server = await startStubServer(async (request) => {
    const text = await request.text();
    const body: unknown = text === "" ? undefined : JSON.parse(text);
    return answer(new URL(request.url).pathname, body, request.headers);
  });
  const client = createFacilitatorOverHttp(
    {
      url: url(server.origin),
      verifyTimeoutMs: timeoutMs,
      settleTimeoutMs: timeoutMs,
      kinds: [{ scheme: "exact", network: "eip155:1672" }],
      offers: () => [],
      ...options,
    },
    { client: createHttpClient({ signal }), log, clock, signal },
  );
  const end = async () => {
    await client[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  };
  return { ...client, [Symbol.asyncDispose]: end };
}

const addCredentials = (origin: string) => `${origin.replace("//", "//seller:p%40ss@")}/`;

const kinds = (network: string) => ({ kinds: [{ x402Version: 2, scheme: "exact", network }], extensions: [] });

describe("createFacilitatorOverHttp", () => {
  it("sends payload, requirements and Idempotency-Key, and returns the verdict", async () => {
    const sent = createPayload();
    const asked: unknown[] = [];
    await using client = await facilitator((path, body, headers) => {
      if (path === "/supported") return Response.json(kinds("eip155:1672"));
      asked.push([path, body, headers.get("Idempotency-Key")]);
      return Response.json(path === "/verify" ? { isValid: true, payer: "0xp", invalidReason: null } : settledResponse);
    });
    expect(await client.verify({ sent }, offer)).toEqual({ isValid: true, payer: "0xp" });
    expect(await client.settle({ sent }, offer, "a-sale")).toEqual(settledResponse);
    const body = { x402Version: 2, paymentPayload: sent, paymentRequirements: offer };
    expect(asked).toEqual([
      ["/verify", body, null],
      ["/settle", body, "a-sale"],
    ]);
  });

  it.each([
    { name: "an hour behind", errorMs: -3_600_000, isOk: false, said: /clock is \d+ s behind the facilitator's/ },
    { name: "a day ahead", errorMs: 86_400_000, isOk: false, said: /clock is \d+ s ahead of the facilitator's/ },
    { name: "right", errorMs: 0, isOk: true, said: /agrees/ },
  ])("compares its clock with the facilitator's: $name", async ({ errorMs, isOk, said }) => {
    const sent = createPayload();
    const clock = () => Date.now() + errorMs;
    await using client = await facilitator(() => Response.json({ isValid: true, payer: "0xp" }), { clock });
    await client.verify({ sent }, offer);
    expect(client.clock?.()).toMatchObject({ ok: isOk, message: expect.stringMatching(said) });
  });

  it("learns nothing about the clock from a cached response, or one without a date", async () => {
    const sent = createPayload();
    const headers = { date: new Date(0).toUTCString(), age: "9" };
    await using client = await facilitator(() => Response.json({ isValid: true, payer: "0xp" }, { headers }));
    await client.verify({ sent }, offer);
    expect(client.clock?.()).toBeUndefined();
  });

  it("sends its API key with every call, and hides it in errors", async () => {
    const shown = new Set<string | null>();
    const answer: Answer = (_path, _body, headers) => {
      shown.add(headers.get("Authorization"));
      return Response.json({ error: "the API key is wrong" }, { status: 401 });
    };
    await using client = await facilitator(answer, { apiKey: new Secret("a-key-of-16-or-more") });
    const denied = { code: "denied", message: expect.stringMatching(/^(?!.*a-key-of).*returned HTTP 401/s) };
    await expect(client.verify({ sent: createPayload() }, offer)).rejects.toMatchObject(denied);
    await expect(client.settle({ sent: createPayload() }, offer, "a-sale")).rejects.toMatchObject(denied);
    await expect.poll(() => client.readiness()).toMatchObject({ ok: false, message: expect.stringContaining("401") });
    expect([...shown]).toEqual(["Bearer a-key-of-16-or-more"]);
  });

  it("sends the API key in X-API-Key if its URL has credentials", async () => {
    const shown: unknown[] = [];
    const answer: Answer = (path, _body, headers) => {
      if (path === "/verify") shown.push(headers.get("Authorization"), headers.get("X-API-Key"));
      return Response.json(path === "/verify" ? { isValid: true } : kinds("eip155:1672"));
    };
    await using client = await facilitator(answer, { url: addCredentials, apiKey: new Secret("a-key-of-16-or-more") });
    expect(await client.verify({ sent: createPayload() }, offer)).toMatchObject({ isValid: true });
    expect(shown).toEqual([`Basic ${btoa("seller:p@ss")}`, "a-key-of-16-or-more"]);
  });

  it.each<[string, Answer, string]>([
    ["500", () => Response.json({ error: "rpc down" }, { status: 500 }), "failed"],
    ["503", () => new Response("busy", { status: 503 }), "failed"],
    ["400", () => Response.json({ error: "bad" }, { status: 400 }), "rejected"],
    ["422", () => Response.json({ error: "bad" }, { status: 422 }), "rejected"],
    ["401", () => Response.json({ error: "which key?" }, { status: 401 }), "denied"],
    ["404", () => new Response("no such page", { status: 404 }), "denied"],
    ["429", () => new Response("slow down", { status: 429 }), "denied"],
    ["HTML", () => new Response("<html>"), "unintelligible"],
    ["another document", () => Response.json({ ok: true }), "unintelligible"],
    ["a redirect", () => Response.redirect("http://elsewhere.test"), "unintelligible"],
    ["too much", () => new Response("x".repeat(70_000)), "unknown"],
    ["a broken connection", () => Promise.reject(new Error("broken")), "unknown"],
  ])("maps %s to a FacilitationError", async (_name, answer, code) => {
    await using client = await facilitator(answer);
    await expect(client.settle({ sent: createPayload() }, offer, "a-sale")).rejects.toMatchObject({
      name: "FacilitationError",
      code,
    });
  });

  it("reports a refused connection as unreachable", async () => {
    await using client = await facilitator(() => Response.json({}), { url: () => "http://127.0.0.1:1" });
    const settling = client.settle({ sent: createPayload() }, offer, "a-sale");
    await expect(settling).rejects.toMatchObject({ code: "unreachable" });
  });

  it("requests payments, but isn't ready, until its facilitator has been reached", async () => {
    await using client = await facilitator(() => Response.json({}), { url: () => "http://127.0.0.1:1" });
    await client.checked;
    expect(client.isSettlingPaused()).toBe(false);
    expect(client.readiness()).toEqual({ ok: false, message: expect.stringContaining("no response from") });
  });

  it("stops settling once a payment finds its facilitator down, and resumes when it responds again", async () => {
    let isDown = false;
    await using client = await facilitator(() =>
      isDown ? Promise.reject(new Error("broken")) : Response.json(kinds("eip155:1672")),
    );
    await expect.poll(() => client.readiness()).toEqual({ ok: true, message: "answers" });
    isDown = true;
    await expect(client.verify({ sent: createPayload() }, offer)).rejects.toMatchObject({ code: "unknown" });
    await expect.poll(() => client.isSettlingPaused()).toBe(true);
    expect(client.readiness()).toMatchObject({ ok: false, tolerated: true });
    isDown = false;
    await expect.poll(() => client.isSettlingPaused()).toBe(false);
  });

  it("does not warn about a facilitator if its check is interrupted by a shutdown", async () => {
    const warned: unknown[] = [];
    const log = { ...createLog({ service: "test", level: "silent" }), warn: (facts: unknown) => warned.push(facts) };
    const [stop, asked] = [new AbortController(), Promise.withResolvers<void>()];
    const hang = () => {
      asked.resolve();
      return new Promise<Response>(() => undefined);
    };
    {
      await using _client = await facilitator(hang, { log: log as never, signal: stop.signal });
      await asked.promise;
      stop.abort("the process is stopping");
    }
    expect(warned).toEqual([]);
  });

  it("accepts a failed settlement without transaction, and rejects an error without an x402 reason", async () => {
    const failure = { success: false, errorReason: "Settlement aborted" };
    const answers = [Response.json(failure), Response.json({ error: "internal: insufficient_funds" }, { status: 500 })];
    await using client = await facilitator(
      (path) => (path === "/settle" ? answers.shift() : undefined) ?? Response.json({}),
    );
    const settle = () => client.settle({ sent: createPayload() }, offer, "a-sale");
    expect(await settle()).toEqual({ ...failure, transaction: "", network: "" });
    await expect(settle()).rejects.toMatchObject({ code: "failed" });
  });

  it("removes line breaks, signatures and URLs from a message", async () => {
    const invalidMessage = `reverted:\n  args: (0x${"ab".repeat(32)}, 0x${"cd".repeat(20)})\nURL: https://rpc.example/key ${"x".repeat(400)}`;
    await using client = await facilitator(() =>
      Response.json({ isValid: false, invalidReason: "bad", invalidMessage }),
    );
    const { invalidMessage: shown = "" } = await client.verify({ sent: createPayload() }, offer);
    expect(shown).toMatch(/^reverted: args: \(…, 0x(cd){20}\) URL: … x+$/);
    expect(shown).toHaveLength(300);
  });

  it.each<[string, (amount: string) => object, string]>([
    ["takes them", () => ({ isValid: false, invalidReason: "invalid_exact_evm_insufficient_balance" }), "answers"],
    [
      "simulates first, and accepts them",
      (amount) => ({ isValid: amount === "0", invalidReason: "insufficient_funds" }),
      "answers",
    ],
    [
      "reports a failed simulation as an error, and accepts them",
      (amount) =>
        amount === "0"
          ? { isValid: true }
          : { error: "invalid_exact_evm_transaction_simulation_failed: failed to call contract: execution reverted" },
      "answers",
    ],
    [
      "has no node, so rejects every signature",
      () => ({ isValid: false, invalidReason: "invalid_exact_evm_signature" }),
      expect.stringMatching(/verify returned invalid_exact_evm_signature to a valid signature; check its node's RPC$/),
    ],
    [
      "simulates first, but the token has another name",
      () => ({ isValid: false, invalidReason: "invalid_exact_evm_transaction_simulation_failed" }),
      `it rejects every payment to the seller's terms (token, payTo, price): token ${offer.asset} does not have the EIP-712 domain name "USDC", version "2"; correct token.name, token.version`,
    ],
    [
      "serves other payees",
      () => ({
        isValid: false,
        invalidReason: "invalid_payment_requirements",
        invalidMessage: "payee 0x is not allowed here.",
      }),
      "it rejects every payment to the seller's terms (token, payTo, price): invalid_payment_requirements: payee 0x is not allowed here.",
    ],
  ])("checks its terms at a facilitator that %s", async (_, verdict, message) => {
    const answer: Answer = (path, body) => {
      if (path === "/supported") return Response.json(kinds("eip155:1672"));
      const { paymentPayload } = body as { paymentPayload: { accepted: { amount: string } } };
      return Response.json(verdict(paymentPayload.accepted.amount));
    };
    await using client = await facilitator(answer, { offers: () => [offer] });
    const readiness = () => expect(client.readiness()).toEqual({ ok: message === "answers", message });
    await vi.waitFor(readiness, { timeout: generousMs });
    expect(client.isSettlingPaused()).toBe(message !== "answers");
  });

  it.each([400, 500])("ignores a success with status %i", async (status) => {
    await using client = await facilitator((path) =>
      Response.json(path === "/settle" ? settledResponse : { isValid: true }, { status }),
    );
    const code = status === 400 ? "rejected" : "failed";
    await expect(client.verify({ sent: createPayload() }, offer)).rejects.toMatchObject({ code });
    await expect(client.settle({ sent: createPayload() }, offer, "a-sale")).rejects.toMatchObject({ code });
  });

  it("fails after its timeout", async () => {
    await using client = await facilitator(() => new Promise(() => undefined), { timeoutMs: 20 });
    await expect(client.verify({ sent: createPayload() }, offer)).rejects.toMatchObject({ code: "unknown" });
  });

  it.each([
    ["eip155:1672", { ok: true, message: "answers" }],
    ["eip155:1", { ok: false, message: "does not settle exact on eip155:1672" }],
  ])("checks whether a facilitator for %s settles its kinds", async (network, state) => {
    await using client = await facilitator(() => Response.json(kinds(network)));
    await expect.poll(() => client.readiness()).toEqual(state);
    expect(client.isSettlingPaused()).toBe(!state.ok);
  });

  it("checks a facilitator immediately after it returned an error instead of a verdict", async () => {
    let isChainDown = false;
    await using client = await facilitator((path) => {
      if (path !== "/supported") return Response.json({ error: "the node is down" }, { status: 500 });
      return Response.json(isChainDown ? { kinds: [], error: "the node is down" } : kinds("eip155:1672"));
    });
    await client.checked;
    isChainDown = true;
    await expect(client.verify({ sent: createPayload() }, offer)).rejects.toMatchObject({ code: "failed" });
    await expect.poll(() => client.isSettlingPaused()).toBe(true);
  });

  const both = ["eip155:1672", "eip155:1673"] as const;
  const sold = both.map((network) => ({ scheme: "exact", network }));
  const offersOnBoth = sold.map(({ network }) => Object.assign({}, offer, { network }));

  it.each([
    ["is not settled", both.slice(0, 1), "does not settle exact on eip155:1673: eip155:1673: 0xs holds 0"],
    ["has no verdict", both, /^no verdict on eip155:1673: http:\S+\/verify returned HTTP 500: "{}"$/],
  ])("keeps selling on one network while another network %s", async (_, listed, message) => {
    const answer: Answer = (path, body) => {
      const error = "eip155:1673: 0xs holds 0";
      if (path === "/supported") return Response.json({ kinds: listed.flatMap((each) => kinds(each).kinds), error });
      const { paymentRequirements } = body as { paymentRequirements: { network: string } };
      if (paymentRequirements.network === "eip155:1673") return Response.json({}, { status: 500 });
      return Response.json({ isValid: false, invalidReason: "invalid_exact_evm_insufficient_balance" });
    };
    await using client = await facilitator(answer, { kinds: sold, offers: () => offersOnBoth });
    const state = { ok: false, message: expect.stringMatching(message), tolerated: true };
    await expect.poll(() => client.readiness()).toEqual(state);
    expect(client.isSettlingPaused()).toBe(false);
  });

  it("reports why a facilitator settles nothing", async () => {
    await using client = await facilitator(() => Response.json({ kinds: [], error: "0xs holds 0 to pay for gas" }));
    const message = "does not settle exact on eip155:1672: 0xs holds 0 to pay for gas";
    await expect.poll(() => client.readiness()).toEqual({ ok: false, message });
    expect(client.isSettlingPaused()).toBe(true);
  });
});
