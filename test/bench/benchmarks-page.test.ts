import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { printBenchmarks } from "./benchmarks-page.ts";
import { readResults } from "./results.ts";

test("the README states the saved CPU ratio of a hot read to nginx", async () => {
  const readme = await readFile(join(import.meta.dirname, "../../README.md"), "utf8");
  const figures = Object.values(await readResults())
    .flatMap(({ measurements }) => measurements)
    .filter(({ what }) => what.endsWith("hot read: CPU against nginx that passes it on"))
    .map(({ measured }) => Number(measured));
  expect(figures.length).toBeGreaterThan(1);
  expect(readme).toContain(`**${Math.min(...figures)} to ${Math.max(...figures)} times** the CPU that nginx needs`);
});

test("lists missed targets first and escapes angle brackets", () => {
  const page = printBenchmarks({
    part: {
      date: "2026-01-02",
      machine: "a machine",
      conditions: "nothing else",
      measurements: [
        { what: "good", target: "< 2 s", measured: "1 s", isMet: true },
        { what: "bad", target: "< 2 s", measured: "3 s", isMet: false, how: "once" },
      ],
    },
  });
  expect(page).toContain("1 of 2 are met.");
  expect(page.indexOf("- bad")).toBeLessThan(page.indexOf("- good"));
  expect(page).toMatch(/### Missed: part\n\n- bad: 3 s \(target \\< 2 s\)/);
  expect(page).toMatch(/\| bad +\| once /);
});
