import { Argument, Command, Option } from "@commander-js/extra-typings";
import type { Mask } from "#daemon/secrets/mask.ts";
import { serviceNames } from "../service-definitions.ts";
import { createTerminalOutput } from "../terminal.ts";

/** Creates `gatehouse config`: checks and corrects a node.conf, and shows the settings that a service would start with and their sources. */
export function createConfigCommand({ mask }: Readonly<{ mask: Mask }>) {
  return new Command("config")
    .summary("Check or correct a node.conf; show a service's effective settings")
    .addCommand(createLintCommand(mask))
    .addCommand(createPlanCommand(mask))
    .addCommand(createDumpCommand(mask));
}

function createLintCommand(mask: Mask) {
  return new Command("lint")
    .summary("Check a node.conf without a node")
    .description(
      "Prints the problems in each node.conf, with line, column and the fix: conflicting ports, missing paths, a push address with a protocol, wrong types, metrics keys of another version, secrets. Exits 0 when there are no findings, 2 when there are, 1 when a file can't be read.",
    )
    .argument("<node.conf...>", "the files to check; - is standard input")
    .option("--node-version <version>", "version of the node, to check its metrics keys")
    .addOption(
      new Option("--format <format>", "text for humans, json, sarif for code scanning, github for a workflow's log")
        .choices(["text", "json", "sarif", "github"])
        .default("text" as const),
    )
    .addOption(new Option("--json", "the same as --format json").implies({ format: "json" }))
    .option("--docs-url <url>", "base URL of docs/, for the links in sarif", "https://gatehouse.example/docs")
    .action(async (configPaths, { nodeVersion, format, docsUrl }) => {
      const { runLintCommand: run } = await import("#node/lint/lint-command.ts");
      // A workflow may change the working directory, but the runner resolves paths relative to the checkout.
      const repository = process.env["GITHUB_WORKSPACE"] || process.cwd();
      const options = { configPaths, nodeVersion, format, docsUrl, repository };
      process.exitCode = await run(options, { output: createTerminalOutput({ mask }), stdin: process.stdin });
    });
}

function createPlanCommand(mask: Mask) {
  return new Command("plan")
    .summary("Show or apply the changes that a node.conf needs for a version")
    .description(
      "Compares a node.conf with what the sidecar's settings (GATEHOUSE_SIDECAR_…) require for a node of the given version. Exits 0 when there is nothing to do, 2 on drift, 1 on an error.",
    )
    .requiredOption("--config <path>", "the node.conf")
    .requiredOption("--node-version <version>", "version of the node, e.g. 0.16.2")
    .option("--settings <file>", "JSON5 file with the sidecar's settings; environment variables override it")
    .option("--json", "print JSON for machines", false)
    .option("--write", "apply the plan to the file, atomically", false)
    .action(async ({ config: configPath, nodeVersion, settings: file, json, write }) => {
      const { locateSidecar, readSidecarSettings } = await import("./control-target.ts");
      const settings = readSidecarSettings(file, { mask });
      if (settings === undefined) return;
      const node = { ...settings.node, configPath: settings.node.configPath ?? configPath };
      const stateDirectories = locateSidecar({ ...settings, node }) ?? [];
      const { runPlanCommand: run } = await import("#sidecar/upkeep/plan-command.ts");
      const options = { configPath, nodeVersion, stateDirectories, json, write };
      process.exitCode = await run(options, settings, createTerminalOutput({ mask }));
    });
}

function createDumpCommand(mask: Mask) {
  return new Command("dump")
    .summary("Show every setting of a service with its value and its source")
    .description(
      "Reads the settings as the service would, from this environment and the settings file, and prints each with its origin: default, the file and line, or the variable. A secret is shown as [secret]. Exits 1 when the service would reject them; absent required settings are shown as missing.",
    )
    .addArgument(new Argument("<service>", "service whose settings to print").choices(serviceNames))
    .option("--settings <file>", "JSON5 file with the settings; environment variables override it")
    .option("--changed", "only settings that differ from their defaults", false)
    .option("--json", "one JSON document: [{ key, value, origin }]", false)
    .action(async (service, { settings: file, changed, json }) => {
      const { printConfigDump } = await import("../config-dump.ts");
      const output = createTerminalOutput({ mask });
      process.exitCode = await printConfigDump({ service, file, changed, json }, { mask, output });
    });
}
