import { expect, test } from "vitest";
import { isOnPath } from "./real-pushgateway.ts";

test("a program is on PATH or it is not", async () => {
  expect(await isOnPath("node")).toBe(true);
  expect(await isOnPath("gatehouse-no-such-program")).toBe(false);
});
