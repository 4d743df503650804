import { relative } from "node:path";
import Table from "cli-table3";
import type { Paint } from "#daemon/command-line/command-output.ts";
import { formatOwnCommand } from "#daemon/command-line/own-command.ts";
import { formatShellWords, quoteShellWord } from "#daemon/command-line/shell-word.ts";
import type { StackPlan } from "./stack-plan.ts";
import type { StateDirectory } from "./state-directory.ts";

export type ReadyRow = Readonly<{ name: string; url: string; readyAfterMs: number }>;

/** Formats the table of running parts, with the first row highlighted, because users look there first. */
export function formatReadyTable(rows: readonly ReadyRow[], paint: Paint): string {
  const table = new Table({
    head: ["name", "URL", "ready after ms"].map((title) => paint("bold", title)),
    colAligns: ["left", "left", "right"],
    style: { head: [], border: [], compact: true },
  });
  for (const [index, { name, url, readyAfterMs }] of rows.entries()) {
    table.push([name, index === 0 ? paint(["bold", "cyan"], url) : url, String(readyAfterMs)]);
  }
  return table.toString();
}

type PastedFiles = Readonly<{ nodeConfig: string; clientKeyFile: string; workingDirectory: string }>;

export function formatSuggestions(
  { urls, chain: { chainId, token }, pages }: Pick<StackPlan, "urls" | "pages"> & Readonly<{ chain: PastedChain }>,
  { nodeConfig, clientKeyFile, workingDirectory }: PastedFiles,
  paint: Paint,
): string {
  const config = quoteShellWord(relative(workingDirectory, nodeConfig));
  const key = quoteShellWord(relative(workingDirectory, clientKeyFile));
  const gatehouse = formatOwnCommand(workingDirectory);
  const params = [{ fromBlock: "0x0", toBlock: "0xfa" }];
  const getLogs = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_getLogs", params });
  const suggestions: readonly (readonly [string, string])[] = [
    [
      "request too many blocks; the gateway suggests a range that works",
      `curl -s ${urls.gateway} -H 'content-type: application/json' -d '${getLogs}'`,
    ],
    [
      "break node.conf and watch the sidecar fix it (it restarts the node only if that may have read the broken file)",
      `sed -i.bak 's/storage_enable_cetina/enable_pamir_cetina/' ${config} && until grep -n storage_enable_cetina ${config}; do sleep 0.2; done`,
    ],
    ["read the sidecar's metrics", `curl -s ${urls.sidecar}/metrics | grep ^gatehouse_`],
    [
      "pay again",
      `${gatehouse} pay ${urls.resourceServer}/data --max-amount 0.05 --rpc-url ${urls.gateway} --network eip155:${chainId} --asset ${token} --key-file ${key}`,
    ],
    ["check the node's status", `${gatehouse} status --url ${urls.sidecar}`],
    ["see all services and the payments on one page", `${gatehouse} status --page --targets ${pages.join(" ")}`],
  ];
  const lines = suggestions.map(([what, line], index) => `${index + 1}. ${what}:\n   ${paint("cyan", line)}`);
  const title = paint("bold", "Six things to try; paste any of these lines:");
  return [title, "", ...lines, "", "Ctrl-C stops everything."].join("\n");
}

type PastedChain = Pick<StackPlan["chain"], "chainId" | "token">;

/** Formats the command that starts a stack again without its state. */
export function formatFreshStart({ root }: Pick<StateDirectory, "root">, workingDirectory: string): string {
  const relativeRoot = relative(workingDirectory, root) || ".";
  return `${formatOwnCommand(workingDirectory)} ${formatShellWords(["stack", "--fresh", "--state-dir", relativeRoot])}`;
}
