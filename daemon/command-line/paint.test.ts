import { expect, it } from "vitest";
import { createPaint } from "./command-output.ts";

it("colours text only if colours are enabled", () => {
  expect(createPaint(true)("bold", "here")).toBe("\u001b[1mhere\u001b[22m");
  expect(createPaint(false)(["bold", "red"], "here")).toBe("here");
});
