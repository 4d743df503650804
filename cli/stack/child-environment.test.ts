import { describe, expect, it } from "vitest";
import { buildChildEnvironment } from "./child-environment.ts";

describe("childEnvironment", () => {
  it("lets the person's own variables win", () => {
    expect(buildChildEnvironment({ A: "1", B: "2" }, { A: "9", PATH: "/bin" })).toEqual({
      A: "9",
      B: "2",
      PATH: "/bin",
    });
  });

  it("drops the stack's secret file when the person gives the secret itself", () => {
    expect(buildChildEnvironment({ KEY_FILE: "/keys/signer" }, { KEY: "0x1" })).toEqual({ KEY: "0x1" });
  });

  it("takes an empty variable for an absent one", () => {
    expect(buildChildEnvironment({ A: "1" }, { A: "" })).toEqual({ A: "1" });
  });
});
