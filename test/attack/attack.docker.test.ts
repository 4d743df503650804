import { beforeAll, describe, expect, inject, test } from "vitest";
import { findEngine, skipReason } from "../support/engine/find-engine.ts";
import { buildGatehouseImage } from "../infra/test-images.ts";
import { attackSidecar, type AttackReport, type Phase } from "./attack-run.ts";
import { limits, startContainedSidecar } from "./attacked-sidecar.ts";
import { allAttacks } from "./attacks/all-attacks.ts";
import { chosenAttacks, formatChoice } from "./chosen-attacks.ts";
import { judgeMs, computeMaxP99Ms, printVerdicts, showPhase } from "./verdict.ts";

const found = await findEngine();
/** Total seconds of all phases: one without an attack, and one per attack. */
const seconds = Number(process.env["GATEHOUSE_ATTACK_SECONDS"] ?? 7 * (1 + chosenAttacks.length));

/** Max wait of other callers during an attack; each of them gets a response. */
const mostWaitMs = 10_000;

/** Callers notice waits of this length only if these occur in most seconds. */
const [slowMs, quickMs] = [2_000, 50];

function tell(phase: Phase): void {
  process.stdout.write(`${showPhase(phase)}\n`);
}

describe.skipIf(!found.ok)(`the sidecar in its container under attack${skipReason(found)}`, () => {
  let report: AttackReport;
  beforeAll(
    async () => {
      if (!found.ok) return;
      const image = await buildGatehouseImage(inject("testImagesName"), found.nodeImage);
      process.stdout.write(`${formatChoice(chosenAttacks)}\n`);
      report = await attackSidecar(
        { seconds, only: chosenAttacks },
        (nodePort) => startContainedSidecar(image, nodePort),
        tell,
      );
      printVerdicts(`other callers under attack, ${seconds} s in total`, report);
    },
    900_000 + seconds * 1_000,
  );

  test("keeps running within its memory limit", () => {
    process.stdout.write(`peak ${report.peakMiB} MiB of ${limits.memoryMebibytes}\n`);
    expect(report.ends).toBe(0);
    expect(report.peakMiB).toBeLessThan(limits.memoryMebibytes);
  });

  test("serves other callers without errors and with a p99 below three times the undisturbed one", () => {
    const harmed = report.attacked.filter((phase) => judgeMs(phase) > computeMaxP99Ms(report.undisturbed, phase));
    expect(harmed.map(showPhase)).toEqual([]);
    expect(report.attacked.filter(({ worstMs }) => worstMs > mostWaitMs).map(showPhase)).toEqual([]);
    expect(report.attacked.filter(({ failures }) => failures.length > 0).map(showPhase)).toEqual([]);
  });

  test("never reports a problem with the node", () => {
    expect(report.attacked.filter(({ told }) => told.length > 0).map(showPhase)).toEqual([]);
  });

  test("reports the gateway as slow only if callers wait for seconds", () => {
    const phases = [report.undisturbed, ...report.attacked];
    const unsaid = phases.filter(({ secondP95Ms, isCalledSlow }) => secondP95Ms > slowMs && !isCalledSlow);
    expect(unsaid.map(showPhase)).toEqual([]);
    expect(phases.filter(({ worstMs, isCalledSlow }) => worstMs < quickMs && isCalledSlow).map(showPhase)).toEqual([]);
  });

  test("receives requests from every attacker", () => {
    const idle = report.attacked.filter(
      ({ attack, reached }) => reached < (allAttacks.find(({ name }) => name === attack)?.attackers ?? Infinity),
    );
    expect(idle.map(({ attack, reached }) => `${attack}: ${reached}`)).toEqual([]);
  });
});
