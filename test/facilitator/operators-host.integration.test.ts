import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { expect, onTestFinished, test } from "vitest";
import { testAccount } from "../support/payments/payment-chain.ts";
import { startFacilitator } from "../support/facilitator/running-facilitator.ts";

/** The status of a response to a page whose own name resolves to this machine. */
async function statusFor(host: string, url: string): Promise<number | undefined> {
  const asked = request(url, { headers: { Host: host } });
  asked.end();
  const [response] = (await once(asked, "response")) as [IncomingMessage];
  response.resume();
  return response.statusCode;
}

test("returns 403 on the admin port for other hosts, but not on the payment port", async () => {
  const folder = await mkdtemp(join(tmpdir(), "gatehouse-host-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await using facilitator = await startFacilitator({
    rpcUrl: "http://127.0.0.1:1",
    token: testAccount(3).address,
    ledgerPath: join(folder, "ledger.sqlite"),
    env: { GATEHOUSE_FACILITATOR_OPERATIONS_ALLOWED_HOSTS: "pay.internal" },
  });
  for (const path of ["/livez", "/readyz", "/metrics"]) {
    const { operationsUrl: url } = facilitator;
    expect([path, await statusFor("attacker.example", `${url}${path}`)]).toEqual([path, 403]);
    for (const host of ["localhost", "127.0.0.1:3000", "pay.internal"]) {
      expect([path, host, await statusFor(host, `${url}${path}`)]).not.toEqual([path, host, 403]);
    }
  }
  expect(await statusFor("attacker.example", `${facilitator.url}/supported`)).toBe(200);
});
