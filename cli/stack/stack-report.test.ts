import { expect, test } from "vitest";
import { createPaint } from "#daemon/command-line/command-output.ts";
import { formatOwnCommand } from "#daemon/command-line/own-command.ts";
import { formatSuggestions } from "./stack-report.ts";

const plan = {
  urls: {
    gateway: "http://127.0.0.1:8545",
    sidecar: "http://127.0.0.1:9600",
    resourceServer: "http://127.0.0.1:4021",
    upstream: "http://127.0.0.1:4022",
    facilitator: "http://127.0.0.1:3000",
  },
  chain: { chainId: 1_672, token: `0x${"aa".repeat(20)}` },
  pages: ["sidecar=http://127.0.0.1:9600/"],
} as const;
const files = {
  nodeConfig: "/srv/gatehouse/my state/node/bin/node.conf",
  clientKeyFile: "/srv/gatehouse/my state/keys/client",
  workingDirectory: "/srv/gatehouse",
};
const shown = formatSuggestions(plan, files, createPaint(false));

test("prints commands that run this program, without querying a registry for a package of its name", () => {
  expect(shown).toContain(`${formatOwnCommand()} status`);
  expect(shown).not.toContain("npx");
});

test("quotes each path in the commands as a single shell word", () => {
  expect(shown).toContain("'my state/node/bin/node.conf'");
  expect(shown).toContain("--key-file 'my state/keys/client'");
});
