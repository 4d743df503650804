import { describe, expect, it } from "vitest";
import { findImageArchitecture, isShipped } from "./image-dependencies.ts";

describe("the image's dependencies", () => {
  it.each([
    "viem/_esm/index.js",
    "viem/_esm/actions/test/mine.js",
    "secp256k1/prebuilds/linux-x64/node.napi.glibc.node",
  ])("include %s", (path) => expect(isShipped(path, false)).toBe(true));

  it.each(["viem/LICENSE", "zod/license.md", "@x402/core/node_modules/ox/LICENSE"])(
    "include the license %s",
    (path) => {
      expect(isShipped(path, false)).toBe(true);
    },
  );

  it.each(["viem/index.ts", "viem/_types/index.d.ts", "hono/README.md", "zod/index.js.map", ".package-lock.json"])(
    "exclude %s, which Node never reads",
    (path) => expect(isShipped(path, false)).toBe(false),
  );

  it.each(["bintrees/test", "@scure/base/test", "a/node_modules/b/docs", ".bin", "a/node_modules/.bin"])(
    "exclude the directory %s",
    (path) => expect(isShipped(path, true)).toBe(false),
  );

  it.each(["viem", "viem/_esm/actions/test", "@x402", "test", "@x402/test"])("include the directory %s", (path) => {
    expect(isShipped(path, true)).toBe(true);
  });
});

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
