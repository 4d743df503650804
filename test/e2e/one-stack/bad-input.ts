import { readFile, writeFile } from "node:fs/promises";
import { decodePaymentRequiredHeader } from "@x402/core/http";
import type { PaymentRequired } from "@x402/core/types";
import { describe, expect, it } from "vitest";
import type { RunningStack } from "../../support/running-stack.ts";
import { signPaymentHeader } from "../../support/payments/signed-payment.ts";
import { generousMs, until } from "#daemon/testing/until.ts";

const at = (port: number, path = "/") => `http://127.0.0.1:${port}${path}`;

async function post(url: string, body: string, type = "application/json"): Promise<[number, unknown]> {
  const response = await fetch(url, { method: "POST", headers: { "content-type": type }, body });
  const text = await response.text();
  try {
    return [response.status, JSON.parse(text)];
  } catch {
    return [response.status, text];
  }
}

const call = (method: string, params: unknown) => JSON.stringify({ jsonrpc: "2.0", id: 7, method, params });
const rpcError = (code: number, message: unknown, id: unknown = 7) => [
  200,
  { jsonrpc: "2.0", id, error: { code, message } },
];
const tenMegabytes = JSON.stringify({ jsonrpc: "2.0", id: 7, method: "eth_call", params: ["x".repeat(10_000_000)] });

const required = (response: Response): PaymentRequired =>
  decodePaymentRequiredHeader(response.headers.get("PAYMENT-REQUIRED") ?? "");

/** Tests how a stack answers wrong input. */
export function testBadInput(running: () => RunningStack): void {
  const rpc = (body: string) => post(at(running().ports.gateway), body);
  const verify = (body: string, type?: string) => post(at(running().ports.facilitator, "/verify"), body, type);
  const data = () => at(running().ports.resourceServer, "/data");
  const offer = async () => required(await fetch(data())).accepts[0]!;
  const pay = async (header: string) => fetch(data(), { headers: { "PAYMENT-SIGNATURE": header } });

  describe("the gateway answers", () => {
    it("broken JSON", async () => {
      expect(await rpc('{"jsonrpc":"2.0","id":7,')).toEqual(rpcError(-32700, "parse error", null));
    });

    it("wrong types", async () => {
      expect(await rpc('{"jsonrpc":"2.0","id":7,"method":5}')).toEqual(rpcError(-32600, "invalid request"));
      expect(await rpc(call("eth_getBalance", { address: "0x1" }))).toEqual(rpcError(-32602, "non-array args"));
      expect(await rpc(call("eth_getBalance", [5, "latest"]))).toEqual(
        rpcError(-32602, expect.stringContaining("argument 0")),
      );
    });

    it("an unknown method", async () => {
      expect(await rpc(call("eth_noSuchThing", []))).toEqual(
        rpcError(-32601, "the method eth_noSuchThing does not exist/is not available"),
      );
    });

    it("10 MB", async () => {
      expect((await rpc(tenMegabytes))[0]).toBe(413);
    });
  });

  describe("the facilitator answers", () => {
    it("broken JSON and wrong types with 400, saying where", async () => {
      expect(await verify("{")).toEqual([400, { error: expect.stringMatching(/JSON/) }]);
      expect(await verify('{"paymentPayload":5,"paymentRequirements":{}}')).toEqual([
        400,
        { error: expect.stringMatching(/^paymentRequirements\.scheme: /) },
      ]);
    });

    it("another content type with 415 and 10 MB with 413", async () => {
      expect((await verify("{}", "text/plain"))[0]).toBe(415);
      expect((await verify(tenMegabytes))[0]).toBe(413);
    });
  });

  describe("the resource server answers", () => {
    it("a payment signed for another chain", async () => {
      const response = await pay(await signPaymentHeader(await offer(), { chainId: 1 }));
      expect([response.status, required(response).error]).toEqual([402, "No matching payment requirements"]);
    });

    it("an expired payment", async () => {
      const response = await pay(await signPaymentHeader(await offer(), { validBefore: 1_700_000_000n }));
      expect([response.status, required(response).error]).toEqual([
        402,
        "invalid_exact_evm_payload_authorization_valid_before",
      ]);
    });

    it("a replayed payment", async () => {
      const header = await signPaymentHeader(await offer());
      expect((await pay(header)).status).toBe(200);
      // The response again, or 409 while the first delivery ends; nothing else is sold for it.
      expect([200, 409]).toContain((await pay(header)).status);
      const forged = JSON.parse(Buffer.from(header, "base64").toString()) as { payload: { signature: string } };
      forged.payload.signature = `0x${"11".repeat(65)}`;
      const again = await pay(Buffer.from(JSON.stringify(forged)).toString("base64"));
      expect([again.status, required(again).error]).toEqual([402, "invalid_exact_evm_signature"]);
    });

    it("a header that is not a payment", async () => {
      const response = await pay("not base64 at all");
      expect([response.status, required(response).error]).toEqual([
        402,
        "invalid_payload: PAYMENT-SIGNATURE is not base64 of JSON",
      ]);
    });
  });

  describe("the sidecar", () => {
    type Condition = Readonly<{ type: string; status: string; message: string }>;
    const condition = async (type: string): Promise<Condition | undefined> => {
      const status = (await (await fetch(at(running().ports.sidecar, "/status"))).json()) as {
        conditions: Condition[];
      };
      return status.conditions.find((one) => one.type === type);
    };

    it("says where a half-written node.conf breaks off, leaves it alone, and is content once it is whole", async () => {
      const path = `${running().stateDirectory}/node/bin/node.conf`;
      const whole = await readFile(path, "utf8");
      const half = whole.slice(0, Math.floor(whole.length / 2));
      await writeFile(path, half);
      await until("a condition that names line and column", generousMs, async () => {
        const found = await condition("ConfigValid");
        return found?.status === "False" && /node\.conf:\d+:\d+ is not complete JSON/.test(found.message);
      });
      expect(await readFile(path, "utf8")).toBe(half);
      await writeFile(path, whole);
      await until(
        "the file is valid again",
        generousMs,
        async () => (await condition("ConfigValid"))?.status === "True",
      );
    });
  });
}
