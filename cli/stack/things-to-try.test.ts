import { expect, test } from "vitest";
import { formatThingsToTry } from "./things-to-try.ts";

const shown = formatThingsToTry({
  gatewayUrl: "http://127.0.0.1:8545",
  sidecarUrl: "http://127.0.0.1:9600",
  resourceUrl: "http://127.0.0.1:4021/data",
  token: `0x${"aa".repeat(20)}`,
  network: "eip155:1672",
  nodeConfig: "/srv/gatehouse/my state/node/bin/node.conf",
  clientKeyFile: "/srv/gatehouse/my state/keys/client",
  workingDirectory: "/srv/gatehouse",
});

test("no line to paste asks the registry for the package of the short name, which is somebody else's", () => {
  expect(shown).toContain("npx gatehouse-evm status");
  expect(shown).not.toMatch(/npx gatehouse(?!-evm)/);
});

test("paths in the lines to paste are one word of a shell each", () => {
  expect(shown).toContain("'my state/node/bin/node.conf'");
  expect(shown).toContain("--key-file 'my state/keys/client'");
});
