import { describe, expect, it } from "vitest";
import { buildChildEnvironment } from "./child-environment.ts";

describe("childEnvironment", () => {
  it("prefers the user's own variables", () => {
    expect(buildChildEnvironment({ A: "1", B: "2" }, { A: "9", PATH: "/bin" })).toEqual({
      A: "9",
      B: "2",
      PATH: "/bin",
    });
  });

  it("drops the stack's secret file if the user provides the secret directly", () => {
    expect(buildChildEnvironment({ KEY_FILE: "/keys/signer" }, { KEY: "0x1" })).toEqual({ KEY: "0x1" });
  });

  it("treats an empty variable as unset", () => {
    expect(buildChildEnvironment({ A: "1" }, { A: "" })).toEqual({ A: "1" });
  });
});
