import { expect, it } from "vitest";
import { describeSecondFailure } from "./roll-back.ts";

const missing = "./ops does not exist; correct the program's path, or install it there.";

it("names a cause once that keeps two restarts from helping", () => {
  expect(describeSecondFailure(missing, missing)).toBe("Another restart failed for the same reason.");
});

it("names another cause of the second restart, as a sentence", () => {
  expect(describeSecondFailure("it does not answer", missing)).toBe("Another restart failed: it does not answer.");
  expect(describeSecondFailure(missing, "it does not answer")).toBe(`Another restart failed: ${missing}`);
});
