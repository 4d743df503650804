import { expect, test } from "vitest";
import { createRecentEvents } from "./event-log.ts";

test("keeps the latest hundred events, newest first", () => {
  const { add, list } = createRecentEvents({ wallMs: () => 0, monotonicMs: () => 0 });
  for (let at = 0; at < 130; at += 1) add("condition", `change ${at}`);
  expect(list().map(({ message }) => message)).toEqual(Array.from({ length: 100 }, (_, at) => `change ${129 - at}`));
});
