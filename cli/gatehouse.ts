#!/usr/bin/env node
import { Command } from "@commander-js/extra-typings";
import { version } from "#daemon/version.ts";
import { devnetSettings } from "#devnet/settings.ts";
import { pushgatewaySettings } from "#devnet/pushgateway/settings.ts";
import { upstreamSettings } from "#devnet/upstream/settings.ts";
import { engineProxySettings } from "#sidecar/engine-proxy/settings.ts";
import { facilitatorSettings } from "#facilitator/settings.ts";
import { resourceServerSettings } from "#resource-server/settings.ts";
import { sidecarSettings } from "#sidecar/settings.ts";
import { lintCommand } from "./lint-command.ts";
import { payCommand } from "./pay-command.ts";
import { planCommand } from "./plan-command.ts";
import { restoreCommand } from "./restore-command.ts";
import { resumeCommand } from "./resume-command.ts";
import { serviceCommand } from "./service-command.ts";
import { volumeSnapshotCommand } from "./volume-snapshot-command.ts";
import { stackCommand } from "./stack-command.ts";

const program = new Command("gatehouse")
  .description("Runs, guards and charges for an EVM node.")
  .version(version)
  .showHelpAfterError('("gatehouse --help" lists the commands)')
  .addHelpText(
    "after",
    "\nStart here:\n  gatehouse stack --once         the whole system on this machine, one paid request, then stop\n  gatehouse <command> --help     what a command does and every setting that it reads",
  );

program.addCommand(stackCommand());
program.addCommand(
  serviceCommand({
    summary: "Keep one node right and guard its RPC: configuration, pruning, restarts, health, gateway",
    definition: sidecarSettings,
    load: async () => (await import("#sidecar/main.ts")).sidecar,
  }),
);
program.addCommand(
  serviceCommand({
    summary: "Verify and settle x402 payments on-chain",
    definition: facilitatorSettings,
    load: async () => (await import("#facilitator/main.ts")).facilitator,
  }),
);
program.addCommand(
  serviceCommand({
    summary: "Sell HTTP routes by x402 and forward them to their upstream once paid",
    definition: resourceServerSettings,
    load: async () => (await import("#resource-server/main.ts")).resourceServer,
  }),
);
program.addCommand(payCommand());
program.addCommand(planCommand());
program.addCommand(lintCommand());
program.addCommand(resumeCommand());
program.addCommand(restoreCommand());
program.addCommand(volumeSnapshotCommand());
program.addCommand(
  serviceCommand({
    summary:
      "Hold the Docker Engine's socket for a sidecar: inspect, restart and node_cli of one container, nothing else",
    definition: engineProxySettings,
    load: async () => (await import("#sidecar/engine-proxy/main.ts")).engineProxy,
  }),
);
program.addCommand(
  serviceCommand({
    summary: "Run a node to develop against: the whole JSON-RPC interface over a local chain",
    definition: devnetSettings,
    load: async () => (await import("#devnet/main.ts")).devnet,
  }),
);
program.addCommand(
  serviceCommand({
    summary: "Run Prometheus' Pushgateway where it is on PATH, otherwise a stand-in for development",
    definition: pushgatewaySettings,
    load: async () => (await import("#devnet/pushgateway/main.ts")).pushgateway,
  }),
);
program.addCommand(
  serviceCommand({
    summary: "Run a sample upstream with something to sell",
    definition: upstreamSettings,
    load: async () => (await import("#devnet/upstream/main.ts")).upstream,
  }),
);

await program.parseAsync();
