import { expect, test } from "vitest";
import { capitalize } from "./sentence.ts";

test("capitalizes a sentence, but not the name of a setting or file", () => {
  expect(capitalize("the file is locked.")).toBe("The file is locked.");
  expect(capitalize("monitor.enabled is true, but …")).toBe("monitor.enabled is true, but …");
  expect(capitalize("node.conf is locked")).toBe("node.conf is locked");
});
