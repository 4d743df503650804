import completeOnTab from "@bomb.sh/tab/commander";
import { Command } from "@commander-js/extra-typings";
import type { Command as UntypedCommand } from "commander";
import { maskUncaughtErrors } from "#daemon/end-process.ts";
import { createMask } from "#daemon/mask.ts";
import { version } from "#daemon/version.ts";
import { adoptCommand } from "./adopt-command.ts";
import { configCommand } from "./config-command.ts";
import { doctorCommand } from "./doctor-command.ts";
import { lintCommand } from "./lint-command.ts";
import { payCommand } from "./pay-command.ts";
import { planCommand } from "./plan-command.ts";
import { restoreCommand } from "./restore-command.ts";
import { resumeCommand } from "./resume-command.ts";
import { addServiceCommand } from "./service-command.ts";
import { upgradeCommand } from "./upgrade-command.ts";
import { volumeSnapshotCommand } from "./volume-snapshot-command.ts";
import { statusCommand } from "./status-command.ts";
import { stackCommand } from "./stack-command.ts";

/** What this process may not show, whichever command it is. */
const mask = createMask();
maskUncaughtErrors(mask);

const program = new Command("gatehouse")
  .description("Runs, guards and charges for an EVM node.")
  .version(version)
  .showHelpAfterError('("gatehouse --help" lists the commands)')
  .addHelpText(
    "after",
    "\nStart here:\n  gatehouse stack --once         the whole system on this machine, one paid request, then stop\n  gatehouse <command> --help     what a command does and the settings to begin with",
  );

program.addCommand(stackCommand());
addServiceCommand(
  program,
  {
    name: "sidecar",
    summary: "Keep one node right and guard its RPC: configuration, pruning, restarts, health, gateway",
    load: async () => (await import("#sidecar/main.ts")).sidecar,
  },
  { mask },
);
addServiceCommand(
  program,
  {
    name: "gateway",
    summary: "Guard the RPC of any EVM node: methods, limits, cache, WebSocket, health; nothing of the node is touched",
    load: async () => (await import("#gateway/main.ts")).gateway,
  },
  { mask },
);
addServiceCommand(
  program,
  {
    name: "facilitator",
    summary: "Verify and settle x402 payments on-chain",
    load: async () => (await import("#facilitator/main.ts")).facilitator,
  },
  { mask },
);
addServiceCommand(
  program,
  {
    name: "resource-server",
    summary: "Sell HTTP routes by x402 and forward them to their upstream once paid",
    load: async () => (await import("#resource-server/main.ts")).resourceServer,
  },
  { mask },
);
program.addCommand(statusCommand({ mask }));
program.addCommand(payCommand({ mask }));
program.addCommand(planCommand({ mask }));
program.addCommand(lintCommand({ mask }));
program.addCommand(doctorCommand({ mask }));
program.addCommand(adoptCommand({ mask }));
program.addCommand(resumeCommand({ mask }));
program.addCommand(upgradeCommand({ mask }));
program.addCommand(restoreCommand({ mask }));
program.addCommand(volumeSnapshotCommand({ mask }));
addServiceCommand(
  program,
  {
    name: "engine-proxy",
    summary:
      "Hold the Docker Engine's socket for a sidecar: inspect, restart and node_cli of one container, nothing else",
    load: async () => (await import("#engine-proxy/main.ts")).engineProxy,
  },
  { mask },
);
addServiceCommand(
  program,
  {
    name: "devnet",
    summary: "Run a node to develop against: the whole JSON-RPC interface over a local chain",
    load: async () => (await import("#devnet/main.ts")).devnet,
  },
  { mask },
);
addServiceCommand(
  program,
  {
    name: "pushgateway",
    summary: "Run Prometheus' Pushgateway where it is on PATH, otherwise a stand-in for development",
    load: async () => (await import("#devnet/pushgateway/main.ts")).pushgateway,
  },
  { mask },
);
addServiceCommand(
  program,
  {
    name: "upstream",
    summary: "Run a sample upstream with something to sell",
    load: async () => (await import("#devnet/upstream/main.ts")).upstream,
  },
  { mask },
);

program.addCommand(configCommand({ mask }));
// The typed commands are commander's own.
completeOnTab(program as unknown as UntypedCommand, { completionCommandName: "completion" });

await program.parseAsync();
