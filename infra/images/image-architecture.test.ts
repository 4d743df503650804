import { expect, it } from "vitest";
import { findImageArchitecture } from "./image-architecture.ts";

it.each([
  ["amd64", "amd64"],
  ["x64", "amd64"],
  ["arm64", "arm64"],
  ["riscv64", undefined],
  ["", undefined],
  [undefined, undefined],
])("maps the architecture %s to %s", (name, expected) => {
  expect(findImageArchitecture(name)).toBe(expected);
});
