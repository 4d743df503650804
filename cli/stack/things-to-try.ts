import { relative } from "node:path";
import type { Paint } from "#daemon/command-line/paint.ts";
import { formatOwnCommand } from "#daemon/command-line/own-command.ts";
import { quoteShellWord } from "#daemon/command-line/shell-word.ts";

/** Addresses and names in the lines to paste. */
export type StackLocations = Readonly<{
  gatewayUrl: string;
  sidecarUrl: string;
  resourceUrl: string;
  token: string;
  network: string;
  nodeConfig: string;
  clientKeyFile: string;
  workingDirectory: string;
}>;

/** Formats five things to try on a running stack, each with a line to paste. */
export function formatThingsToTry(places: StackLocations, paint: Paint): string {
  const config = quoteShellWord(relative(places.workingDirectory, places.nodeConfig));
  const key = quoteShellWord(relative(places.workingDirectory, places.clientKeyFile));
  const gatehouse = formatOwnCommand(places.workingDirectory);
  const getLogs = JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "eth_getLogs",
    params: [{ fromBlock: "0x0", toBlock: "0xfa" }],
  });
  const things: readonly (readonly [string, string])[] = [
    [
      "request too many blocks; the gateway suggests a range that works",
      `curl -s ${places.gatewayUrl} -H 'content-type: application/json' -d '${getLogs}'`,
    ],
    [
      "break node.conf and watch the sidecar fix it (it also restarts the node)",
      `sed -i.bak 's/storage_enable_cetina/enable_pamir_cetina/' ${config} && until grep -n storage_enable_cetina ${config}; do sleep 0.2; done`,
    ],
    ["read the sidecar's metrics", `curl -s ${places.sidecarUrl}/metrics | grep ^gatehouse_`],
    [
      "pay again",
      `${gatehouse} pay ${places.resourceUrl} --max-amount 0.05 --rpc-url ${places.gatewayUrl} --network ${places.network} --asset ${places.token} --key-file ${key}`,
    ],
    ["check the node's status", `${gatehouse} status --url ${places.sidecarUrl}`],
  ];
  const lines = things.map(([what, line], index) => `${index + 1}. ${what}:\n   ${paint("cyan", line)}`);
  return [paint("bold", "Five things to try; paste any line:"), "", ...lines, "", "Ctrl-C stops everything."].join(
    "\n",
  );
}
