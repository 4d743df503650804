import { Command, Option } from "@commander-js/extra-typings";
import type { Mask } from "#daemon/secrets/mask.ts";
import { createTerminalOutput } from "../terminal.ts";

/** Creates `gatehouse config lint`: checks node.conf files without a node. */
export function createLintCommand({ mask }: Readonly<{ mask: Mask }>) {
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
      const output = createTerminalOutput({ mask });
      process.exitCode = await run(
        { configPaths, nodeVersion, format, docsUrl, repository },
        { output, stdin: process.stdin },
      );
    });
}
