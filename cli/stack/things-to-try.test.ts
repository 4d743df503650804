import { expect, test } from "vitest";
import { createPaint } from "#daemon/command-line/paint.ts";
import { formatOwnCommand } from "#daemon/command-line/own-command.ts";
import { formatThingsToTry } from "./things-to-try.ts";

const places = {
  gatewayUrl: "http://127.0.0.1:8545",
  sidecarUrl: "http://127.0.0.1:9600",
  resourceUrl: "http://127.0.0.1:4021/data",
  token: `0x${"aa".repeat(20)}`,
  network: "eip155:1672",
  nodeConfig: "/srv/gatehouse/my state/node/bin/node.conf",
  clientKeyFile: "/srv/gatehouse/my state/keys/client",
  workingDirectory: "/srv/gatehouse",
} as const;
const shown = formatThingsToTry(places, createPaint(false));

test("a line to paste runs the program that shows it, and queries no registry for a package of its name", () => {
  expect(shown).toContain(`${formatOwnCommand()} status`);
  expect(shown).not.toContain("npx");
});

test("paths in the lines to paste are one word of a shell each", () => {
  expect(shown).toContain("'my state/node/bin/node.conf'");
  expect(shown).toContain("--key-file 'my state/keys/client'");
});
