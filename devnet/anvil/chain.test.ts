import * as fc from "fast-check";
import { expect, test } from "vitest";
import { createSerial, QueueFullError } from "./chain.ts";

test("work runs in its order and never at the same time, also when some of it fails", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.boolean(), { maxLength: 20 }), async (fails) => {
      const serial = createSerial({ waitingMax: 100 });
      const log: string[] = [];
      const work = fails.map((fail, index) =>
        serial.run(async () => {
          log.push(`begin ${index}`);
          await Promise.resolve();
          log.push(`end ${index}`);
          if (fail) throw new Error(String(index));
          return index;
        }),
      );
      const results = await Promise.allSettled(work);
      expect(results.map(({ status }) => status === "rejected")).toEqual(fails);
      expect(log).toEqual(fails.flatMap((_, index) => [`begin ${index}`, `end ${index}`]));
    }),
  );
});

test("more work than may wait is refused, and room comes back", async () => {
  const serial = createSerial({ waitingMax: 1 });
  const first = serial.run(async () => 1);
  await expect(serial.run(async () => 2)).rejects.toThrow(QueueFullError);
  expect(await first).toBe(1);
  expect(await serial.run(async () => 3)).toBe(3);
});
