import { Command } from "@commander-js/extra-typings";

/** Makes `gatehouse stack`, which `npm start` runs. */
export function stackCommand() {
  return new Command("stack")
    .summary("Run the whole system on this machine and buy one request")
    .description(
      "Starts the embedded stack, each part a process of its own: devnet node, Pushgateway, sidecar, facilitator, a sample upstream and the resource server. Then a client buys GET /data. Stays up until Ctrl-C. Every service's settings may be given as environment variables; see each service's --help.",
    )
    .option("--once", "stop after the payment; exit 0, or 1 if any step fails", false)
    .option("--fresh", "forget what an earlier stack left", false)
    .option("--state-dir <path>", "folder for everything that the stack keeps", ".gatehouse")
    .action(async (options) => {
      const { runStack } = await import("./stack/stack.ts");
      process.exitCode = await runStack(
        { once: options.once, fresh: options.fresh, stateDirectory: options.stateDir, env: process.env },
        { stdout: process.stdout, stderr: process.stderr },
      );
    });
}
