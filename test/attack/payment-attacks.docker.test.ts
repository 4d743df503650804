import { beforeAll, afterAll, describe, expect, inject, test } from "vitest";
import { findEngine, skipReason } from "../support/engine/find-engine.ts";
import { buildGatehouseImage } from "../infra/test-images.ts";
import type { AttackReport } from "./attack-run.ts";
import { limits } from "./attacked-sidecar.ts";
import { paymentAttacks } from "./payments/hostile-payments.ts";
import { attackMarket } from "./payments/market-run.ts";
import { startMarket, type AttackedMarket } from "./payments/market.ts";
import { chosenPaymentAttacks as chosen, formatChoice } from "./chosen-attacks.ts";
import { computeMaxP99Ms, judgeMs, printVerdicts, showPhase } from "./verdict.ts";

const found = await findEngine();
/** Total seconds of all phases: one without an attack, and one per attack. */
const seconds = Number(process.env["GATEHOUSE_ATTACK_SECONDS"] ?? 7 * (1 + chosen.length));
/** Max bytes of both ledgers: unfetched responses up to their setting, the same again in a write-ahead log, and rows. */
const maxLedgerBytes = 250_000_000;

describe.skipIf(!found.ok)(
  `facilitator and resource server in their containers under attack${skipReason(found)}`,
  () => {
    let market: AttackedMarket;
    let report: AttackReport;
    beforeAll(
      async () => {
        if (!found.ok) return;
        market = await startMarket(await buildGatehouseImage(inject("testImagesName"), found.nodeImage));
        process.stdout.write(`${formatChoice(chosen)}\n`);
        report = await attackMarket({ seconds, only: chosen }, market, (phase) =>
          process.stdout.write(`${showPhase(phase)}\n`),
        );
        printVerdicts(`honest buyers under attack, ${seconds} s in total`, report);
      },
      900_000 + seconds * 1_000,
    );
    afterAll(() => market?.[Symbol.asyncDispose]());

    test("keep running within their memory and disk limits", async () => {
      const ledgerBytes = await market.ledgerBytes();
      process.stdout.write(`peak ${report.peakMiB} MiB of ${limits.memoryMebibytes}, ledgers ${ledgerBytes} bytes\n`);
      expect([report.ends, report.attacked.flatMap(({ told }) => told)]).toEqual([0, []]);
      expect(report.peakMiB).toBeLessThan(limits.memoryMebibytes);
      expect(ledgerBytes).toBeLessThan(maxLedgerBytes);
    });

    test("sell to honest buyers without errors and with a p99 below three times the undisturbed one", () => {
      const harmed = report.attacked.filter((phase) => judgeMs(phase) > computeMaxP99Ms(report.undisturbed, phase));
      expect(harmed.map(showPhase)).toEqual([]);
      expect(report.attacked.filter(({ failures }) => failures.length > 0).map(showPhase)).toEqual([]);
    });

    test("pay gas only for payments that the payee received, and hide forged addresses from upstreams", async () => {
      const { transactions, paid } = await market.counts();
      process.stdout.write(`${transactions} transactions of the signer, ${paid} payments received\n`);
      expect(transactions).toBeLessThanOrEqual(paid);
      expect(market.forged()).toBe(0);
    });

    test("receive requests from every attacker", () => {
      const attackersOf = new Map(paymentAttacks.map(({ name, attackers }) => [name, attackers]));
      const idle = report.attacked.filter(({ attack, reached }) => reached < (attackersOf.get(attack) ?? Infinity));
      expect(idle.map(({ attack, reached }) => `${attack}: ${reached}`)).toEqual([]);
    });
  },
);
