import { Command, Option } from "@commander-js/extra-typings";
import { createPaint } from "#daemon/command-line/command-output.ts";
import { hasColors } from "../terminal.ts";
import { parseDirectory, parsePort } from "./option-values.ts";

export function createStackCommand() {
  return new Command("stack")
    .summary("Run the whole system on this machine and buy one request")
    .description(
      "Starts the embedded stack, one process per component: devnet node, Pushgateway, sidecar, facilitator, a sample upstream and the resource server. Then a client buys GET /data. Runs until Ctrl-C. Every service's settings can be given as environment variables; see each service's --help.",
    )
    .option("--once", "stop after the payment; exit 0, or 1 if any step fails", false)
    .option("--fresh", "delete the state of an earlier stack", false)
    .addOption(
      new Option("--observe [port]", "also run Prometheus with the alerts, if `prometheus` is on PATH")
        .preset("9490")
        .argParser(parsePort),
    )
    .option("--verbose", "print the decoded headers of the payment", false)
    .option(
      "--json",
      "one JSON document once the request is bought, { parts, purchase, paidAfterMs }; everything else goes to standard error",
      false,
    )
    .addOption(
      new Option("--state-dir <path>", "folder for the stack's state").argParser(parseDirectory).default(".gatehouse"),
    )
    .action(async (options) => {
      const output = options.json ? process.stderr : process.stdout;
      const paint = createPaint(hasColors(output));
      // Printed before the rest of the program loads, for immediate feedback.
      output.write(`${paint("dim", "preparing the node's workspace and the local chain")}\n`);
      const { runStack } = await import("../stack/stack.ts");
      process.exitCode = await runStack(
        {
          once: options.once,
          fresh: options.fresh,
          verbose: options.verbose,
          json: options.json,
          stateDirectory: options.stateDir,
          observe: options.observe,
          env: process.env,
        },
        { stdout: process.stdout, stderr: process.stderr, paint },
      );
    });
}
