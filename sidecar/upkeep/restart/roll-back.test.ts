import { expect, it } from "vitest";
import { describeSecondFailure } from "./roll-back.ts";

const missing = "./ops is not there; set the program's name or put it there.";

it("names a cause once that keeps two restarts from helping", () => {
  expect(describeSecondFailure(missing, missing)).toBe("One more restart did not help, for the same reason.");
});

it("names another cause of the second restart, as a sentence", () => {
  expect(describeSecondFailure("it does not answer", missing)).toBe(
    "One more restart did not help: it does not answer.",
  );
  expect(describeSecondFailure(missing, "it does not answer")).toBe(`One more restart did not help: ${missing}`);
});
