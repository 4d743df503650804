import { decodePaymentRequiredHeader } from "@x402/core/http";
import type { PaymentRequirements } from "@x402/core/types";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { runDocker } from "../support/engine/docker.ts";
import { findEngine, skipReason } from "../support/engine/find-engine.ts";
import { readBalance, payee } from "../support/payments/paying.ts";
import { signPaymentHeader } from "../support/payments/signed-payment.ts";
import { until } from "#daemon/testing/until.ts";
import { buildPostgresImage, buildTestImages } from "./test-images.ts";
import { startTestStack, type TestStack } from "./test-stack.ts";

const found = await findEngine();
const postgresPassword = "not-to-be-seen-anywhere-0123456789";
const price = 10_000n;
let stack: TestStack;
let [postgres, facilitator, resourceServer] = ["", "", ""];

const buy = async (header: string) => {
  const response = await fetch(`${stack.urls.resourceServer}/data`, {
    headers: { "PAYMENT-SIGNATURE": header },
    signal: AbortSignal.timeout(60_000),
  });
  return { status: response.status, text: await response.text() };
};

async function signPayment(): Promise<string> {
  const unpaidResponse = await fetch(`${stack.urls.resourceServer}/data`, { signal: AbortSignal.timeout(30_000) });
  const { accepts } = decodePaymentRequiredHeader(unpaidResponse.headers.get("PAYMENT-REQUIRED") ?? "");
  return signPaymentHeader(accepts[0] as PaymentRequirements);
}

const income = () => readBalance(stack.urls.gateway, payee.address);

/** Counts the rows of every table in the ledgers' database, by table name; queried inside the server's own container. */
async function rowsByTable(): Promise<Record<string, number>> {
  const sql = `select table_schema || '.' || table_name, (xpath('/row/n/text()', query_to_xml(format('select count(*) as n from %I.%I', table_schema, table_name), false, true, '')))[1]::text
    from information_schema.tables where table_schema not in ('pg_catalog', 'information_schema')`;
  const asked = ["psql", "--username=gatehouse", "--no-align", "--tuples-only", `--command=${sql}`];
  const lines = (await stack.api.run(postgres, asked)).trim().split("\n");
  return Object.fromEntries(lines.map((line) => line.split("|")).map(([name = "", count]) => [name, Number(count)]));
}

const healthy = (name: string) =>
  until(`${name} is healthy`, 120_000, async () => (await stack.inspect(name)).State.Health?.Status === "healthy");

describe.skipIf(!found.ok)(`a stack's own PostgreSQL server on a real engine${skipReason(found)}`, () => {
  beforeAll(async () => {
    if (!found.ok) throw new Error(found.message);
    const name = inject("testImagesName");
    const images = await buildTestImages(name, found.nodeImage);
    const postgresImage = await buildPostgresImage(name, found.nodeImage);
    stack = await startTestStack(found.url, images, { postgresImage, postgresPassword });
    [postgres, facilitator, resourceServer] = ["postgres", "facilitator", "resource-server"].map(
      (service) => `${stack.prefix}-${service}`,
    ) as [string, string, string];
  }, 1_200_000);

  afterAll(() => stack?.[Symbol.asyncDispose]());

  test("stores both ledgers of a payment, without ledger volumes", async () => {
    const incomeBefore = await income();
    const sold = await buy(await signPayment());
    expect([sold.status, (await income()) - incomeBefore]).toEqual([200, price]);
    const rows = await rowsByTable();
    expect(Object.values(rows).filter((count) => count > 0).length).toBeGreaterThanOrEqual(2);
    const volumes = await runDocker("volume", "ls", "--quiet", "--filter", `label=io.gatehouse.stack=${stack.prefix}`);
    expect(volumes).toContain(`${stack.prefix}-postgres-data`);
    expect(volumes).not.toContain("ledger");
  });

  test("keeps a payment across a restart of server and services, and replays its response uncharged", async () => {
    const header = await signPayment();
    const incomeBefore = await income();
    expect((await buy(header)).status).toBe(200);
    const rows = await rowsByTable();
    for (const name of [resourceServer, facilitator, postgres]) await runDocker("stop", name);
    const { State: state } = await stack.inspect(postgres);
    expect([state.Running, state.ExitCode]).toEqual([false, 0]);
    for (const name of [postgres, facilitator, resourceServer]) {
      await runDocker("start", name);
      await healthy(name);
    }
    expect(await rowsByTable()).toEqual(rows);
    const replayedPurchase = await buy(header);
    expect(replayedPurchase.status, "the same response, uncharged").toBe(200);
    expect((await income()) - incomeBefore).toBe(price);
    expect((await buy(await signPayment())).status).toBe(200);
  });

  test("runs as the image's own user without capabilities, with no published port", async () => {
    const program =
      "echo $(id -u) $(grep CapEff /proc/self/status) $(stat -c '%a %u' /run/gatehouse/files/postgres-password)";
    expect((await stack.api.run(postgres, ["sh", "-c", program])).trim()).toBe("999 CapEff: 0000000000000000 400 999");
    expect(await runDocker("port", postgres)).toBe("");
  });

  test("exposes its password in no inspection and no log", async () => {
    const filter = ["--filter", `label=io.gatehouse.stack=${stack.prefix}`];
    const containers = (await runDocker("ps", "--all", "--quiet", ...filter)).split("\n");
    expect(containers.length).toBeGreaterThan(8);
    expect(await runDocker("inspect", ...containers)).not.toContain(postgresPassword);
    for (const id of containers) expect(await readLogs(id), id).not.toContain(postgresPassword);
  });
});

/** Reads a container's output from both streams. */
async function readLogs(id: string): Promise<string> {
  const frames = await stack.api.read(`/containers/${id}/logs?stdout=true&stderr=true`);
  return frames.toString();
}
