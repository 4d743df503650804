import { expect, test } from "vitest";
import { createOutages } from "./outages.ts";

function outagesAt(startMs: number) {
  const time = { ms: startMs };
  const outages = createOutages({ wallMs: () => time.ms });
  const note = (atMs: number, state: string, serves: boolean | undefined) => {
    time.ms = atMs;
    outages.note({ state, serves });
  };
  return { ...outages, note };
}

test("measures an outage from the first failed check to the next successful one", () => {
  const { note, list, since } = outagesAt(0);
  note(0, "Healthy", true);
  note(1_000, "Node down", false);
  note(2_000, "Restarting the node", false);
  expect(list()).toEqual([{ fromMs: 1_000, beganEarlier: false }]);
  note(3_000, "Healthy", true);
  expect(list()).toEqual([{ fromMs: 1_000, toMs: 3_000, beganEarlier: false }]);
  expect(since()).toMatchObject({ atMs: 3_000, beganEarlier: false });
});

test("marks an outage found by the first check as started earlier, and ignores a node that has not been checked", () => {
  const { note, list } = outagesAt(0);
  note(0, "Starting", undefined);
  expect(list()).toEqual([]);
  note(1_000, "Node down", false);
  expect(list()).toEqual([{ fromMs: 1_000, beganEarlier: true }]);
});

test("keeps only the last fifty outages of the last day", () => {
  const { note, list } = outagesAt(0);
  for (let count = 0; count < 60; count += 1) {
    note(count * 2_000, "Node down", false);
    note(count * 2_000 + 1_000, "Healthy", true);
  }
  expect(list()).toHaveLength(50);
  note(86_400_000 + 119_500, "Healthy", true);
  expect(list()).toEqual([]);
});
